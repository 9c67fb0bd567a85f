import type { Video } from '@talkshelf/contract'
import { formatTimecode, parseTimecode } from '../timecode.ts'

// The fields of a talk as texts in a form. Lists have one name per line.

type Kind = 'line' | 'text' | 'names' | 'date' | 'duration' | 'number' | 'flag'

const mediaFormats = ['mp4', 'webm', 'ogv', 'flv'] as const
export const mediaFields = mediaFormats.map((format) => ({
  format,
  url: `video_${format}_url`,
  length: `video_${format}_length`,
  downloadOnly: `video_${format}_download_only`,
})) as readonly {
  readonly format: string
  readonly url: TalkField
  readonly length: TalkField
  readonly downloadOnly: TalkField
}[]

const fieldKinds = {
  title: 'line',
  category: 'line',
  language: 'line',
  speakers: 'names',
  tags: 'names',
  summary: 'text',
  description: 'text',
  recorded: 'date',
  duration: 'duration',
  source_url: 'line',
  thumbnail_url: 'line',
  embed: 'text',
  ...(Object.fromEntries(
    mediaFormats.flatMap((format) => [
      [`video_${format}_url`, 'line'],
      [`video_${format}_length`, 'number'],
      [`video_${format}_download_only`, 'flag'],
    ]),
  ) as Record<
    `video_${(typeof mediaFormats)[number]}_${'url' | 'length' | 'download_only'}`,
    Kind
  >),
  copyright_text: 'text',
  quality_notes: 'text',
  whiteboard: 'text',
} as const satisfies Partial<Record<keyof Video, Kind>>

export type TalkField = keyof typeof fieldKinds
export type TalkValues = Readonly<Record<TalkField, string>>

/** The fields of a talk that can be edited, in the order of the form. */
export const talkFields = Object.keys(fieldKinds) as TalkField[]

/** Returns the fields of a talk as texts. */
export function talkValues(video: Partial<Video>): TalkValues {
  return Object.fromEntries(
    talkFields.map((field) => [field, toText(field, video[field])]),
  ) as TalkValues
}

/** Returns the value of a field as a text. */
export function toText(field: TalkField, value: unknown): string {
  if (fieldKinds[field] === 'flag') return value === true ? '1' : '0'
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.join('\n')
  return fieldKinds[field] === 'duration' ? formatTimecode(value as number) : String(value)
}

/**
 * Returns what a form changes in a talk. Fields that the form does not have, and those whose text
 * is still that of the talk, do not change. A value that cannot be parsed stays a text, which the
 * validation refuses.
 */
export function changedValues(base: Partial<Video>, form: URLSearchParams): Partial<Video> {
  return Object.fromEntries(
    talkFields
      // A checkbox follows a hidden field with the value for "not checked".
      .map((field) => [field, form.getAll(field).at(-1)] as const)
      .filter(
        ([field, text]) =>
          text !== undefined && plain(field, text) !== plain(field, toText(field, base[field])),
      )
      .map(([field, text]) => [field, toValue(field, plain(field, text as string))]),
  )
}

/** Returns a text as browsers send it: line breaks as \n, and none at the start of a text area. */
function plain(field: TalkField, text: string): string {
  const kind: Kind = fieldKinds[field]
  const lines = text.replaceAll(/\r\n?/g, '\n')
  if (kind === 'names')
    return lines
      .split('\n')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .join('\n')
  return kind === 'text' ? lines.replace(/^\n/, '') : lines.replaceAll('\n', '').trim()
}

function toValue(field: TalkField, text: string): unknown {
  const kind: Kind = fieldKinds[field]
  if (kind === 'flag') return text === '1'
  if (kind === 'names') return text === '' ? [] : text.split('\n')
  if (kind === 'text' || ['title', 'category', 'language'].includes(field)) return text
  if (text === '') return null
  if (kind === 'duration') return parseDuration(text) ?? text
  return kind === 'number' && /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** Parses 1:02:03, 62:03, 3723 or 1h2m3s to seconds. */
export function parseDuration(text: string): number | undefined {
  const [, hours = '0', minutes, seconds] =
    /^(?:(\d{1,3}):)?(\d{1,4}):([0-5]\d)$/.exec(text.trim()) ?? []
  if (minutes !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return /^(?=\d)(\d{1,3}h)?(\d{1,4}m)?(\d{1,6}s?)?$/i.test(text) ? parseTimecode(text) : undefined
}

/** Returns the labels of the fields of media files. */
export function mediaNames(
  url: string,
  file: string,
  length: string,
  downloadOnly: string,
): Record<string, string> {
  return Object.fromEntries(
    mediaFormats.flatMap((format) => {
      const name = `${format.toUpperCase()} ${file}`.trim()
      return [
        [`video_${format}_url`, `${url} ${name}`],
        [`video_${format}_length`, `${length} ${name}`],
        [`video_${format}_download_only`, `${name} ${downloadOnly}`],
      ]
    }),
  )
}
