import { durationDoubt, type WarningCode } from '@talkshelf/contract'
import type { ImportWarning } from '../item.ts'
import { quote } from '../quote.ts'
import type { RecordFields } from './merge.ts'

// Warns about values that are allowed but implausible. The talk is imported all the same. No I/O.

/** No recording is older. */
const firstYear = 1900
/** A talk that is already tomorrow in another time zone is not in the future. */
const oneDayMs = 86_400_000

/** Finds implausible values in the fields that an import would write. */
export function warningsAbout(fields: RecordFields, isNew: boolean, now: Date): ImportWarning[] {
  const { recorded, duration, speakers } = fields
  return [
    ...dateWarnings(recorded, isNew, now),
    ...(typeof duration === 'number' ? durationWarnings(duration) : []),
    ...(Array.isArray(speakers) ? speakers.flatMap(severalNamesWarnings) : []),
  ]
}

/** Builds a warning that a name differs from another one only in its spelling. */
export function similarNameWarning(name: string, other: string, where: string): ImportWarning {
  return warning('similar-name', 'speakers', `have ${quote(name)}, but ${where} ${quote(other)}`)
}

function dateWarnings(recorded: unknown, isNew: boolean, now: Date): ImportWarning[] {
  if (typeof recorded !== 'string')
    return isNew ? [warning('missing-date', 'recorded', 'is missing')] : []
  if (Number(recorded.slice(0, 4)) < firstYear)
    return [warning('old-date', 'recorded', `is ${recorded}, before ${firstYear}`)]
  const lastDay = new Date(now.getTime() + oneDayMs).toISOString().slice(0, 10)
  return recorded > lastDay
    ? [warning('future-date', 'recorded', `is ${recorded}, in the future`)]
    : []
}

function durationWarnings(seconds: number): ImportWarning[] {
  const doubt = durationDoubt(seconds)
  if (doubt === 'long') {
    const hours = Math.round(seconds / 3600).toLocaleString('en-US')
    return [warning('long-duration', 'duration', `is ${seconds} seconds (${hours} hours)`)]
  }
  return doubt === 'short'
    ? [warning('short-duration', 'duration', `is ${seconds} seconds. Are these minutes?`)]
    : []
}

const joinedByWord = /\p{L}\s+(?:and|und|et|&|\+)\s+\p{L}/iu
/** Not a name in two scripts: "Takahiro Ikeuchi / 池内 孝啓". */
const joinedBySlash = /\p{Script=Latin}\s*\/\s*\p{Script=Latin}/u

/** A last name before a first name. */
const reversedName = /^\p{Lu}[\p{L}\p{M}'’-]+,\s*\p{Lu}[\p{L}\p{M}'’.-]+$/u

/**
 * Warns about "Ann and Bob", "Ann Other, Bob Second" and "Other, Ann", but not "Aaron Hall, MBA".
 */
function severalNamesWarnings(name: unknown): ImportWarning[] {
  if (typeof name !== 'string') return []
  const fullNames = name.split(/[,;]|\sy\s/).filter((part) => /\S\s+\S/.test(part.trim()))
  if (reversedName.test(name))
    return [warning('several-names', 'speakers', `have ${quote(name)}. Is it “First Last”?`)]
  return joinedByWord.test(name) ||
    joinedBySlash.test(name) ||
    name.includes(';') ||
    fullNames.length > 1
    ? [warning('several-names', 'speakers', `have ${quote(name)}. Are these several people?`)]
    : []
}

function warning(code: WarningCode, field: string, detail: string): ImportWarning {
  return { kind: 'warning', code, field, detail }
}
