import {
  type ExportedEntity,
  type ExportedVideo,
  type Fact,
  type FeedVideo,
  type Video,
  videoFields,
} from '@talkshelf/contract'
import { fullProfile, storedProfile } from '../entities/entities.ts'
import { publicFacts } from '../facts/facts.ts'
import type { Db } from '../platform/db/db.ts'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { toJson } from '../platform/http/json.ts'
import { csvHeader, csvLine } from './csv.ts'
import {
  type EntityRow,
  type ExportedKind,
  type ExportScope,
  exportedKinds,
  type LiveVideo,
  listExportedEntities,
  listExportedVideos,
  listLiveVideos,
  readSnapshotTime,
  type VideoRow,
} from './queries.ts'

// The archive as lines of text, from one consistent snapshot. Only one batch of records is in
// memory.

const batchSize = 200

export interface ExportOptions extends ExportScope {
  /** Only records with a higher id. */
  readonly after?: number | undefined
  /** Only records up to this id. */
  readonly upTo?: number | undefined
  /** SPDX identifier or URL of the licence of the data. */
  readonly license?: string | undefined
}

/**
 * Yields the lines of contract/exports.ts. A range of the records still comes with all entities, so
 * that it can be imported by itself.
 */
export async function* exportNdjson(db: Snapshot, options: ExportOptions): AsyncGenerator<string> {
  const { after, upTo, license } = options
  const at = await readSnapshotTime(db)
  yield jsonLine({
    kind: 'talkshelf',
    version: 1,
    at,
    ...(after !== undefined && { after }),
    ...(upTo !== undefined && { up_to: upTo }),
    ...(license !== undefined && { license }),
  })
  for (const kind of exportedKinds)
    for await (const entity of exportedEntities(db, kind, options)) yield jsonLine(entity)
  let videos = 0
  for await (const row of exportedRows(db, options)) {
    videos++
    yield jsonLine(exportedVideo(row, options))
  }
  yield jsonLine({ kind: 'end', videos })
}

/** Yields CSV for spreadsheets, without records that were taken down: it has no column for that. */
export async function* exportCsv(
  db: Snapshot,
  options: Omit<ExportOptions, 'takenDown'>,
): AsyncGenerator<string> {
  yield csvHeader()
  // A table has no column for it, and an import of the table would leave the row alone.
  for await (const row of exportedRows(db, { ...options, takenDown: false }))
    if (row.merged_into === null) yield csvLine(recordOf(row), row.facts ?? [])
}

export interface ExportedTalk {
  readonly record: Video
  readonly facts: readonly Fact[]
}

/** Yields records with their facts, for other formats. */
export async function* exportedTalks(
  db: Snapshot,
  options: ExportOptions,
): AsyncGenerator<ExportedTalk> {
  for await (const row of exportedRows(db, options))
    yield { record: recordOf(row), facts: row.facts ?? [] }
}

/** Yields the entities of a kind, as they are in an export. */
export async function* exportedEntities(
  db: Snapshot,
  kind: ExportedKind,
  scope: ExportScope,
): AsyncGenerator<ExportedEntity> {
  for (let after = 0; ; ) {
    const rows = await listExportedEntities(db, kind, after, scope, batchSize)
    for (const row of rows) yield exportedEntity(kind, row)
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchSize) return
    after = last.id
  }
}

/** Reads records or entities of a kind as they are in the public export, those that are public. */
export async function readExported(
  db: Db,
  kind: ExportedKind | 'video',
  ids: readonly number[],
): Promise<(FeedVideo | ExportedEntity)[]> {
  if (kind === 'video') return (await listLiveVideos(db, ids)).map(feedVideo)
  const scope = { drafts: false, takenDown: false, ids }
  const rows = await listExportedEntities(db, kind, 0, scope, ids.length)
  return rows.map((row) => exportedEntity(kind, row))
}

async function* exportedRows(db: Snapshot, options: ExportOptions): AsyncGenerator<VideoRow> {
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

function exportedEntity(kind: ExportedKind, row: EntityRow): ExportedEntity {
  const { about, profile, retired_slugs, ...entity } = row
  return {
    kind,
    ...entity,
    ...(retired_slugs.length > 0 && { retired_slugs }),
    ...about,
    ...storedProfile(fullProfile(kind, profile)),
  } as ExportedEntity
}

function exportedVideo(row: VideoRow, { drafts: isForEditors }: ExportScope): ExportedVideo {
  const { revision, taken_down: day, takedown_reason: reason, merged_into } = row
  const facts = isForEditors ? (row.facts ?? []) : publicFacts(row.facts ?? [])
  return {
    kind: 'video',
    revision,
    record: recordOf(row),
    ...(facts.length > 0 && { facts }),
    ...(day !== null && reason !== null && { taken_down: { day, reason } }),
    ...(merged_into !== null && { merged_into }),
  }
}

function feedVideo({ revision, body, facts: all, ids }: LiveVideo): FeedVideo {
  const facts = publicFacts(all ?? [])
  return {
    kind: 'video',
    revision,
    record: JSON.parse(body) as Video,
    ...(facts.length > 0 && { facts }),
    // Two entities that were merged are one.
    ids: {
      category: ids.category,
      speakers: [...new Set(ids.speakers)],
      tags: [...new Set(ids.tags)],
    },
  }
}

function recordOf(row: VideoRow): Video {
  // While two entities are being merged both have the same name.
  const video = { ...row, speakers: [...new Set(row.speakers)], tags: [...new Set(row.tags)] }
  return Object.fromEntries(videoFields.map((field) => [field, video[field]])) as Video
}

const jsonLine = (value: object) => `${toJson(value)}\n`
