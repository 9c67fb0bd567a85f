import { diffWordsWithSpace } from 'diff'

// Differences between two texts, word by word. Texts have up to 100,000 characters and can be
// hostile, so both the time and the length of the result are bounded.

export interface DiffPart {
  /** `omitted`: text that is not shown. */
  readonly kind: 'same' | 'added' | 'removed' | 'omitted'
  readonly text: string
}

/** Texts with a longer difference are shown as a whole, one after the other. */
const maxDiffLength = 4000
/** Texts with more different words are not compared: the time grows with the square of these. */
const maxEditLength = 200
/** Unchanged text that is shown before and after a difference. */
const contextLength = 80
const maxTextLength = 1500

/**
 * Compares two texts. After `untilMs`, on the clock of performance.now(), it does not search for
 * equal words any more and returns the old and the new text.
 */
export function diffWords(before: string, after: string, untilMs: number): DiffPart[] {
  const start = commonStart(before, after)
  const end = commonEnd(before.slice(start), after.slice(start))
  const removed = before.slice(start, before.length - end)
  const added = after.slice(start, after.length - end)
  const parts: DiffPart[] = [
    { kind: 'same', text: before.slice(0, start) },
    ...diffMiddle(removed, added, untilMs),
    { kind: 'same', text: before.slice(before.length - end) },
  ]
  const last = parts.length - 1
  return parts
    .flatMap((part, index) =>
      part.kind === 'same' ? shorten(part, index > 0, index < last) : part,
    )
    .filter(({ kind, text }) => kind === 'omitted' || text !== '')
}

function diffMiddle(removed: string, added: string, untilMs: number): DiffPart[] {
  const timeout = untilMs - performance.now()
  const isShort = Math.max(removed.length, added.length) <= maxDiffLength
  const isReplaced = removed === '' || added === ''
  const changes =
    timeout > 0 && isShort && !isReplaced
      ? diffWordsWithSpace(removed, added, { maxEditLength, timeout })
      : undefined
  return (
    changes?.map((change) => ({ kind: kindOf(change), text: change.value })) ?? [
      ...excerpt('removed', removed),
      ...excerpt('added', added),
    ]
  )
}

function kindOf(change: { added: boolean; removed: boolean }): DiffPart['kind'] {
  if (change.added) return 'added'
  return change.removed ? 'removed' : 'same'
}

/** Returns the beginning of a text if it is long. */
export function excerpt(kind: 'same' | 'added' | 'removed', text: string): DiffPart[] {
  if (text.length <= maxTextLength) return [{ kind, text }]
  return [
    { kind, text: text.slice(0, maxTextLength).toWellFormed() },
    { kind: 'omitted', text: '' },
  ]
}

/** Leaves out unchanged text that is far from a difference. */
function shorten({ text }: DiffPart, followsChange: boolean, precedesChange: boolean): DiffPart[] {
  const head = followsChange ? text.slice(0, contextLength) : ''
  const tail = precedesChange ? text.slice(-contextLength) : ''
  if (text.length <= head.length + tail.length + 20) return [{ kind: 'same', text }]
  return [
    { kind: 'same', text: head.toWellFormed() },
    { kind: 'omitted', text: '' },
    { kind: 'same', text: tail.toWellFormed() },
  ]
}

/** Counts the equal characters at the start of two texts, up to the last white space of them. */
function commonStart(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  let length = 0
  while (length < shorter && a.charCodeAt(length) === b.charCodeAt(length)) length++
  while (length > 0 && !isSpace(a.charCodeAt(length - 1))) length--
  return length
}

/** Counts the equal characters at the end of two texts, from the first white space of them on. */
function commonEnd(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  let length = 0
  while (
    length < shorter &&
    a.charCodeAt(a.length - 1 - length) === b.charCodeAt(b.length - 1 - length)
  )
    length++
  while (length > 0 && !isSpace(a.charCodeAt(a.length - length))) length--
  return length
}

const isSpace = (code: number) => code === 32 || code === 10 || code === 13 || code === 9
