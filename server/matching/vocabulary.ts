import { matchesWithTypo } from '../platform/text/one-typo.ts'
import { placeholders } from './generic-words.ts'
import { isYear } from './title-numbers.ts'

// The words of all titles of an event, with their weights: a word weighs the more, the fewer titles
// have it. Words of most recordings and of the event's name weigh nothing. No I/O.

/** A word of more recordings than this is part of the event, not of a talk. */
const maxShareOfRecordings = 0.5
const minCommonRecordings = 3

/** Shorter words have too many neighbours. */
const minTypoLength = 5

const noWords: readonly string[] = []

export interface Vocabulary {
  /** Returns the weight of a word; 0 if it says nothing about a talk. */
  weightOf(word: string): number
  /** Returns the words of the other side that differ by one letter. */
  typosOf(word: string): readonly string[]
}

/** Builds the vocabulary of an event from the distinct words of each title. */
export function buildVocabulary(
  event: readonly string[],
  talks: readonly ReadonlySet<string>[],
  recordings: readonly ReadonlySet<string>[],
  names: ReadonlySet<string>,
): Vocabulary {
  const inRecordings = countTitles(recordings)
  const inAll = countTitles([...recordings, ...talks])
  const minCommon = Math.max(minCommonRecordings, recordings.length * maxShareOfRecordings)
  const ignored = new Set([...event, ...joinedWords(event), ...placeholders])
  for (const [word, count] of inRecordings) if (count > minCommon) ignored.add(word)
  const total = talks.length + recordings.length
  const weights = new Map<string, number>()
  const weightOf = (word: string) => {
    const known = weights.get(word)
    if (known !== undefined) return known
    // What only one title has is no more specific than what a talk and its recording have.
    const rarity = Math.log(1 + total / (1 + Math.max(2, inAll.get(word) ?? 0)))
    const weight = ignored.has(word) || isYear(word) ? 0 : rarity
    weights.set(word, weight)
    return weight
  }
  const ofTalks = new Set([...countTitles(talks).keys(), ...names])
  const typos = findTypos([...ofTalks], [...inRecordings.keys()])
  return { weightOf, typosOf: (word) => typos.get(word) ?? noWords }
}

function countTitles(titles: readonly ReadonlySet<string>[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const title of titles)
    for (const word of title) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** Joins each word with the next one: "Jupyter Lab" may be written "JupyterLab". */
export function joinedWords(words: readonly string[]): string[] {
  return words.slice(1).map((word, index) => `${words[index]}${word}`)
}

/** Finds the words of both sides that differ by one letter, in both directions. */
function findTypos(ofTalks: readonly string[], ofRecordings: readonly string[]) {
  const buckets = new Map<string, string[]>()
  for (const word of ofRecordings.filter(mayHaveTypo))
    for (const key of withoutOneLetter(word)) push(buckets, key, word)
  const typos = new Map<string, string[]>()
  for (const word of ofTalks.filter(mayHaveTypo)) {
    const near = new Set(withoutOneLetter(word).flatMap((key) => buckets.get(key) ?? []))
    for (const other of near) {
      if (other === word || !matchesWithTypo(word, other, false)) continue
      push(typos, word, other)
      push(typos, other, word)
    }
  }
  return typos
}

/** A digit is never a typo: Python 2 is not Python 3. */
const mayHaveTypo = (word: string) => word.length >= minTypoLength && /^\p{L}{1,40}$/u.test(word)

/** Returns the word, and the word without each of its letters: neighbours have one in common. */
function withoutOneLetter(word: string): string[] {
  return [word, ...Array.from(word, (_, index) => word.slice(0, index) + word.slice(index + 1))]
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key)
  if (!list) map.set(key, [value])
  else if (!list.includes(value)) list.push(value)
}
