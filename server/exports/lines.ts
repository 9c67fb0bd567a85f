import {
  type ExportedEntity,
  type ExportedVideo,
  type Fact,
  type Video,
  videoFields,
} from '@talkshelf/contract'
import { publicFacts } from '../facts/facts.ts'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { toJson } from '../platform/http/json.ts'
import { csvHeader, csvLine } from './csv.ts'
import {
  type ExportedKind,
  type ExportScope,
  exportedKinds,
  listExportedEntities,
  listExportedVideos,
  readSnapshotTime,
  type VideoRow,
} from './queries.ts'

// The archive as text, line by line, out of one snapshot: as it was at one moment, whoever writes
// meanwhile. Memory has some records at a time.

const batchSize = 200

export interface ExportOptions extends ExportScope {
  /** Only records with a higher id. */
  readonly after?: number | undefined
  /** Only records up to this id. */
  readonly upTo?: number | undefined
}

/**
 * The lines of contract/exports.ts. Whoever asks for a part of the records gets all entities
 * nevertheless: it can be read by itself.
 */
export async function* exportNdjson(db: Snapshot, options: ExportOptions): AsyncGenerator<string> {
  const { after, upTo } = options
  const at = await readSnapshotTime(db)
  yield lineOf({
    kind: 'talkshelf',
    version: 1,
    at,
    ...(after !== undefined && { after }),
    ...(upTo !== undefined && { up_to: upTo }),
  })
  for (const kind of exportedKinds)
    for await (const entity of exportedEntities(db, kind, options)) yield lineOf(entity)
  let videos = 0
  for await (const video of videosOf(db, options)) {
    videos++
    yield lineOf(exported(video, options))
  }
  yield lineOf({ kind: 'end', videos })
}

/** A table for spreadsheets. It can't say that a record was taken down, so it has none of those. */
export async function* exportCsv(
  db: Snapshot,
  options: Omit<ExportOptions, 'takenDown'>,
): AsyncGenerator<string> {
  yield csvHeader()
  for await (const row of videosOf(db, { ...options, takenDown: false }))
    yield csvLine(recordOf(row), row.facts ?? [])
}

export interface ExportedTalk {
  readonly record: Video
  readonly facts: readonly Fact[]
}

/** Records for other formats. */
export async function* exportedTalks(
  db: Snapshot,
  options: ExportOptions,
): AsyncGenerator<ExportedTalk> {
  for await (const row of videosOf(db, options))
    yield { record: recordOf(row), facts: row.facts ?? [] }
}

export async function* exportedEntities(
  db: Snapshot,
  kind: ExportedKind,
  extent: ExportScope,
): AsyncGenerator<ExportedEntity> {
  for (let after = 0; ; ) {
    const rows = await listExportedEntities(db, kind, after, extent, batchSize)
    for (const { about, retired_slugs, ...named } of rows)
      yield {
        kind,
        ...named,
        ...(retired_slugs.length > 0 && { retired_slugs }),
        ...about,
      } as ExportedEntity
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchSize) return
    after = last.id
  }
}

async function* videosOf(db: Snapshot, options: ExportOptions): AsyncGenerator<VideoRow> {
  for (let after = options.after ?? 0; ; ) {
    const rows = await listExportedVideos(
      db,
      after,
      options.upTo ?? Number.MAX_SAFE_INTEGER,
      options,
      batchSize,
    )
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchSize) return
    after = last.id
  }
}

function exported(row: VideoRow, { drafts: isForEditors }: ExportScope): ExportedVideo {
  const { revision, taken_down: day, takedown_reason: reason } = row
  const facts = isForEditors ? (row.facts ?? []) : publicFacts(row.facts ?? [])
  return {
    kind: 'video',
    revision,
    record: recordOf(row),
    ...(facts.length > 0 && { facts }),
    ...(day !== null && reason !== null && { taken_down: { day, reason } }),
  }
}

function recordOf(row: VideoRow): Video {
  // Two that are being merged have one name.
  const video = { ...row, speakers: [...new Set(row.speakers)], tags: [...new Set(row.tags)] }
  return Object.fromEntries(videoFields.map((field) => [field, video[field]])) as Video
}

const lineOf = (it: object) => `${toJson(it)}\n`
