/**
 * Returns what is known of the day of a recording, YYYY-MM-DD or YYYY. Records have no year without
 * a day: imports that know only the year set 1 January, a day without conferences.
 */
export function knownDate(day: string): string {
  return day.replace(/-01-01$/, '')
}
