import { inputWords, loneHigh, loneLow } from './target.ts'

// Creates new inputs from those of a corpus by mutating bytes, and units with a meaning for
// parsers: tokens, values between delimiters, numbers, brackets, lines.

export interface Random {
  /** Returns an integer from 0 to below the limit. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
}

/** Returns the same numbers for the same seed (mulberry32). */
export function fuzzRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return (bits ^ (bits >>> 14)) >>> 0
  }
  const below = (limit: number) => (limit > 0 ? next() % limit : 0)
  return { below, pick: (from) => from[below(from.length)] as (typeof from)[number] }
}

export const maxBytes = 64 * 1024

/** Tokens that are difficult for parsers of any kind. */
const common: readonly Buffer[] = [
  ...[
    '\0',
    '\ufeff',
    loneHigh,
    loneLow,
    '\r\n',
    '\r',
    '\n',
    '\t',
    ' ',
    '\u00a0',
    '\u2028',
    '\u202e',
  ],
  ...['\u0301', '👩‍👩‍👧', '𝒳', 'ß', 'İ', 'ﬁ', '機械', 'بايثون'],
  ...inputWords('" \' ` \\ / .. ../ % %00 %ff %zz __proto__ constructor toString null true NaN'),
  ...inputWords('<!-- --> &#0; &amp; $& $1 \\u0000 \\ud800 0 -0 -1 , ; : = & ? # < > * _ ~ |'),
]
  .map((text) => Buffer.from(text))
  .concat(
    inputWords('ff c0af eda080 f8888080 e2 80 fffe 1f8b').map((hex) => Buffer.from(hex, 'hex')),
  )

const numbers = [
  ...inputWords('0 00 -0 -1 1 1.5 1e309 1e-400 0x10 255 256 32767 65536 2147483647 2147483648'),
  ...inputWords('4294967296 9007199254740991 9007199254740993 9223372036854775808 1e21'),
  '9'.repeat(400),
]

const brackets: readonly (readonly [string, string])[] = [
  ...(['[]', '{}', '()', '""', "''", '**', '``'].map((pair) => [pair[0], pair[1]]) as [
    string,
    string,
  ][]),
  ...([
    ['<a>', '</a>'],
    ['<p>', '</p>'],
    ['<ul><li>', '</li></ul>'],
  ] as const),
  ...([
    ['{"a":', '}'],
    ['[{"a":[', ']}]'],
    ['> ', ''],
    ['- ', ''],
    ['  ', ''],
  ] as const),
]

type Mutation = (
  input: Buffer,
  random: Random,
  others: readonly Buffer[],
  tokens: readonly Buffer[],
) => Buffer

const replaceRange = (input: Buffer, from: number, to: number, by: Buffer) =>
  Buffer.concat([input.subarray(0, from), by, input.subarray(to)])

/** Returns the range of a random part, mostly a short one. */
function partIn({ length }: Buffer, random: Random): [number, number] {
  const from = random.below(length + 1)
  const size = random.below(Math.min(length - from, random.pick([1, 2, 4, 16, 64, maxBytes])) + 1)
  return [from, from + size]
}

const delimiters = new Set(Buffer.from('"<>,;\n:{}[]()&=/ |\''))

/** Returns the range between two delimiters: a value, a name, a cell or a word. */
function valueIn(input: Buffer, random: Random): [number, number] {
  let from = random.below(input.length + 1)
  let to = from
  while (from > 0 && !delimiters.has(input[from - 1] as number)) from--
  while (to < input.length && !delimiters.has(input[to] as number)) to++
  return [from, to]
}

/** Returns the range of a random line. */
function lineIn(input: Buffer, random: Random): [number, number] {
  const at = random.below(input.length + 1)
  const end = input.indexOf(10, at)
  return [at === 0 ? 0 : input.lastIndexOf(10, at - 1) + 1, end < 0 ? input.length : end + 1]
}

const anyToken = (random: Random, tokens: readonly Buffer[]) =>
  tokens.length > 0 && random.below(3) > 0 ? random.pick(tokens) : random.pick(common)

/** Repeats a token up to a number of bytes. */
export function repeated(token: Buffer, bytes: number): Buffer {
  return Buffer.alloc(Math.max(token.length, bytes), token).subarray(
    0,
    Math.max(1, Math.floor(bytes / token.length)) * token.length,
  )
}
/** Returns a length that is mostly small, and rarely the maximum. */
const randomLength = (random: Random) => 2 ** (2 + random.below(random.below(40) === 0 ? 15 : 7))

const mutations: readonly Mutation[] = [
  function flipBit(input, random) {
    const copy = Buffer.from(input)
    const at = random.below(copy.length)
    if (copy.length > 0) copy[at] = (copy[at] as number) ^ (1 << random.below(8))
    return copy
  },
  function setByte(input, random) {
    const copy = Buffer.from(input)
    if (copy.length > 0) copy[random.below(copy.length)] = random.below(256)
    return copy
  },
  function insertToken(input, random, _, tokens) {
    const at = random.below(input.length + 1)
    return replaceRange(input, at, at, anyToken(random, tokens))
  },
  function replaceValueWithToken(input, random, _, tokens) {
    return replaceRange(input, ...valueIn(input, random), anyToken(random, tokens))
  },
  function replacePartWithToken(input, random, _, tokens) {
    return replaceRange(input, ...partIn(input, random), anyToken(random, tokens))
  },
  function insertTokenAtValue(input, random, _, tokens) {
    const [from, to] = valueIn(input, random)
    const at = random.pick([from, to])
    return replaceRange(input, at, at, anyToken(random, tokens))
  },
  function removePart(input, random) {
    return replaceRange(input, ...partIn(input, random), Buffer.alloc(0))
  },
  function removeValue(input, random) {
    return replaceRange(input, ...valueIn(input, random), Buffer.alloc(0))
  },
  function removeLine(input, random) {
    return replaceRange(input, ...lineIn(input, random), Buffer.alloc(0))
  },
  function repeatPart(input, random) {
    const [from, to] = random.pick([partIn, valueIn, lineIn])(input, random)
    if (from === to) return input
    return replaceRange(input, to, to, repeated(input.subarray(from, to), randomLength(random)))
  },
  function repeatTokens(input, random, _, tokens) {
    const run = Buffer.concat(
      Array.from({ length: 1 + random.below(3) }, () => anyToken(random, tokens)),
    )
    const at = random.below(input.length + 1)
    return replaceRange(input, at, at, repeated(run, randomLength(random)))
  },
  function nest(input, random) {
    const [open, close] = random.pick(brackets)
    const depth = 2 ** random.below(random.below(40) === 0 ? 14 : 7)
    const [from, to] = random.pick([partIn, valueIn, lineIn])(input, random)
    const inner = input.subarray(from, to)
    return replaceRange(
      input,
      from,
      to,
      Buffer.concat([Buffer.from(open.repeat(depth)), inner, Buffer.from(close.repeat(depth))]),
    )
  },
  function boundaryNumber(input, random) {
    const text = input.toString('latin1')
    const found = [...text.slice(0, 20_000).matchAll(/-?\d[\d.]*/g)]
    const number = Buffer.from(random.pick(numbers))
    if (found.length === 0) return replaceRange(input, ...valueIn(input, random), number)
    const { index, 0: old } = random.pick(found)
    return replaceRange(input, index, index + old.length, number)
  },
  function splice(input, random, others) {
    const other = random.pick(others)
    return Buffer.concat([
      input.subarray(0, random.below(input.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ])
  },
  function insertPartOfAnother(input, random, others) {
    const other = random.pick(others)
    const part = other.subarray(...random.pick([partIn, valueIn, lineIn])(other, random))
    return replaceRange(input, ...random.pick([partIn, valueIn, lineIn])(input, random), part)
  },
  function truncate(input, random) {
    return input.subarray(0, random.below(input.length + 1))
  },
  function replaceLineEnds(input, random) {
    const end = random.pick(['\r\n', '\r', '\n\n', ' ', '\u2028'])
    return Buffer.from(input.toString('latin1').replaceAll('\n', end), 'latin1')
  },
]

/** Returns an input of the corpus with one or more mutations. */
export function mutate(
  random: Random,
  corpus: readonly Buffer[],
  tokens: readonly Buffer[],
): Buffer {
  // The newest inputs have the newest coverage, so they are chosen more often.
  const recent = random.below(3) === 0 ? corpus.slice(-8) : corpus
  let input = random.pick(recent)
  for (let steps = 1 + random.below(random.pick([1, 2, 4, 8])); steps > 0; steps--) {
    input = random.pick(mutations)(input, random, corpus, tokens).subarray(0, maxBytes)
  }
  return input
}
