import { declineReasons, type SuggestedField, type Suggestion } from '@talkshelf/contract'
import { Difference, DiffParts, formatValue } from '../parts/difference.tsx'
import { deskPaths } from '../paths.ts'
import { Form, TextArea } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { ListKeys, listItem } from './list-keys.tsx'
import { englishOn } from './server-text.ts'
import { toText } from './talk-values.ts'
import { useDesk } from './view.ts'
import { excerpt } from './word-diff.ts'

// Suggestions of readers: in the inbox, each with its decision, and on a page of their own, where
// they are edited first. With scripts, one key decides.

/** Time for all word diffs of a page. */
const diffMs = 100

export interface SuggestionQueue {
  readonly count: number
  readonly oldest: string | null
  readonly results: readonly Suggestion[]
  /** Ids of those that came by the link of a speaker. */
  readonly fromSpeakers: readonly number[]
  /** The suggestion after which the next page begins, if there are more. */
  readonly next: number | undefined
  /** The suggestion that was decided last: the one after it gets the focus. */
  readonly decided: number | undefined
  /** Whether that decision can be undone. */
  readonly mayUndo: boolean
}

/** The suggestions in the inbox, the oldest first. */
export function SuggestionInbox({ queue }: { queue: SuggestionQueue }) {
  const { words, href, age, number } = useDesk()
  const text = words.suggestions
  const { count, oldest, results, next, decided, mayUndo } = queue
  const untilMs = performance.now() + diffMs
  const after = results.find(({ id }) => decided !== undefined && id > decided) ?? results[0]
  const focused = decided === undefined ? undefined : after?.id
  return (
    <>
      {decided !== undefined && mayUndo && (
        <Form action={deskPaths.reopenSuggestion(decided)} data={{ 'data-undo': '' }}>
          <button type="submit" class="quiet">
            {text.undo}
          </button>
        </Form>
      )}
      {count > 0 && (
        <section>
          <h2 id="suggestions">{text.title}</h2>
          <p class="help">
            {text.count(count, number(count))}
            {oldest !== null && `; ${text.oldest(age(oldest))}`}
          </p>
          <ul class="suggestions">
            {results.map((suggestion) => (
              <li key={suggestion.id} data-suggestion>
                <h3>
                  <a
                    href={href(deskPaths.suggestion(suggestion.id))}
                    dir="auto"
                    {...listItem}
                    autofocus={suggestion.id === focused}
                  >
                    {titleOf(suggestion) ?? text.number(suggestion.id)}
                  </a>
                </h3>
                {queue.fromSpeakers.includes(suggestion.id) && (
                  <span class="mark">{words.speakerLinks.fromSpeaker}</span>
                )}
                <Summary suggestion={suggestion} />
                <AcceptForm suggestion={suggestion} untilMs={untilMs} />
                <DeclineForm id={suggestion.id} />
              </li>
            ))}
          </ul>
          {next !== undefined && (
            <p>
              <a href={href(`${deskPaths.home}?after=${next}`)}>{text.more}</a>
            </p>
          )}
        </section>
      )}
    </>
  )
}

/** Returns the title of the talk; of a missing one, what the author calls it. */
function titleOf({ title, fields }: Suggestion): string | undefined {
  const suggested = fields.find(({ field }) => field === 'title')?.suggested
  return title ?? (typeof suggested === 'string' ? suggested : undefined)
}

interface SuggestionProps {
  readonly suggestion: Suggestion
}

/** What a suggestion is about, who sent it and when, and what they say. */
function Summary({ suggestion }: SuggestionProps) {
  const { words, href, age } = useDesk()
  const text = words.suggestions
  const { kind, created, name, show_name, low_priority, duplicate_of: other, reply } = suggestion
  return (
    <>
      <p class="help">
        <b>{text.kinds[kind]}</b> · <time dateTime={created}>{age(created)}</time>
        {name !== null && (
          <>
            {' · '}
            <bdi>{text.by(name)}</bdi>
            {show_name && ` (${text.nameShown})`}
          </>
        )}
        {low_priority && (
          <>
            {' '}
            <span class="mark">{text.lowPriority}</span>
          </>
        )}
      </p>
      {suggestion.comment !== '' && <Quote label={text.comment} text={suggestion.comment} />}
      {reply !== null && <Quote label={text.reply} text={reply} />}
      {other !== null && suggestion.video !== null && (
        <p>
          {text.duplicateOf}: <a href={href(deskPaths.talk(other))}>{other}</a> ·{' '}
          <a href={href(`${deskPaths.mergeTalks(suggestion.video)}?with=${other}`)}>
            {text.compare}
          </a>
        </p>
      )}
    </>
  )
}

function Quote({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <b>{label}</b>
      <p class="diff" dir="auto">
        {text}
      </p>
    </div>
  )
}

const labelOf = (words: ReturnType<typeof useDesk>['words'], field: string) =>
  words.talkFields[field as SuggestedField | 'state']

/** The form that accepts a suggestion as it is. */
function AcceptForm({ suggestion, untilMs }: SuggestionProps & { untilMs: number }) {
  const { words, href } = useDesk()
  const text = words.suggestions
  const { id, kind, fields, current_revision: revision } = suggestion
  const isRemoval = kind === 'removal'
  const data = { 'data-accept': '', ...(isRemoval && { 'data-confirm': '' }) }
  return (
    <Form action={deskPaths.acceptSuggestion(id)} data={data}>
      <input type="hidden" name="revision" value={revision ?? undefined} />
      {isRemoval && <p class="help">{text.hides}</p>}
      {fields.length > 0 && !isRemoval && <input type="hidden" name="has_fields" value="1" />}
      {fields
        .filter(() => !isRemoval)
        .map(({ field, state, suggested, current }) => (
          <div key={field} class="suggested-field">
            <label class="choice">
              <input
                type="checkbox"
                name="field"
                value={field}
                checked={state === 'open'}
                disabled={state !== 'open'}
              />
              <b>{labelOf(words, field)}</b>
              {state === 'already-applied' && <span class="mark">{text.alreadyApplied}</span>}
              {state === 'conflict' && <span class="mark warn">{text.conflict}</span>}
            </label>
            <Difference {...{ field, before: current, after: suggested, untilMs, words }} />
            {state === 'conflict' && <p class="help">{text.conflictHelp}</p>}
          </div>
        ))}
      <div class="actions">
        <button type="submit">{text.accept}</button>
        {!isRemoval && (
          <a href={href(deskPaths.suggestion(id))} data-edit-suggestion>
            {text.edit}
          </a>
        )}
      </div>
    </Form>
  )
}

/** The forms that decline a suggestion with one of six reasons, or in words. */
function DeclineForm({ id }: { id: number }) {
  const { words } = useDesk()
  const text = words.suggestions
  return (
    <details data-decline>
      <summary>{text.decline}</summary>
      <Form action={deskPaths.declineSuggestion(id)}>
        <p class="help">{text.declineHelp}</p>
        <div class="actions">
          {declineReasons.map((reason, index) => (
            <button key={reason} type="submit" class="quiet" name="code" value={reason}>
              <kbd class="with-scripts">{index + 1}</kbd> {text.reasons[reason]}
            </button>
          ))}
        </div>
      </Form>
      {/* A form of its own: Enter in a field presses the first button of its form. */}
      <Form action={deskPaths.declineSuggestion(id)}>
        <div class="field">
          <label>
            {text.ownReason}
            <input name="reason" maxLength={500} autocomplete="off" />
          </label>
        </div>
        <button type="submit" class="quiet">
          {text.declineOwn}
        </button>
      </Form>
    </details>
  )
}

export interface SuggestionPageData {
  readonly suggestion: Suggestion
  /** What the editor typed, if it was not accepted. */
  readonly typed: Readonly<Partial<Record<string, string>>>
  /** The fields that the editor ticked, if it was not accepted. */
  readonly ticked: readonly string[] | undefined
  readonly error: 'none' | 'changed' | 'decided' | 'fields' | 'reason' | undefined
  /** The errors of fields, in English. */
  readonly errors: Readonly<Partial<Record<string, string>>>
}

/** A suggestion with all it says, where it is edited and decided. */
export function SuggestionPage(data: SuggestionPageData) {
  const { words, href } = useDesk()
  const text = words.suggestions
  const { suggestion, error } = data
  const { id, video, state, kind } = suggestion
  return (
    <DeskLayout title={titleOf(suggestion) ?? text.number(id)}>
      {error !== undefined && (
        <p class="notice" role="alert">
          {text.errors[error]}
        </p>
      )}
      <p>
        <a href={href(deskPaths.home)}>{text.backToInbox}</a>
        {video !== null && (
          <>
            {' · '}
            <a href={href(deskPaths.talk(video))}>{text.showTalk}</a>
          </>
        )}
        {kind === 'removal' && video !== null && (
          <>
            {' · '}
            <a href={href(deskPaths.takedown(video))}>{text.takeDown}</a>
          </>
        )}
        {kind === 'missing' && (
          <>
            {' · '}
            <a href={href(`${deskPaths.newTalk}?suggestion=${id}`)}>{text.createTalk}</a>
          </>
        )}
      </p>
      <div data-suggestion="only">
        <Summary suggestion={suggestion} />
        {state === 'open' ? (
          <>
            <EditForm {...data} />
            <DeclineForm id={id} />
            <ListKeys more={text.keyTexts} />
          </>
        ) : (
          <Decided suggestion={suggestion} />
        )}
      </div>
    </DeskLayout>
  )
}

/** The form that accepts a suggestion with the values in it. */
function EditForm({ suggestion, typed, ticked, errors }: SuggestionPageData) {
  const { words, locale } = useDesk()
  const text = words.suggestions
  const { id, kind, fields, current_revision: revision } = suggestion
  const untilMs = performance.now() + diffMs
  const isEdited = kind !== 'removal' && kind !== 'missing'
  const data = { 'data-accept': '', ...(kind === 'removal' && { 'data-confirm': '' }) }
  return (
    <Form action={deskPaths.acceptSuggestion(id)} data={data}>
      <input type="hidden" name="revision" value={revision ?? undefined} />
      {kind === 'removal' && <p class="help">{text.hides}</p>}
      {isEdited && fields.length > 0 && (
        <>
          <input type="hidden" name="has_fields" value="1" />
          <p class="help">{text.editHelp}</p>
        </>
      )}
      {fields
        .filter(({ field }) => field !== 'state')
        .map(({ field, state, suggested, current }) => {
          const label = labelOf(words, field)
          const value = typed[field] ?? toText(field as SuggestedField, suggested)
          const error = errors[field]
          return (
            <section key={field}>
              <h2>{label}</h2>
              {state === 'conflict' && <p class="help">{text.conflictHelp}</p>}
              <Difference {...{ field, before: current, after: suggested, untilMs, words }} />
              {state === 'conflict' && <Current field={field} value={current} />}
              {isEdited && (
                <>
                  <label class="choice">
                    <input
                      type="checkbox"
                      name="field"
                      value={field}
                      checked={ticked?.includes(field) ?? state === 'open'}
                    />
                    <span>{text.take(label)}</span>
                  </label>
                  <div lang={error === undefined ? undefined : englishOn(locale)}>
                    <TextArea label={label} name={field} value={value} rows={1} error={error} />
                  </div>
                </>
              )}
            </section>
          )
        })}
      <button type="submit">
        {fields.length > 0 && isEdited ? text.acceptEdited : text.accept}
      </button>
    </Form>
  )
}

function Current({ field, value }: { field: string; value: unknown }) {
  const { words } = useDesk()
  return (
    <p class="diff" dir="auto">
      {words.suggestions.current}:{' '}
      <DiffParts parts={excerpt('same', formatValue(field, value, words))} words={words} />
    </p>
  )
}

/** What was decided, and the form that undoes it. */
function Decided({ suggestion }: SuggestionProps) {
  const { words, age } = useDesk()
  const text = words.suggestions
  const { id, state, closed, closed_by: by, reason, taken, fields } = suggestion
  return (
    <>
      <p>
        {by === null || closed === null
          ? text.states[state]
          : text.decidedBy(text.states[state], by, age(closed))}
      </p>
      {reason !== null && (
        <p dir="auto">
          {text.reason}: {text.reasons[reason] ?? reason}
        </p>
      )}
      <dl class="history">
        {fields.map(({ field, suggested }) => (
          <div key={field}>
            <dt>
              {labelOf(words, field)}{' '}
              {taken.includes(field) && <span class="mark">{text.states.accepted}</span>}
            </dt>
            <dd class="diff" dir="auto">
              <DiffParts
                parts={excerpt('same', formatValue(field, suggested, words))}
                words={words}
              />
            </dd>
          </div>
        ))}
      </dl>
      {(state === 'accepted' || state === 'declined') && (
        <Form action={deskPaths.reopenSuggestion(id)} data={{ 'data-undo': '' }}>
          <p class="help">{text.reopenHelp}</p>
          <button type="submit" class="quiet">
            {text.reopen}
          </button>
        </Form>
      )}
    </>
  )
}
