import Type from 'typebox'
import Format from 'typebox/format'
import { countryCodes } from './countries.ts'

// String formats of our own and patterns, each with the rule for its error message. `date` replaces
// the one of TypeBox, which accepts the year 0.

export const formatRules: Record<string, string> = {
  text: 'must not contain control characters other than newline, carriage return and tab',
  address: 'must be an absolute http or https URL, or an empty string',
  'web-url': 'must be an absolute http or https URL without a user name',
  'https-url': 'must be an absolute https URL without a user name',
  country: 'must be a country code of ISO 3166-1 alpha-2 in capitals, such as DE',
  colour: 'must be a colour written #rrggbb',
  date: 'must be a valid date, written YYYY-MM-DD',
  'date-time': 'must be a valid date and time with its offset, such as 2026-03-01T14:30:00+01:00',
  moment: 'must be a valid date and time, written YYYY-MM-DDTHH:MM:SS.mmm',
}

/** Rules of patterns, by pattern. They are not part of the schemas, which OpenAPI publishes. */
export const patternRules = new Map<string, string>()

/** Returns the schema of a string with a pattern, whose error message is the rule. */
export function matching(
  pattern: string,
  rule: string,
  options: { description: string; maxLength?: number },
) {
  patternRules.set(pattern, rule)
  return Type.String({ pattern, ...options })
}

/** Returns the schema of a string that is one of these values. */
export function oneOf<T extends string>(values: readonly T[], description: string) {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  ) as unknown as ReturnType<typeof Type.Unsafe<T>>
}

Format.Set('text', isText)
Format.Set(
  'address',
  (value) =>
    value === '' || (isText(value) && /^https?:\/\/\S+$/i.test(value) && URL.canParse(value)),
)
Format.Set('web-url', (value) => isPlainUrl(value, ['http:', 'https:']))
Format.Set('https-url', (value) => isPlainUrl(value, ['https:']))
Format.Set('country', (value) => countryCodes.has(value))
Format.Set('colour', (value) => /^#[0-9a-f]{6}$/i.test(value))
Format.Set('date', isDate)
Format.Set('moment', isMoment)
Format.Set('date-time', isInstant)

// The ASCII control characters except tab, newline and carriage return. U+0080 to U+009F are
// allowed: old records contain them (a stray U+009D after a wrong decoding), unchanged.
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is the test for them
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

function isText(value: string): boolean {
  return value.isWellFormed() && !controlCharacters.test(value)
}

/**
 * Returns whether a text is a URL as people know it. A user name is refused, because it can pass
 * for the host: https://example.org@example.com/ leads to example.com.
 */
function isPlainUrl(value: string, protocols: readonly string[]): boolean {
  if (!isText(value) || !/^https?:\/\/[^\s\\]+$/i.test(value)) return false
  const url = URL.parse(value)
  return url !== null && protocols.includes(url.protocol) && url.username + url.password === ''
}

// PostgreSQL has no year 0. Date rolls 30 February over to March, which the comparison detects.
function isDate(value: string): boolean {
  const [year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value)?.slice(1).map(Number) ?? []
  if (!year || !month || !day) return false
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** Tells whether a text is a time with its offset from UTC (RFC 3339), in seconds or less. */
function isInstant(value: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    isDate(value.slice(0, 10)) &&
    !Number.isNaN(Date.parse(value))
  )
}

function isMoment(value: string): boolean {
  const [, day = '', time = ''] = /^(.{10})T(.{12})$/.exec(value) ?? []
  return isDate(day) && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}$/.test(time)
}

/**
 * Returns the schema of a comma-separated list of choices. With `isReversible`, a minus sign may
 * precede each of them.
 */
export function commaSeparated(
  choices: readonly string[],
  { maxItems, isReversible = false }: { maxItems: number; isReversible?: boolean },
  description: string,
) {
  const item = `${isReversible ? '-?' : ''}(${choices.join('|')})`
  return matching(
    `^${item}(,${item}){0,${maxItems - 1}}$`,
    `must be one or more of ${choices.join(', ')}, separated by commas` +
      (isReversible ? '; a minus sign reverses the order' : ''),
    { description },
  )
}
