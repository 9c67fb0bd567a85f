// Finds the speakers in the titles of a playlist: "Speaker - Title | Event", "Title - Speaker",
// "Title | Speaker | Event". A pattern counts only if it fits most of the playlist. No I/O.

import { foldText } from '../../platform/text/fold.ts'

export interface SplitTitle {
  readonly title: string
  /** Empty if the title does not fit the pattern. */
  readonly speakers: readonly string[]
}

/** A title in parts, with the separators between them. */
interface Parts {
  readonly texts: readonly string[]
  readonly separators: readonly string[]
}

const separator = /\s+(?:[-–—|·•]|\/\/|::)\s+|\s*[|｜]\s*/u
/** Fewer titles say nothing about a pattern. */
const minTitles = 3
/** The part of the titles that must fit. */
const minShare = 0.6
/** How much more often one end must look like names than the other. */
const minMargin = 0.2

/** Splits the titles of a playlist. Undefined if no pattern fits most of them. */
export function splitTitles(titles: readonly string[], event: string): SplitTitle[] | undefined {
  if (titles.length < minTitles) return undefined
  const whole = titles.map(partsOf)
  const isEvent = eventTest(whole, event)
  const parts = whole.map((title) => withoutEvent(title, isEvent))
  const shareOf = (end: 'first' | 'last') =>
    parts.filter((title) => namesAt(title, end).length > 0).length / titles.length
  const [first, last] = [shareOf('first'), shareOf('last')]
  const end = first > last ? 'first' : 'last'
  const hasSpeakers = Math.max(first, last) >= minShare && Math.abs(first - last) >= minMargin
  const hasEvent = parts.filter((title, index) => title !== whole[index]).length / titles.length
  if (!hasSpeakers && hasEvent < minShare) return undefined
  return parts.map((title) => {
    const speakers = hasSpeakers ? namesAt(title, end) : []
    if (speakers.length === 0) return { title: joinParts(title), speakers }
    const kind = end === 'first' ? kindOf(title) : ''
    return { title: kind + joinParts(dropEnd(title, end)), speakers }
  })
}

/** Words in front of a name that say what kind of talk it is: "Keynote: Ann Other - Rivers". */
const talkKind = new RegExp(
  '^(?:(?:opening|closing|invited|lightning|sponsored|poster) )?' +
    '(?:keynote|talk|tutorial|workshop|panel|session|poster|demo|opening|closing)\\s*:\\s+',
  'iu',
)

function kindOf({ texts }: Parts): string {
  return talkKind.exec(texts[0] ?? '')?.[0] ?? ''
}

/** A longer title is refused later. The expressions take quadratic time. */
const maxTitleLength = 255

function partsOf(title: string): Parts {
  if (title.length > maxTitleLength) return { texts: [title], separators: [] }
  const separators = title.match(new RegExp(separator, 'gu')) ?? []
  return { texts: title.split(separator).map((text) => text.trim()), separators }
}

/**
 * Finds the event that most titles end with, if the title of the playlist has it: `River Days 2026`
 * for the playlist "River Days 2026 - all talks".
 */
export function findEvent(titles: readonly string[], playlistTitle: string): string | undefined {
  if (titles.length < minTitles) return undefined
  const lastParts = titles
    .map(partsOf)
    .flatMap(({ texts }) => (texts.length > 1 ? texts.slice(-1) : []))
  const [event = '', count = 0] = [...countParts(lastParts)].sort(([, a], [, b]) => b - a)[0] ?? []
  const isCommon = count / titles.length >= minShare
  return isCommon && fold(playlistTitle).includes(event)
    ? lastParts.find((text) => fold(text) === event)
    : undefined
}

/** Recognises the event in a part: it is the event itself, or the same in most titles. */
function eventTest(titles: readonly Parts[], event: string): (text: string) => boolean {
  const counts = countParts(titles.flatMap(({ texts }) => [...new Set(texts.slice(1).map(fold))]))
  const eventKey = fold(event)
  return (text) => {
    const key = fold(text)
    return (key !== '' && key === eventKey) || (counts.get(key) ?? 0) / titles.length >= minShare
  }
}

function countParts(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts.map(fold)) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/** Removes the event from the end of a title, or from its beginning. Keeps at least one part. */
function withoutEvent(title: Parts, isEvent: (text: string) => boolean): Parts {
  if (title.texts.length < 2) return title
  if (isEvent(title.texts.at(-1) ?? '')) return dropEnd(title, 'last')
  return isEvent(title.texts[0] ?? '') ? dropEnd(title, 'first') : title
}

function dropEnd({ texts, separators }: Parts, end: 'first' | 'last'): Parts {
  return end === 'first'
    ? { texts: texts.slice(1), separators: separators.slice(1) }
    : { texts: texts.slice(0, -1), separators: separators.slice(0, -1) }
}

function joinParts({ texts, separators }: Parts): string {
  return texts.map((text, index) => `${index > 0 ? separators[index - 1] : ''}${text}`).join('')
}

/** Reads the names at one end of a title. Empty if it is not a list of names. */
function namesAt({ texts }: Parts, end: 'first' | 'last'): string[] {
  if (texts.length < 2) return []
  const text = (end === 'first' ? texts[0]?.replace(talkKind, '') : texts.at(-1)) ?? ''
  const names = text.split(/\s*[,;]\s*|\s+(?:and|&|\+|und|et|y)\s+/iu)
  return names.every(isPersonName) ? names : []
}

const particle = /^(?:van|von|der|den|de|di|da|do|dos|das|del|della|la|le|du|bin|ibn|al|el|zu|ten)$/
const word = /^(?:\p{Lu}|\p{Lo})[\p{L}\p{M}.'’-]*$/u

/** Returns whether a text looks like the name of a person: two to five capitalised words. */
function isPersonName(text: string): boolean {
  const words = text.split(/\s+/)
  return (
    words.length >= 2 &&
    words.length <= 5 &&
    text.length <= 60 &&
    words.filter((part) => word.test(part)).length >= 2 &&
    words.every((part) => word.test(part) || particle.test(part))
  )
}

function fold(text: string): string {
  return foldText(text).trim()
}
