// robots.txt (RFC 9309): which paths of a host may be asked for. Pure; the caller fetches and stores
// it.

/** The rules of a host that apply to us. JSON of printable ASCII characters, so it can be stored. */
export interface Robots {
  /** Patterns of paths, with `*` for any characters and `$` at the end. */
  readonly allow: readonly string[]
  readonly disallow: readonly string[]
}

/** The name by which a robots.txt can address us. */
const productToken = 'talkshelf'

/** RFC 9309, section 2.5: what is longer need not be parsed. */
export const maxRobotsBytes = 500 * 1024

/** With longer patterns, only wildcards could match: no URL that is asked for is as long. */
const maxPatternLength = 2048
/** Bounds the time of a match. Hosts with more rules for all crawlers have not been seen. */
const maxRules = 10_000

const allowAll: Robots = { allow: [], disallow: [] }

/**
 * Returns the rules of a host whose robots.txt was answered with this status and body. One that has
 * none (4xx, or a redirect to nowhere) allows everything. Undefined if the host fails or limits its
 * rate, which does not say what is allowed: it may not be asked then.
 */
export function robotsOf({ status, body }: { status: number; body: string }): Robots | undefined {
  if (status >= 200 && status < 300) return parseRobots(body)
  return status >= 300 && status < 500 && status !== 429 ? allowAll : undefined
}

/** Parses a robots.txt: the rules of all groups for us, or else of all groups for everybody. */
export function parseRobots(text: string): Robots {
  const own: Rules = { allow: [], disallow: [] }
  const general: Rules = { allow: [], disallow: [] }
  let isOwnFound = false
  let groups: Rules[] = []
  let isListingAgents = false
  for (const line of linesOf(text)) {
    const [key, value] = line
    if (key === 'user-agent') {
      // The lines of several user agents share the rules below them.
      if (!isListingAgents) groups = []
      isListingAgents = true
      const agent = /^(?:\*|[a-z_-]+)/i.exec(value)?.[0].toLowerCase()
      if (agent === '*') groups.push(general)
      if (agent === productToken) {
        groups.push(own)
        isOwnFound = true
      }
    } else if (key === 'allow' || key === 'disallow') {
      isListingAgents = false
      const pattern = normalizePattern(value)
      // An empty rule is no rule. A pattern that does not start at the root matches nothing.
      if (!/^[/*$]/.test(pattern) || pattern.length > maxPatternLength) continue
      for (const group of new Set(groups)) if (sizeOf(group) < maxRules) group[key].push(pattern)
    }
  }
  return isOwnFound ? own : general
}

/**
 * Tells whether a path with its query may be asked for. The rule with the longest pattern decides;
 * if an allowing and a disallowing one are equally long, the path is allowed.
 */
export function isAllowedBy({ allow, disallow }: Robots, path: string): boolean {
  const octets = decodeOctets(encodeText(path))
  // The file that says what is allowed may always be asked for.
  if (octets === '/robots.txt') return true
  return longestMatch(allow, octets) >= longestMatch(disallow, octets)
}

interface Rules {
  readonly allow: string[]
  readonly disallow: string[]
}

const sizeOf = ({ allow, disallow }: Rules) => allow.length + disallow.length

/** Returns the keys and values of the lines, without comments and without a line that was cut. */
function* linesOf(text: string): Generator<readonly [string, string]> {
  const limited = Buffer.from(text.slice(0, maxRobotsBytes)).subarray(0, maxRobotsBytes)
  const isCut = text.length > maxRobotsBytes || limited.length === maxRobotsBytes
  const lines = limited
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split(/[\r\n]+/)
  if (isCut) lines.pop()
  for (const line of lines) {
    const comment = line.indexOf('#')
    const rule = comment < 0 ? line : line.slice(0, comment)
    const colon = rule.indexOf(':')
    if (colon > 0) yield [rule.slice(0, colon).trim().toLowerCase(), rule.slice(colon + 1).trim()]
  }
}

/** Encodes what is not printable ASCII, so that patterns are plain text. Joins repeated `*`. */
function normalizePattern(value: string): string {
  return encodeText(value).replaceAll(/\*+/g, '*')
}

const encodeText = (text: string) =>
  text.toWellFormed().replaceAll(/[^!-~]+/g, (part) => encodeURIComponent(part))

/**
 * Decodes percent-encoded octets, one character each. RFC 9309, section 2.2.2, compares encoded
 * octets: decoding all of them is the same, where wildcards are known before.
 */
function decodeOctets(text: string): string {
  return text.replaceAll(/%([\da-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** Returns the length in octets of the longest matching pattern; -1 if none matches. */
function longestMatch(patterns: readonly string[], octets: string): number {
  let longest = -1
  for (const pattern of patterns) {
    const length = decodeOctets(pattern).length
    if (length > longest && matches(pattern, octets)) longest = length
  }
  return longest
}

/** Tells whether a pattern matches the beginning of a path, in linear time. */
function matches(pattern: string, octets: string): boolean {
  const isAnchored = pattern.endsWith('$')
  const parts = (isAnchored ? pattern.slice(0, -1) : pattern).split('*').map(decodeOctets)
  const [first = '', ...others] = parts
  if (!octets.startsWith(first)) return false
  const last = isAnchored ? others.pop() : undefined
  let position = first.length
  for (const part of others) {
    const index = indexOfOctets(octets, part, position)
    if (index < 0) return false
    position = index + part.length
  }
  if (!isAnchored) return true
  if (last === undefined) return position === octets.length
  return octets.length - last.length >= position && octets.endsWith(last)
}

/**
 * Finds a part at or after a position with the algorithm of Knuth, Morris and Pratt: a hostile
 * pattern costs no more than its length and that of the path.
 */
function indexOfOctets(text: string, part: string, from: number): number {
  if (part === '') return from
  const borders = [0]
  for (let index = 1, border = 0; index < part.length; index++) {
    while (border > 0 && part[index] !== part[border]) border = borders[border - 1] ?? 0
    if (part[index] === part[border]) border++
    borders.push(border)
  }
  for (let index = from, matched = 0; index < text.length; index++) {
    while (matched > 0 && text[index] !== part[matched]) matched = borders[matched - 1] ?? 0
    if (text[index] === part[matched]) matched++
    if (matched === part.length) return index - part.length + 1
  }
  return -1
}
