// Parses timecodes of URLs (90, 90s, 1m30s, 1h2m3s), and formats timecodes for readers.

/** Parses a timecode to seconds. Returns 0 if it is invalid. */
export function parseTimecode(text: string | null | undefined): number {
  const [, hours = 0, minutes = 0, seconds = 0] =
    /^(?=\d)(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,6})s?)?$/i.exec(text ?? '') ?? []
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

/** Formats seconds as 2:03 or 1:02:03. */
export function formatTimecode(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const two = (value: number) => String(value % 60).padStart(2, '0')
  const minutes = Math.floor(whole / 60)
  return minutes < 60
    ? `${minutes}:${two(whole)}`
    : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(whole)}`
}
