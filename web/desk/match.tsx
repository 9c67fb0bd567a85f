import {
  isMatchQuestion,
  type Match,
  type MatchedRecording,
  type MatchedTalk,
  recordingStatuses,
} from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths } from '../paths.ts'
import { formatTimecode } from '../timecode.ts'
import { Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface MatchPageData {
  readonly match: Match
  /** Why a form was refused. */
  readonly error?: 'choose' | 'part' | 'stale' | undefined
}

type RecordingsByKey = ReadonlyMap<string, MatchedRecording>

/** The pairs of a match: questions first, then what is settled, and what is left over. */
export function MatchPage({ match, error }: MatchPageData) {
  const { words, href } = useDesk()
  const text = words.matches
  const { id, talks } = match
  const recordings = new Map(match.recordings.map((recording) => [recording.key, recording]))
  const questions = talks.filter(isMatchQuestion)
  const settled = talks.filter((talk) => !isMatchQuestion(talk) && talk.recording !== null)
  const withoutRecording = talks.filter((talk) => !isMatchQuestion(talk) && talk.recording === null)
  const asked = new Set(questions.map(({ recording }) => recording))
  const inParts = new Set(talks.flatMap(({ part, recording }) => (part ? [recording] : [])))
  const withoutTalk = match.recordings.filter(
    ({ key, talk }) => talk === null && !asked.has(key) && !inParts.has(key),
  )
  const errors = { choose: text.chooseError, part: text.partError, stale: text.staleError }
  return (
    <DeskLayout title={text.pageTitle(match.event)}>
      {error && (
        <p class="notice" role="alert">
          {errors[error]}
        </p>
      )}
      <p>
        {text.summary(talks.length, match.recordings.length)}{' '}
        {text.sureCount(talks.filter(({ band }) => band === 'sure').length)}
        {match.pattern !== null && (
          <>
            {' '}
            {text.pattern} <code>{match.pattern}</code>.
          </>
        )}
      </p>
      <Actions match={match} open={questions.length} />
      <section id="questions">
        <h2>{questions.length === 0 ? text.noQuestions : text.questions(questions.length)}</h2>
        {questions.length > 0 && (
          <p class="help with-scripts" data-match-help>
            {text.keys}
          </p>
        )}
        {questions.map((talk) => (
          <Question key={talk.key} {...{ id, talk, recordings }} />
        ))}
      </section>
      {settled.length > 0 && (
        <section>
          <details open={questions.length === 0}>
            <summary>
              <h2>{text.settled(settled.length)}</h2>
            </summary>
            <ul class="rows pairs">
              {settled.map((talk) => (
                <Pair key={talk.key} {...{ id, talk, recordings }} />
              ))}
            </ul>
          </details>
        </section>
      )}
      {withoutRecording.length > 0 && (
        <section>
          <h2>{text.withoutRecording(withoutRecording.length)}</h2>
          <p class="help">{text.withoutRecordingHelp}</p>
          <ul class="rows pairs">
            {withoutRecording.map((talk) => (
              <Unrecorded key={talk.key} {...{ id, talk }} />
            ))}
          </ul>
        </section>
      )}
      {withoutTalk.length > 0 && (
        <section>
          <h2>{text.withoutTalk(withoutTalk.length)}</h2>
          <p class="help">{text.withoutTalkHelp}</p>
          <ul class="rows pairs">
            {withoutTalk.map((recording) => (
              <Unpaired key={recording.key} {...{ id, recording, talks }} />
            ))}
          </ul>
        </section>
      )}
      <PairByHand {...{ id, talks: [...questions, ...withoutRecording], free: withoutTalk }} />
      {match.left_out_count > 0 && (
        <section>
          <details>
            <summary>
              <h2>{text.leftOut(match.left_out_count)}</h2>
            </summary>
            <ul>
              {match.left_out.map(({ file, place, reason }) => (
                <li key={`${file} ${place}`}>
                  {text[file]}, {place}: {reason}
                </li>
              ))}
            </ul>
          </details>
        </section>
      )}
      <Form action={deskPaths.matchDiscard(id)}>
        <button type="submit" class="quiet">
          {text.discard}
        </button>
      </Form>
      <p>
        <a href={href(deskPaths.matches)}>{text.list}</a>
      </p>
    </DeskLayout>
  )
}

function Actions({ match: { id, import: importId }, open }: { match: Match; open: number }) {
  const { words, href } = useDesk()
  const text = words.matches
  return (
    <div class="actions">
      <Form action={deskPaths.matchPlan(id)}>
        <button type="submit">{text.plan}</button>
      </Form>
      <Form action={deskPaths.matchUndo(id)} data={{ 'data-match-undo': '' }}>
        <button type="submit" class="quiet">
          {text.undo}
        </button>
      </Form>
      {importId !== null && (
        <a href={href(deskPaths.importPage(importId))}>{text.lastPlan(importId)}</a>
      )}
      <p class="help">{text.planHelp(open)}</p>
    </div>
  )
}

interface QuestionProps {
  readonly id: number
  readonly talk: MatchedTalk
  readonly recordings: RecordingsByKey
}

function Question({ id, talk, recordings }: QuestionProps) {
  const { words, locale } = useDesk()
  const text = words.matches
  const percent = talk.share.toLocaleString(locale, { style: 'percent', maximumFractionDigits: 0 })
  const [first] = talk.proposals
  return (
    <Form action={deskPaths.matchDecide(id)} class="question" data={{ 'data-question': '' }}>
      <input type="hidden" name="talk" value={talk.key} />
      <fieldset>
        <legend>
          <Marked text={talk.title} ranges={first?.talk_words ?? []} />
        </legend>
        <p class="help">
          <TalkLine talk={talk} />{' '}
          <span class="mark warn" title={text.share(percent)}>
            {text.bands[talk.band]}
          </span>
        </p>
        {talk.proposals.map(({ recording: key, ...evidence }, index) => {
          const recording = recordings.get(key)
          return (
            <label key={key} class="choice">
              <input type="radio" name="choice" value={`pair:${key}`} checked={index === 0} />
              <span>
                <kbd class="with-scripts">{index + 1}</kbd>{' '}
                <Marked text={recording?.title ?? key} ranges={evidence.recording_words} />{' '}
                <RecordingLine recording={recording} />
                <Evidence found={evidence.speakers_found} against={evidence.against} />
              </span>
            </label>
          )
        })}
        <label class="choice">
          <input type="radio" name="choice" value="none" />
          <span>
            <kbd class="with-scripts">n</kbd> {text.noneOfThese}
          </span>
        </label>
        {talk.proposals.map(({ recording }) => (
          <input key={recording} type="hidden" name="proposal" value={recording} />
        ))}
        <button type="submit">{text.saveNext}</button>
      </fieldset>
    </Form>
  )
}

interface ByHandProps {
  readonly id: number
  readonly talks: readonly MatchedTalk[]
  readonly free: readonly MatchedRecording[]
}

/** A form that pairs any talk without a recording with any recording without a talk. */
function PairByHand({ id, talks, free }: ByHandProps) {
  const { words } = useDesk()
  const text = words.matches
  if (talks.length === 0 || free.length === 0) return null
  const lists = [
    ['talk', text.talk, talks],
    ['other', text.recording, free],
  ] as const
  return (
    <section>
      <h2>{text.byHand}</h2>
      <Form action={deskPaths.matchDecide(id)}>
        {lists.map(([name, label, entries]) => (
          <div key={name} class="field">
            <label for={`field-${name}`}>{label}</label>
            <select id={`field-${name}`} name={name}>
              <option value="">{text.choose}</option>
              {entries.map(({ key, title }) => (
                <option key={key} value={key}>
                  {title}
                </option>
              ))}
            </select>
          </div>
        ))}
        <button type="submit" name="choice" value="other">
          {text.pairButton}
        </button>
      </Form>
    </section>
  )
}

/** A title with the words marked that the other one has too. */
function Marked({ text, ranges }: { text: string; ranges: readonly (readonly number[])[] }) {
  const title = text.normalize('NFC')
  const pieces: ComponentChildren[] = []
  let end = 0
  for (const [from = 0, to = 0] of ranges.toSorted(([a = 0], [b = 0]) => a - b)) {
    if (from < end) continue
    pieces.push(title.slice(end, from), <mark>{title.slice(from, to)}</mark>)
    end = to
  }
  return (
    <bdi class="title">
      {pieces}
      {title.slice(end)}
    </bdi>
  )
}

function TalkLine({ talk }: { talk: MatchedTalk }) {
  const { words } = useDesk()
  const parts = [
    talk.speakers.join(', '),
    talk.start?.replace('T', ' ') ?? '',
    talk.room,
    talk.minutes === null ? '' : words.matches.minutes(talk.minutes),
  ]
  return <bdi>{parts.filter((part) => part !== '').join(' · ')}</bdi>
}

function RecordingLine({ recording }: { recording: MatchedRecording | undefined }) {
  const { words } = useDesk()
  if (!recording) return null
  const { url, seconds } = recording
  const length = seconds === null ? '' : words.matches.minutes(Math.round(seconds / 60))
  return (
    <span class="help">
      {length}{' '}
      {/^https?:/.test(url) && URL.canParse(url) && (
        <a href={url} rel="noreferrer" target="_blank">
          {new URL(url).hostname.replace(/^www\./, '')}
        </a>
      )}
    </span>
  )
}

interface EvidenceProps {
  readonly found: readonly string[]
  readonly against: readonly string[]
}

function Evidence({ found, against }: EvidenceProps) {
  const text = useDesk().words.matches
  return (
    <span class="evidence">
      {found.length > 0 && <span class="mark">{text.found(found.join(', '))}</span>}
      {against.map((reason) => (
        <span key={reason} class="mark warn">
          {text.against[reason] ?? reason}
        </span>
      ))}
    </span>
  )
}

interface PairProps {
  readonly id: number
  readonly talk: MatchedTalk
  readonly recordings: RecordingsByKey
}

function Pair({ id, talk, recordings }: PairProps) {
  const text = useDesk().words.matches
  const recording = recordings.get(talk.recording ?? '')
  const [evidence] = talk.proposals
  const isShown = evidence?.recording === talk.recording
  return (
    <li>
      <div>
        <p>
          <Marked text={talk.title} ranges={(isShown && evidence?.talk_words) || []} />
        </p>
        <p class="help">
          <TalkLine talk={talk} />
        </p>
        <p>
          <Marked
            text={recording?.title ?? ''}
            ranges={(isShown && evidence?.recording_words) || []}
          />{' '}
          <RecordingLine recording={recording} />
          {talk.part && <PartTimes {...talk.part} />}{' '}
          <span class="mark">{talk.decided ? text.decided : text.bands[talk.band]}</span>
        </p>
        {!talk.decided &&
          talk.copies.map((key) => (
            <Form key={key} action={deskPaths.matchDecide(id)}>
              <input type="hidden" name="talk" value={talk.key} />
              <p>
                {text.copies}: <bdi>{recordings.get(key)?.title}</bdi>{' '}
                <button type="submit" name="choice" value={`copy:${key}`} class="quiet">
                  {text.isCopy}
                </button>
              </p>
            </Form>
          ))}
      </div>
      <Form action={deskPaths.matchDecide(id)}>
        <input type="hidden" name="talk" value={talk.key} />
        <button
          type="submit"
          name="choice"
          value={`not:${talk.recording}`}
          class="quiet"
          aria-label={text.notThisOneOf(talk.title)}
        >
          {text.notThisOne}
        </button>
      </Form>
    </li>
  )
}

function PartTimes({ start, end }: { start: number | null; end: number | null }) {
  return (
    <span class="help">
      {formatTimecode(start ?? 0)}–{end === null ? '' : formatTimecode(end)}
    </span>
  )
}

interface UnrecordedProps {
  readonly id: number
  readonly talk: MatchedTalk
}

/** A talk without a recording, with a form that says why there is none. */
function Unrecorded({ id, talk }: UnrecordedProps) {
  const text = useDesk().words.matches
  return (
    <li>
      <div>
        <p>
          <bdi class="title">{talk.title}</bdi>
        </p>
        <p class="help">
          <TalkLine talk={talk} />
        </p>
      </div>
      <Form action={deskPaths.matchDecide(id)}>
        <input type="hidden" name="talk" value={talk.key} />
        <select name="status" aria-label={`${text.status}: ${talk.title}`}>
          {recordingStatuses.map((status) => (
            <option key={status} value={status} selected={status === (talk.status ?? 'expected')}>
              {text.statuses[status]}
            </option>
          ))}
        </select>{' '}
        <button type="submit" name="choice" value="status" class="quiet">
          {text.save}
        </button>
      </Form>
    </li>
  )
}

interface UnpairedProps {
  readonly id: number
  readonly recording: MatchedRecording
  readonly talks: readonly MatchedTalk[]
}

/** A recording without a talk: left out, a draft of its own, or several talks. */
function Unpaired({ id, recording, talks }: UnpairedProps) {
  const text = useDesk().words.matches
  const { key, title, parts, decided, own_talk: isOwnTalk } = recording
  const titleOf = (talk: string) => talks.find((other) => other.key === talk)?.title ?? talk
  return (
    <li>
      <div>
        <p>
          <bdi class="title">{title}</bdi> <RecordingLine recording={recording} />{' '}
          {isOwnTalk && <span class="mark">{text.isOwnTalk}</span>}
          {decided && !isOwnTalk && <span class="mark">{text.isLeftOut}</span>}
        </p>
        {parts.length > 0 && (
          <Form action={deskPaths.matchDecide(id)}>
            <input type="hidden" name="recording" value={key} />
            <fieldset class="group">
              <legend>{text.parts}</legend>
              {parts.map(({ talk, start, end }) => (
                <p key={talk} class="part">
                  <input type="hidden" name="part_talk" value={talk} />
                  <bdi>{titleOf(talk)}</bdi>{' '}
                  <PartTime name="part_start" label={`${text.partStart}: ${titleOf(talk)}`}>
                    {start}
                  </PartTime>{' '}
                  <PartTime name="part_end" label={`${text.partEnd}: ${titleOf(talk)}`}>
                    {end}
                  </PartTime>
                </p>
              ))}
              <button type="submit" name="choice" value="parts">
                {text.divide}
              </button>
            </fieldset>
          </Form>
        )}
      </div>
      <Form action={deskPaths.matchDecide(id)}>
        <input type="hidden" name="recording" value={key} />
        {!isOwnTalk && (
          <button type="submit" name="choice" value="own-talk" class="quiet">
            {text.ownTalk}
          </button>
        )}{' '}
        {(isOwnTalk || !decided) && (
          <button type="submit" name="choice" value="no-talk" class="quiet">
            {text.leaveOut}
          </button>
        )}
      </Form>
    </li>
  )
}

interface PartTimeProps {
  readonly name: string
  readonly label: string
  readonly children: number | null
}

function PartTime({ name, label, children: seconds }: PartTimeProps) {
  const text = useDesk().words.matches
  return (
    <input
      name={name}
      aria-label={label}
      placeholder={text.partTime}
      size={8}
      maxLength={12}
      autocomplete="off"
      value={seconds === null ? '' : formatTimecode(seconds)}
    />
  )
}
