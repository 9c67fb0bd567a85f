import Format from 'typebox/format'

// What JSON Schema cannot say by itself. Each format has a sentence for the error that names it.

export const formatRules: Record<string, string> = {
  text: 'must not have control characters other than newline, carriage return and tab',
  address: 'must be an absolute http or https address, or an empty string',
  date: 'must be a real date, written YYYY-MM-DD',
  moment: 'must be a real moment, written YYYY-MM-DDTHH:MM:SS.mmm',
}

Format.Set('text', isText)
Format.Set(
  'address',
  (value) =>
    value === '' || (isText(value) && /^https?:\/\/\S+$/i.test(value) && URL.canParse(value)),
)
Format.Set('date', isDate)
Format.Set('moment', isMoment)

// The ASCII control characters less tab, newline and carriage return; and half a surrogate pair, which is no character at all.
// U+0080 to U+009F stay: old records have them (a stray U+009D of a wrong decoding), and they must go in as they are.
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is the test for them
const unwanted = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

function isText(value: string): boolean {
  return value.isWellFormed() && !unwanted.test(value)
}

// PostgreSQL has no year 0; Date.UTC rolls 30 February over to March, which the comparison sees.
function isDate(value: string): boolean {
  const [year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value)?.slice(1).map(Number) ?? []
  if (!year || !month || !day) return false
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function isMoment(value: string): boolean {
  const [, day = '', time = ''] = /^(.{10})T(.{12})$/.exec(value) ?? []
  return isDate(day) && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}$/.test(time)
}
