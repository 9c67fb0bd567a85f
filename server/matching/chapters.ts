// Reads lists of chapters from descriptions: lines with time codes, as video hosts show them. No
// I/O.

export interface Chapter {
  readonly title: string
  readonly startSeconds: number
  /** Only if the line says it. */
  readonly endSeconds: number | null
}

/** A description is cut after this many characters, and a list after this many chapters. */
const maxDescriptionLength = 50_000
const maxLineLength = 500
const maxChapters = 500

const code = '(\\d{1,2}:\\d{1,2}(?::\\d{2})?|\\d{1,3}:\\d{2})'
const dash = '\\s*(?:-|–|—|~|to|bis|a)\\s*'
const bracketed = (source: string) => `[([<]?\\s*${source}\\s*[)\\]>]?`
const atStart = new RegExp(
  `^\\s*(?:[-*•·▶►]|\\d{1,3}[.)])?\\s*${bracketed(`${code}(?:${dash}${code})?`)}\\s*[-–—:|,.]*\\s*(.*)$`,
  'u',
)
const atEnd = new RegExp(
  `^(.*?\\S)(?:\\s|(?=[([<]))\\s*${bracketed(`${code}(?:${dash}${code})?`)}$`,
  'u',
)

/** Reads the chapters of a description, in the order of their start. */
export function readChapters(description: string): Chapter[] {
  const lines = description.slice(0, maxDescriptionLength).split(/\r\n|[\n\r\u2028]/u)
  return lines
    .flatMap((line) => readLine(line.slice(0, maxLineLength)) ?? [])
    .slice(0, maxChapters)
    .sort((a, b) => a.startSeconds - b.startSeconds)
}

function readLine(line: string): Chapter | undefined {
  const [, first, last, after] = atStart.exec(line) ?? []
  if (first && after && hasLetter(after)) return chapterOf(after, first, last)
  const [, before, start, end] = atEnd.exec(line.trim()) ?? []
  return before && start && hasLetter(before) ? chapterOf(before, start, end) : undefined
}

const hasLetter = (text: string) => /\p{L}/u.test(text)

function chapterOf(title: string, start: string, end: string | undefined): Chapter {
  return {
    title: title.replace(/[-–—:|,@\s]+$/u, '').trim(),
    startSeconds: secondsOf(start),
    endSeconds: end === undefined ? null : secondsOf(end),
  }
}

/** Converts `4:30`, `75:00` or `1:15:45` to seconds. */
export function secondsOf(timecode: string): number {
  return timecode.split(':').reduce((sum, part) => 60 * sum + Number(part), 0)
}
