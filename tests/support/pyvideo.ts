import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { VideoInput } from '@talkshelf/contract'

// 21,713 real talks. They are not part of the project: what needs them is left out where they are
// not at hand.

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
export const realTalks = existsSync(file) ? file : undefined

export function readTalks(): PyvideoTalk[] | undefined {
  if (!realTalks) return undefined
  const lines = gunzipSync(readFileSync(realTalks)).toString().trim().split('\n')
  return lines.map((line) => JSON.parse(line) as PyvideoTalk)
}

/** As an importer would read it. */
export function inputOf(talk: PyvideoTalk): VideoInput {
  const names = (list: readonly string[] = []) =>
    [...new Set(list.map(tidy))].filter((name) => name !== '').slice(0, 100)
  const address = (url: string | null | undefined) =>
    url && /^https?:\/\/[^\s]+$/.test(url) ? url : null
  return {
    title: tidy(talk.title),
    category: tidy(talk.category_title),
    language: languageOf(talk),
    speakers: names(talk.speakers),
    tags: names(talk.tags),
    summary: text(talk.summary),
    description: text(talk.description),
    copyright_text: text(talk.copyright_text),
    recorded: talk.recorded?.slice(0, 10) ?? null,
    duration: typeof talk.duration === 'number' ? Math.round(talk.duration) : null,
    thumbnail_url: address(talk.thumbnail_url),
    source_url: address(talk.videos[0]?.url),
    state: 1,
  }
}

/** Three letters in the data; two of them are not said for all. */
function languageOf({ language }: PyvideoTalk): string {
  return language ? (Intl.getCanonicalLocales(language)[0] ?? 'en') : 'en'
}

const tidy = (name: string) =>
  text(name).normalize('NFC').replaceAll(/\s+/g, ' ').trim().slice(0, 255)
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to go
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
const text = (it: string | null | undefined) => (it ?? '').replaceAll(controlCharacters, ' ')
