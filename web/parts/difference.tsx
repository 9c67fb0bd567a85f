import { states } from '@talkshelf/contract'
import type { ComponentChildren } from 'preact'
import { type DiffPart, diffWords, excerpt } from '../desk/word-diff.ts'
import { formatTimecode } from '../timecode.ts'

// The difference between two values of a field, word by word.

/** The texts of differences. */
export interface DiffTexts {
  readonly addedText: string
  readonly removedText: string
  readonly omittedText: string
  readonly newOrder: string
  readonly live: string
  readonly draft: string
  readonly yes: string
  readonly no: string
}

const textFields = [
  'title',
  'summary',
  'description',
  'quality_notes',
  'copyright_text',
  'embed',
  'whiteboard',
]

interface DifferenceProps {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
  /** Until when words are compared, on the clock of performance.now(). */
  readonly untilMs: number
  readonly words: DiffTexts
}

/** Shows what changed in a field. */
export function Difference({ field, before, after, untilMs, words }: DifferenceProps) {
  if (Array.isArray(before) && Array.isArray(after))
    return <ListDifference {...{ before, after, words }} />
  const [old, made] = [before, after].map((value) => formatValue(field, value, words))
  const parts = textFields.includes(field)
    ? diffWords(old as string, made as string, untilMs)
    : [...excerpt('removed', old as string), ...excerpt('added', made as string)]
  return (
    <p class="diff" dir="auto">
      <DiffParts parts={parts} words={words} />
    </p>
  )
}

interface ListDifferenceProps {
  readonly before: string[]
  readonly after: string[]
  readonly words: DiffTexts
}

function ListDifference({ before, after, words }: ListDifferenceProps) {
  const removed = before.filter((name) => !after.includes(name))
  const added = after.filter((name) => !before.includes(name))
  return (
    <>
      <ul class="diff">
        {removed.map((text) => (
          <li key={text} dir="auto">
            <DiffParts parts={[{ kind: 'removed', text }]} words={words} />
          </li>
        ))}
        {added.map((text) => (
          <li key={text} dir="auto">
            <DiffParts parts={[{ kind: 'added', text }]} words={words} />
          </li>
        ))}
      </ul>
      {removed.length + added.length === 0 && (
        <p class="diff" dir="auto">
          {words.newOrder}: {after.join(', ')}
        </p>
      )}
    </>
  )
}

/** Marks added and removed text for eyes and for screen readers, which ignore `ins` and `del`. */
export function DiffParts({ parts, words }: { parts: readonly DiffPart[]; words: DiffTexts }) {
  return (
    <>
      {parts
        .filter(({ kind, text }) => kind === 'omitted' || text !== '')
        .map(({ kind, text }, index) => {
          if (kind === 'same') return text
          if (kind === 'omitted') return <Omitted key={index} text={words.omittedText} />
          const Mark = kind === 'added' ? 'ins' : 'del'
          return (
            <Mark key={index}>
              <Hidden>[{kind === 'added' ? words.addedText : words.removedText}: </Hidden>
              {showLineBreaks(text)}
              <Hidden>]</Hidden>
            </Mark>
          )
        })}
    </>
  )
}

function Omitted({ text }: { text: string }) {
  return (
    <span class="omitted">
      {' '}
      … <Hidden>{text}</Hidden>{' '}
    </span>
  )
}

function Hidden({ children }: { children: ComponentChildren }) {
  return <span class="unseen">{children}</span>
}

/** Makes added and removed line breaks visible. */
const showLineBreaks = (text: string) => text.replaceAll(/\r?\n/g, '↵\n')

/** Formats the value of a field as a text. */
export function formatValue(field: string, value: unknown, words: DiffTexts): string {
  if (value === null || value === undefined) return ''
  if (field === 'state') return value === states.live ? words.live : words.draft
  if (field === 'duration') return formatTimecode(value as number)
  if (typeof value === 'boolean') return value ? words.yes : words.no
  return Array.isArray(value) ? value.join(', ') : String(value)
}
