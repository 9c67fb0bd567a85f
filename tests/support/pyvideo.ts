import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { VideoInput } from '@talkshelf/contract'

// 21,713 real talks. They are not part of the project: tests that need them are skipped if the file
// is missing.

export interface PyvideoTalk {
  readonly event: string
  readonly category_title: string
  readonly file: string
  readonly title: string
  readonly summary?: string
  readonly description: string | null
  readonly speakers: readonly string[]
  readonly tags?: readonly string[]
  readonly recorded: string | null
  readonly language?: string | null
  readonly duration?: number | null
  readonly thumbnail_url?: string | null
  readonly copyright_text?: string | null
  readonly videos: readonly { readonly type: string; readonly url: string }[]
}

const file = fileURLToPath(new URL('../../../shared/data/pyvideo.ndjson.gz', import.meta.url))

/** The path of the file, if it exists. */
export const realTalks = existsSync(file) ? file : undefined

/** Reads all talks, if the file exists. */
export function readTalks(): PyvideoTalk[] | undefined {
  if (!realTalks) return undefined
  const lines = gunzipSync(readFileSync(realTalks)).toString().trim().split('\n')
  return lines.map((line) => JSON.parse(line) as PyvideoTalk)
}

/** Converts a talk to a record, as an import does. */
export function inputOf(talk: PyvideoTalk): VideoInput {
  const names = (list: readonly string[] = []) =>
    [...new Set(list.map(normalize))].filter((name) => name !== '').slice(0, 100)
  const validUrl = (url: string | null | undefined) =>
    url && /^https?:\/\/[^\s]+$/.test(url) ? url : null
  return {
    title: normalize(talk.title),
    category: normalize(talk.category_title),
    language: languageOf(talk),
    speakers: names(talk.speakers),
    tags: names(talk.tags),
    summary: text(talk.summary),
    description: text(talk.description),
    copyright_text: text(talk.copyright_text),
    recorded: talk.recorded?.slice(0, 10) ?? null,
    duration: typeof talk.duration === 'number' ? Math.round(talk.duration) : null,
    thumbnail_url: validUrl(talk.thumbnail_url),
    source_url: validUrl(talk.videos[0]?.url),
    state: 1,
  }
}

/** Converts the three-letter code of the data, which some talks do not have. */
function languageOf({ language }: PyvideoTalk): string {
  return language ? (Intl.getCanonicalLocales(language)[0] ?? 'en') : 'en'
}

const normalize = (name: string) =>
  text(name).normalize('NFC').replaceAll(/\s+/g, ' ').trim().slice(0, 255)
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
const text = (value: string | null | undefined) => (value ?? '').replaceAll(controlCharacters, ' ')
