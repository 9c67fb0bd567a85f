import anyAscii from 'any-ascii'
import { foldText } from '../platform/text/fold.ts'
import { unspacedScripts } from '../platform/text/unspaced.ts'

// The words of a title, as the search has them (normalized_words() of the database): without case,
// accents and punctuation, C++ and 3.11 as one word, scripts without spaces in pairs of characters.
// Unlike there, an apostrophe is left out: titles of recordings often lack it. No I/O.

/** A word, and where it stands in the title in NFC. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Longer titles are cut: a host and an archive allow fewer characters. */
export const maxTitleLength = 500

const token = new RegExp(
  '[cC]\\+\\+|[cCfF]#|(?<![\\p{L}\\p{N}])\\.(?:net|NET|Net)(?![\\p{L}\\p{N}])|' +
    '(?<![\\p{N}.])\\p{N}{1,3}\\.\\p{N}{1,3}(?!\\p{N})|' +
    "[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}'’`´\\u00ad\\u200b-\\u200d]*",
  'gu',
)
const run = new RegExp(`[${unspacedScripts}\\p{M}]+|[^${unspacedScripts}]+`, 'gu')
const isUnspaced = new RegExp(`[${unspacedScripts}]`, 'u')

/** Splits a title into words. */
export function wordsOf(title: string): Word[] {
  const text = title
    .slice(0, 4 * maxTitleLength)
    .normalize('NFC')
    .slice(0, maxTitleLength)
  return [...text.matchAll(token)].flatMap(({ 0: found, index }) =>
    isUnspaced.test(found) ? runsOf(found, index) : wordAt(found, index, index + found.length),
  )
}

/** Splits a word that has characters of a script without spaces. */
function runsOf(found: string, offset: number): Word[] {
  return [...found.matchAll(run)].flatMap(({ 0: text, index }) => {
    const start = offset + index
    return isUnspaced.test(text) ? pairsOf(text, start) : wordAt(text, start, start + text.length)
  })
}

function pairsOf(text: string, start: number): Word[] {
  if (text.length <= 2) return wordAt(text, start, start + text.length)
  return Array.from({ length: text.length - 1 }, (_, index) =>
    wordAt(text.slice(index, index + 2), start + index, start + index + 2),
  ).flat()
}

function wordAt(found: string, start: number, end: number): Word[] {
  const text = foldWord(found)
  return text === '' ? [] : [{ text, start, end }]
}

// Nearly all words are ASCII and do not need the slow steps.
function foldWord(found: string): string {
  if (/^[a-zA-Z0-9]+$/.test(found)) return found.toLowerCase()
  return foldText(found)
    .normalize('NFC')
    .replace('++', 'plusplus')
    .replace('#', 'sharp')
    .replace(/(^|\d)\./, '$1dot')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replaceAll(/[^\P{Script=Latin}a-z]/gu, (letter) => anyAscii(letter).toLowerCase())
}

/** Identifies the words of a title: the same for another case, spacing or punctuation. */
export function titleFingerprint(title: string): string {
  return wordsOf(title)
    .map(({ text }) => text)
    .join(' ')
}
