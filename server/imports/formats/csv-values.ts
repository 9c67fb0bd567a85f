// Dates and durations as people write them in tables. No I/O.

/** What the cells of a file say about each other. */
export interface CellHints {
  /** Whether 05/01 is the fifth of January. Undefined if no date of the file decides it. */
  readonly isDayFirst: boolean | undefined
  /** Whether 0:45 is 45 minutes, and not 45 seconds. */
  readonly isHoursFirst: boolean
}

const slashDate = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$/
const clock = /^(\d{1,3}):([0-5]\d)$/
/** More than these can only be minutes. */
const maxHours = 12

export interface HintCollector {
  add(date: string, duration: string): void
  hints(): CellHints
}

/** Collects hints from the dates and durations of a file, row by row. */
export function collectHints(): HintCollector {
  let [hasDayFirst, hasMonthFirst, hasNoHours, hasManyHours] = [false, false, false, false]
  return {
    add(date, duration) {
      const [, first = '0', second = '0'] = slashDate.exec(date.trim()) ?? []
      hasDayFirst ||= Number(first) > 12
      hasMonthFirst ||= Number(second) > 12
      const hours = clock.exec(duration.trim())?.[1]
      if (hours === undefined) return
      hasNoHours ||= Number(hours) === 0
      hasManyHours ||= Number(hours) > maxHours
    },
    hints: () => ({
      isDayFirst: hasDayFirst === hasMonthFirst ? undefined : hasDayFirst,
      isHoursFirst: hasNoHours && !hasManyHours,
    }),
  }
}

/** Returns whether a date or a duration can be read in two ways. */
export function needsHints(date: string, duration: string): boolean {
  const hours = clock.exec(duration.trim())?.[1]
  const isClock = hours !== undefined && Number(hours) <= maxHours
  return isClock || readDay(date, { isDayFirst: undefined, isHoursFirst: false }) === 'ambiguous'
}

/**
 * Reads a day: 2026-05-01, 01.05.2026, 1 May 2026, May 1, 2026, or 05/13/2026. Undefined if it is
 * no day, 'ambiguous' if month and day cannot be distinguished.
 */
export function readDay(cell: string, { isDayFirst }: CellHints): string | 'ambiguous' | undefined {
  const text = cell.trim()
  const iso = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ]\d\d:\d\d.*)?$/.exec(text)
  if (iso) return toDay(iso[1], iso[3], iso[4])
  const dotted = /^(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})$/.exec(text)
  if (dotted) return toDay(dotted[3], dotted[2], dotted[1])
  const slashed = slashDate.exec(text)
  if (slashed) return readSlashDate(slashed, isDayFirst)
  const dayFirst = /^(\d{1,2})(?:st|nd|rd|th|\.)?(?: de| of)? (\p{L}+)\.?(?: de|,)? (\d{4})$/iu
  const [, day, month, year] = dayFirst.exec(text) ?? []
  if (month !== undefined) return toDay(year, monthOf(month), day)
  const monthFirst = /^(\p{L}+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/iu.exec(text)
  return monthFirst ? toDay(monthFirst[3], monthOf(monthFirst[1]), monthFirst[2]) : undefined
}

function readSlashDate(
  [, first, second, year]: RegExpExecArray,
  isDayFirst: boolean | undefined,
): string | undefined {
  if (Number(first) > 12 || first === second) return toDay(year, second, first)
  if (Number(second) > 12) return toDay(year, first, second)
  if (isDayFirst === undefined) return 'ambiguous'
  return isDayFirst ? toDay(year, second, first) : toDay(year, first, second)
}

function toDay(year = '', month = '', day = ''): string | undefined {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  return new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text ? text : undefined
}

/** Month names and their abbreviations, in some languages, without accents. */
const months = new Map(
  ['en', 'es', 'de', 'fr', 'it', 'pt'].flatMap((locale) =>
    (['long', 'short'] as const).flatMap((style) => {
      const format = new Intl.DateTimeFormat(locale, { month: style, timeZone: 'UTC' })
      return Array.from({ length: 12 }, (_, index): [string, string] => [
        fold(format.format(new Date(Date.UTC(2026, index)))),
        String(index + 1),
      ])
    }),
  ),
)

function monthOf(name = ''): string | undefined {
  return months.get(fold(name))
}

function fold(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/[\p{M}.]/gu, '')
    .toLowerCase()
}

/** Reads a duration as seconds: 2700, 45 min, 1h 05m, 1:05:00, 0:45, PT45M. */
export function readSeconds(cell: string, { isHoursFirst }: CellHints): number | undefined {
  const text = cell.trim()
  if (/^\d+$/.test(text)) return toSeconds(undefined, undefined, text)
  const [, first, second] = clock.exec(text) ?? []
  if (first !== undefined)
    return isHoursFirst ? toSeconds(first, second) : toSeconds(undefined, first, second)
  const long = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/.exec(text)
  if (long) return toSeconds(long[1], long[2], long[3])
  const units =
    /^(?:PT)?(?:(\d{1,5}) ?h(?:(?:ou)?rs?|oras?)?)?(?: ?(\d{1,5}) ?(?:m(?:in(?:ute|uto)?s?)?\.?|['′]))?(?: ?(\d{1,7}) ?s(?:ec(?:ond)?s?)?\.?)?$/i
  const [, hours, minutes, seconds] = units.exec(text) ?? []
  if ((hours ?? minutes ?? seconds) !== undefined) return toSeconds(hours, minutes, seconds)
  const short = /^(\d{1,3}) ?h ?(\d{1,2})$/i.exec(text)
  return short ? toSeconds(short[1], short[2]) : undefined
}

function toSeconds(hours = '0', minutes = '0', seconds = '0'): number | undefined {
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return Number.isSafeInteger(total) ? total : undefined
}
