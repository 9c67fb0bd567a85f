import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

// Real events with their pairs, to measure the matcher. They are not part of the project: runs that
// need them are skipped if the files are missing.

export interface GoldEvent {
  readonly event: string
  readonly name: string
  readonly talks: readonly GoldTalk[]
  readonly recordings: readonly GoldRecording[]
  readonly pairs: readonly { readonly talk: string; readonly recording: string }[]
  readonly recordings_without_talk?: readonly string[]
}

interface GoldTalk {
  readonly id: string
  readonly title: string
  readonly speakers?: readonly string[]
  readonly start?: string
  readonly room?: string
  readonly minutes?: number
}

interface GoldRecording {
  readonly id: string
  readonly title: string
  readonly duration?: number
}

/** A recording that holds several talks. */
export interface GoldParts {
  readonly event: string
  readonly recording: { readonly id: string; readonly title: string }
  readonly talks: readonly {
    readonly id: string
    readonly title: string
    readonly speakers: readonly string[]
    readonly start: string | null
    readonly end: string | null
  }[]
}

const folder = fileURLToPath(new URL('../../../shared/data/matcher/', import.meta.url))

/** Whether the files exist. */
export const hasGold = existsSync(`${folder}independent.ndjson`)

function readLines<T>(file: string): T[] {
  const bytes = readFileSync(folder + file)
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
}

/** Events whose schedule was published apart from the recordings: they are only measured. */
export const readIndependent = () => readLines<GoldEvent>('independent.ndjson')

/** Events whose titles were made from those of the recordings: limits are fitted on them. */
export const readCurated = () => readLines<GoldEvent>('curated.ndjson.gz')

export const readParts = () => readLines<GoldParts>('parts.ndjson')
