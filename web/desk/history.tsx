import { Difference, DiffParts, formatValue } from '../parts/difference.tsx'
import { deskPaths, paths } from '../paths.ts'
import { Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import type { TalkField } from './talk-values.ts'
import { useDesk } from './view.ts'
import { excerpt } from './word-diff.ts'

export interface HistoryData {
  readonly id: number
  readonly title: string
  readonly slug: string
  readonly entries: readonly HistoryEntry[]
  /** The revision before which the next page begins, if there are more. */
  readonly next: number | undefined
  readonly mayRevert: boolean
  /** The record into which the talk was merged. */
  readonly mergedInto: number | null
}

interface HistoryEntry {
  readonly revision: number
  readonly kind: string
  /** In UTC, without a zone designator. */
  readonly at: string
  readonly by: string
  readonly via: string
  readonly request: string
  /** Id of the suggestion that was accepted. */
  readonly suggestion: number | null
  readonly changes: readonly FieldValues[]
}

interface FieldValues {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

/** Time for all word diffs of a page. */
const diffMs = 300

/** The changes of a talk, newest first, with a button that reverts each of them. */
export function History({ id, title, slug, entries, next, ...data }: HistoryData) {
  const { words, href } = useDesk()
  const { mayRevert, mergedInto } = data
  const untilMs = performance.now() + diffMs
  return (
    <DeskLayout title={words.historyOf(title)}>
      <p>
        <a href={href(paths.talk({ id, slug }))}>{words.showTalk}</a>
      </p>
      {mergedInto !== null && (
        <div class="notice">
          <p>
            <a href={href(deskPaths.talk(mergedInto))}>{words.quality.mergedInto(mergedInto)}</a>
          </p>
          {mayRevert && (
            <Form action={deskPaths.unmerge(id)}>
              <p class="help">{words.quality.unmergeHelp}</p>
              <button type="submit">{words.quality.unmerge}</button>
            </Form>
          )}
        </div>
      )}
      <p class="help">{mayRevert ? words.historyHelp : words.foreignEvent}</p>
      <ol class="history">
        {entries.map((entry) => (
          <li key={entry.revision}>
            <Entry
              id={id}
              entry={entry}
              mayRevert={mayRevert && mergedInto === null}
              untilMs={untilMs}
            />
          </li>
        ))}
      </ol>
      {next !== undefined && (
        <p>
          <a href={href(`${deskPaths.talkHistory(id)}?before=${next}`)}>{words.older}</a>
        </p>
      )}
    </DeskLayout>
  )
}

type Words = ReturnType<typeof useDesk>['words']

interface EntryProps {
  readonly id: number
  readonly entry: HistoryEntry
  readonly mayRevert: boolean
  readonly untilMs: number
}

function Entry({ id, entry, mayRevert, untilMs }: EntryProps) {
  const { words, time } = useDesk()
  const { revision, kind, at, by, changes } = entry
  // Of a name that was changed permanently, the values before are not kept.
  const isNameChange = entry.request.startsWith('name change ')
  const isRevertible = mayRevert && kind !== 'created' && kind !== 'merged' && !isNameChange
  return (
    <>
      <h2>{words.revision(revision)}</h2>
      <p class="help">
        <time dateTime={`${at}Z`}>{time(`${at}Z`)}</time> · <bdi>{by}</bdi> ·{' '}
        <ChangeOrigin entry={entry} /> <span class="mark">{words.changeKinds[kind] ?? kind}</span>
      </p>
      {changes.length === 0 && !isNameChange && <p>{words.onlyNames}</p>}
      {isNameChange && <p class="notice">{words.nameChanges.changedNote}</p>}
      <dl>
        {changes.map(({ field, before, after }) => {
          const name = fieldName(words, field)
          return (
            <div key={field}>
              <dt>{name}</dt>
              <dd>
                <Difference {...{ field, before, after, untilMs, words }} />
                {isRevertible && field !== 'merged_into' && (
                  <RevertButton id={id} revision={revision} fields={[field]} of={name} />
                )}
              </dd>
            </div>
          )
        })}
      </dl>
      {isRevertible && changes.length > 1 && (
        <RevertButton id={id} revision={revision} fields={[]} text={words.revertChange} />
      )}
    </>
  )
}

interface RevertButtonProps {
  readonly id: number
  readonly revision: number
  /** All fields of the revision if empty. */
  readonly fields: readonly string[]
  readonly text?: string
  /** The name of the field, for screen readers. */
  readonly of?: string
}

function RevertButton({ id, revision, fields, of, ...props }: RevertButtonProps) {
  const { words } = useDesk()
  const { text = words.revert } = props
  const label = [text, of, words.revision(revision)].filter(Boolean).join(', ')
  return (
    <Form action={deskPaths.revert(id)}>
      <input type="hidden" name="revision" value={revision} />
      {fields.map((field) => (
        <input key={field} type="hidden" name="field" value={field} />
      ))}
      <button type="submit" class="quiet" aria-label={label}>
        {text}
      </button>
    </Form>
  )
}

/** Returns the name of a field as in the editor. */
function fieldName({ talkFields, mergedInto }: Words, field: string): string {
  if (field === 'merged_into') return mergedInto
  return Object.hasOwn(talkFields, field) ? talkFields[field as TalkField] : field
}

/** By which way a change was made: "API", or a link to "Suggestion 12", "Import 12" or "Bulk edit 12". */
function ChangeOrigin({ entry: { via, request, suggestion } }: { entry: HistoryEntry }) {
  const { words, href } = useDesk()
  if (suggestion !== null)
    return (
      <a href={href(deskPaths.suggestion(suggestion))}>{words.suggestions.number(suggestion)}</a>
    )
  const [, number] = /^import (\d+)$/.exec(request) ?? []
  if (number === undefined) return <>{words.origins[via] ?? via}</>
  // Bulk edits have the way in which a person made them.
  const name = via === 'import' ? words.importNumber(number) : words.bulk.number(number)
  return <a href={href(deskPaths.importPage(number))}>{name}</a>
}

export interface RevertRefusedData {
  readonly id: number
  readonly title: string
  readonly revision: number
  /** Fields that were changed since. */
  readonly conflicts: readonly {
    readonly field: string
    readonly current: unknown
    readonly old: unknown
  }[]
  /** The fields that can be reverted. */
  readonly others: readonly string[]
}

/** Explains why a change was not reverted. */
export function RevertRefused({ id, title, revision, conflicts, others }: RevertRefusedData) {
  const { words, href } = useDesk()
  const show = (field: string, value: unknown) => {
    const text = formatValue(field, value, words)
    return text === '' ? (
      <em>{words.emptyValue}</em>
    ) : (
      <DiffParts parts={excerpt('same', text)} words={words} />
    )
  }
  return (
    <DeskLayout title={words.notReverted}>
      <p class="notice" role="alert">
        {words.changedSince(words.revision(revision))}
      </p>
      {conflicts.map(({ field, current, old }) => (
        <section key={field}>
          <h2>{fieldName(words, field)}</h2>
          <dl class="history">
            <dt>{words.currentValue}</dt>
            <dd class="diff" dir="auto">
              {show(field, current)}
            </dd>
            <dt>{words.oldValue}</dt>
            <dd class="diff" dir="auto">
              {show(field, old)}
            </dd>
          </dl>
        </section>
      ))}
      {others.length > 0 && (
        <>
          <p>{words.revertOthersHelp(others.map((field) => fieldName(words, field)))}</p>
          <RevertButton id={id} revision={revision} fields={others} text={words.revertOthers} />
        </>
      )}
      <p>
        <a href={href(deskPaths.talkHistory(id))}>{words.historyOf(title)}</a>
      </p>
    </DeskLayout>
  )
}
