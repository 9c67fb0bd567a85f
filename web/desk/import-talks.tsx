import type { Import, ImportedTalk, importVerdicts } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { deskPaths, paths } from '../paths.ts'
import { formatTimecode } from '../timecode.ts'
import { Form } from './form.tsx'
import { englishOn, type ServerText, translated } from './server-text.ts'
import { useDesk } from './view.ts'

// The talks of an import, as a table for each verdict.

export const importViews = [
  'conflict',
  'refused',
  'changed',
  'new',
  'unchanged',
  'warnings',
  'kept',
] as const
/** Which talks are shown: those with a verdict, with warnings, or kept by an undo. */
export type ImportView = (typeof importViews)[number]

export interface TalkChange {
  readonly field: string
  /** The values as text. Empty if there is none. */
  readonly old: string
  readonly new: string
  readonly isConflict: boolean
  /** An earlier import wrote the value of the archive, and not a person. */
  readonly isImported: boolean
  /** Whose value a person chose. Undefined: undecided. */
  readonly chosen: 'mine' | 'theirs' | undefined
}

export interface TalkRow extends Omit<ImportedTalk, 'changes'> {
  readonly changes: readonly TalkChange[]
  /** Whether a person can still decide about the talk. */
  readonly isOpen: boolean
  /** The answer to whether the talk is the record that it resembles. */
  readonly same: boolean | undefined
  /** The record that a person chose. */
  readonly record: number | undefined
  /** Why the last decision was refused. */
  readonly error?: ServerText | undefined
}

export interface ImportTalksData {
  readonly job: Import
  readonly show: ImportView
  /** The position before the first talk of this page. */
  readonly after: number
  /** The last position of this page, if there are more talks. */
  readonly next: number | undefined
  readonly talks: readonly TalkRow[]
  /** The table of refused rows: where it begins, and where the next part begins. */
  readonly table?:
    | { readonly after: number; readonly rows: number; readonly next: number | undefined }
    | undefined
}

interface Props extends ImportTalksData {
  readonly children: ComponentChildren
}

/** The talks of one view, with links to the other views. */
export function ImportTalks({ children, ...data }: Props) {
  const { words, href } = useDesk()
  const text = words.imports
  const { job, show, talks, after, next } = data
  const isVerdict = (view: ImportView): view is (typeof importVerdicts)[number] =>
    view !== 'warnings' && view !== 'kept'
  const names = { ...text.verdicts, warnings: text.warningsView, kept: text.keptView }
  const help = isVerdict(show)
    ? text.verdictHelp[show]
    : { warnings: text.warningsHelp, kept: text.keptHelp }[show]
  const linkTo = (view: ImportView, position = 0) =>
    href(`${deskPaths.importPage(job.id)}?show=${view}${position > 0 ? `&after=${position}` : ''}`)
  return (
    <section>
      <nav class="views" aria-label={text.views}>
        {importViews.flatMap((view) => {
          const count = countOf(job, view)
          if (count === 0 && view !== show) return []
          return (
            <a key={view} href={linkTo(view)} aria-current={view === show ? 'true' : undefined}>
              {names[view]} <span class="mark">{count}</span>
            </a>
          )
        })}
      </nav>
      <h2>{names[show]}</h2>
      <p class="help">{help}</p>
      <RefusedTable {...data} />
      {children}
      {talks.length === 0 ? <p>{text.noTalks}</p> : <TalkTable {...data} heading={names[show]} />}
      <p class="pager">
        {after > 0 && <a href={linkTo(show)}>{text.first}</a>}{' '}
        {next !== undefined && <a href={linkTo(show, next)}>{text.next}</a>}
      </p>
    </section>
  )
}

/** A link to the table of refused rows, and to its next part if it is cut. */
function RefusedTable({ job, table }: ImportTalksData) {
  const { words, href, number } = useDesk()
  const text = words.imports
  if (!table) return null
  const { after, rows, next } = table
  const page = `${deskPaths.importPage(job.id)}?show=refused`
  const query = after > 0 ? `?after=${after}` : ''
  return (
    <p>
      <a href={href(deskPaths.importRefused(job.id) + query)}>{text.downloadRefused}</a>{' '}
      {next !== undefined && (
        <>
          {text.refusedCut(number(rows))}{' '}
          <a href={href(`${page}&refused_after=${next}`)}>{text.nextRefused}</a>
        </>
      )}
    </p>
  )
}

function countOf(job: Import, view: ImportView): number {
  if (view === 'kept') return job.undone.touched ?? 0
  if (view === 'warnings') return Object.values(job.warnings).reduce((sum, count) => sum + count, 0)
  return job.planned[view] ?? 0
}

function TalkTable({ heading, ...data }: ImportTalksData & { heading: string }) {
  const { words } = useDesk()
  const text = words.imports
  return (
    <section class="scroll" tabindex={0} aria-label={heading}>
      <table class="plan">
        <thead>
          <tr>
            <th scope="col">{text.talk}</th>
            <th scope="col">{text.changes}</th>
          </tr>
        </thead>
        <tbody>
          {data.talks.map((talk) => (
            <tr key={talk.position} id={`talk-${talk.position}`}>
              <td>
                <TalkSummary {...talk} />
              </td>
              <td>
                <TalkNotes {...talk} />
                {talk.isOpen && (talk.verdict === 'conflict' || talk.record !== undefined) ? (
                  <DecisionForm talk={talk} data={data} />
                ) : (
                  <Changes changes={talk.changes} />
                )}
                {talk.isOpen && talk.verdict === 'new' && talk.record === undefined && (
                  <details open={talk.error !== undefined}>
                    <summary>{text.isRecord}</summary>
                    <DecisionForm talk={talk} data={data} />
                  </details>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function TalkSummary({ title, place, video, category, speakers, recorded, ...talk }: TalkRow) {
  const { words, href } = useDesk()
  const text = words.imports
  const result = [talk.outcome, talk.undone].filter((part) => part !== null)
  const isNew = talk.verdict === 'new'
  // The place of a talk of a bulk edit is its record.
  const isRecord = place === `record ${video}`
  return (
    <>
      <b>
        <bdi>{title ?? (video === null ? text.untitled : text.record(video))}</bdi>
      </b>
      <p class="help">
        {isRecord || <bdi>{place}</bdi>}
        {video !== null && (
          <>
            {isRecord || ' · '}
            <a href={href(paths.talk({ id: video, slug: '-' }))}>{text.record(video)}</a>
          </>
        )}
        {result.length > 0 && ` · ${result.map((part) => text.outcomes[part] ?? part).join(', ')}`}
      </p>
      {isNew && (
        <p class="help">
          <bdi>{speakers.join('; ') || text.noSpeakers}</bdi> · {recorded ?? text.noDate}
          {category !== null && (
            <>
              {' · '}
              <bdi>{category}</bdi>
            </>
          )}
        </p>
      )}
    </>
  )
}

function TalkNotes({ notes }: TalkRow) {
  const { words, locale } = useDesk()
  const lang = englishOn(locale)
  const text = words.imports
  if (notes.length === 0) return null
  return (
    <ul class="notes">
      {notes.map(({ kind, field, detail, code }) => (
        <li key={`${kind} ${field} ${detail}`} class={kind === 'refused' ? 'error' : undefined}>
          {text.noteKinds[kind]}: {lang && code && `${text.noteWarnings[code]}: `}
          <bdi lang={lang}>
            {field === '' || kind === 'question' ? detail : `${field} ${detail}`}
          </bdi>
        </li>
      ))}
    </ul>
  )
}

/** The values of fields that change without a decision. */
function Changes({ changes }: { changes: readonly TalkChange[] }) {
  const { words } = useDesk()
  const text = words.imports
  if (changes.length === 0) return null
  return (
    <dl class="changes">
      {changes.map((change) => (
        <div key={change.field}>
          <dt>
            {text.fields[change.field] ?? change.field}
            {change.chosen !== undefined &&
              ` (${change.chosen === 'mine' ? text.keepOurs : text.takeTheirs})`}
          </dt>
          <dd>
            <span class="help">{text.here}</span> <Value {...change} side="old" />
          </dd>
          <dd>
            <span class="help">{text.inFile}</span> <Value {...change} side="new" />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Value({ field, side, ...change }: TalkChange & { side: 'old' | 'new' }) {
  const { words } = useDesk()
  const text = words.imports
  const value = change[side]
  if (value === '') return <i>{text.emptyValue}</i>
  if (field === 'facts') return <bdi class="long">{text.facts(value)}</bdi>
  const isSeconds = field === 'duration' && /^\d+$/.test(value)
  return <bdi class="long">{isSeconds ? formatTimecode(Number(value)) : value}</bdi>
}

interface DecisionFormProps {
  readonly talk: TalkRow
  readonly data: ImportTalksData
}

/** Asks for each field in conflict whose value to take, and which record the talk is. */
function DecisionForm({ talk, data: { job, show, after } }: DecisionFormProps) {
  const { words } = useDesk()
  const text = words.imports
  const { position, changes } = talk
  const isQuestion = talk.notes.some(({ kind }) => kind === 'question')
  const canChooseRecord = isQuestion || talk.verdict === 'new' || talk.record !== undefined
  const id = `record-${position}`
  return (
    <Form action={deskPaths.importDecide(job.id)}>
      <input type="hidden" name="position" value={position} />
      <input type="hidden" name="show" value={show} />
      <input type="hidden" name="after" value={after} />
      {talk.error !== undefined && (
        <p class="error" role="alert">
          {translated(talk.error, text.byCode)}
        </p>
      )}
      {isQuestion && (
        <fieldset class="field" data-conflict>
          <legend>{text.noteKinds.question}</legend>
          <Choice name="same" value="yes" isChecked={talk.same === true}>
            {text.sameTalk}
          </Choice>
          <Choice name="same" value="no" isChecked={talk.same === false}>
            {text.otherTalk}
          </Choice>
        </fieldset>
      )}
      {changes
        .filter(({ isConflict }) => isConflict)
        .map((change) => (
          <ConflictField key={change.field} change={change} />
        ))}
      <Changes changes={changes.filter(({ isConflict }) => !isConflict)} />
      {canChooseRecord && (
        <div class="field">
          <label for={id}>{text.recordId}</label>
          <input
            id={id}
            name="record"
            inputMode="numeric"
            maxLength={16}
            autocomplete="off"
            value={talk.record}
            aria-describedby={`${id}-help`}
          />
          <p class="help" id={`${id}-help`}>
            {text.recordHelp}
          </p>
        </div>
      )}
      <button type="submit" class="quiet">
        {text.saveDecision}
      </button>
    </Form>
  )
}

function ConflictField({ change }: { change: TalkChange }) {
  const { words } = useDesk()
  const text = words.imports
  const name = `take-${change.field}`
  return (
    <fieldset class="field" data-conflict>
      <legend>
        {text.fields[change.field] ?? change.field}
        {change.isImported && <span class="help"> {text.fromImport}</span>}
      </legend>
      <Choice name={name} value="mine" isChecked={change.chosen === 'mine'}>
        {text.keepOurs}: <Value {...change} side="old" />
      </Choice>
      <Choice name={name} value="theirs" isChecked={change.chosen === 'theirs'}>
        {text.takeTheirs}: <Value {...change} side="new" />
      </Choice>
    </fieldset>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly value: string
  readonly isChecked: boolean
  readonly children: ComponentChildren
}

function Choice({ name, value, isChecked, children }: ChoiceProps) {
  return (
    <label class="choice">
      <input type="radio" name={name} value={value} checked={isChecked} />
      <span>{children}</span>
    </label>
  )
}
