import { randomBytes } from 'node:crypto'
import { type FeedVideo, states, type Video, videoDefaults } from '@talkshelf/contract'
import { type ChangeKind, deleteChanges, type WriteContext } from '../changes/changes.ts'
import { lookUpNames } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import {
  clearMergedInto,
  findReferences,
  insertVideos,
  type NewVideoRow,
  releaseSlugs,
} from './queries.ts'
import { formatTimestamp, renderVideo } from './wire.ts'

// Writes records of another archive, for a mirror: the copy has the same ids, revisions, bodies and
// etags, and keeps nothing of earlier versions.

/** Writes live records as they are in the other archive. Their categories must have rows. */
export async function copyVideos(
  tx: Db,
  videos: readonly FeedVideo[],
  context: WriteContext,
): Promise<void> {
  const languages = videos.map(({ record }) => record.language)
  const lookup = await lookUpNames(tx, {
    category: [],
    language: [...new Set(languages)],
    speaker: [],
    tag: [],
  })
  const rows = videos.map(({ record, revision, ids }): NewVideoRow => {
    const language = lookup.language.get(record.language)
    if (!language) throw new Error(`The language ${record.language} is unknown`)
    return {
      id: record.id,
      revision,
      video: record,
      ids: { ...ids, language: language.id },
      takenDown: undefined,
      at: new Date().toISOString(),
      ...renderVideo(record, revision),
    }
  })
  await replace(tx, rows, 'created', {}, context)
}

/** A record that is not public any more. */
export interface WithdrawnVideo {
  readonly id: number
  /** What it was merged into. */
  readonly mergedInto?: number | undefined
  readonly takenDown?: { readonly day: string; readonly reason: string } | undefined
}

/**
 * Removes the content of records. One without a row gets one if it redirects or was taken down, so
 * that its URL says so.
 */
export async function withdrawVideos(
  tx: Db,
  withdrawn: readonly WithdrawnVideo[],
  context: WriteContext,
): Promise<void> {
  const targets = new Set(withdrawn.flatMap(({ mergedInto = [] }) => mergedInto))
  const known = await findExisting(tx, [...targets, ...withdrawn.map(idOf)])
  // The row of a target is written later; until then it is an empty draft.
  const missing = [...targets].filter((id) => !known.has(id)).map((id) => ({ id }))
  await writeEmpty(tx, missing, 'created', context)
  const hidden = withdrawn.filter(
    ({ id, mergedInto, takenDown }) => !mergedInto && !takenDown && known.has(id),
  )
  await writeEmpty(tx, hidden, 'updated', context)
  await writeEmpty(
    tx,
    withdrawn.filter(({ takenDown }) => takenDown),
    'taken-down',
    context,
  )
  // A target is not merged itself: no cycle can arise, whatever the other archive sends.
  await clearMergedInto(tx, [...targets])
  const merged = withdrawn.filter(({ mergedInto }) => mergedInto)
  const mergedIds = new Set(merged.map(idOf))
  const [chained, direct] = [true, false].map((isChained) =>
    merged.filter(({ mergedInto = 0 }) => mergedIds.has(mergedInto) === isChained),
  ) as [WithdrawnVideo[], WithdrawnVideo[]]
  await writeEmpty(
    tx,
    chained.map(({ id }) => ({ id })),
    'updated',
    context,
  )
  await writeEmpty(tx, direct, 'merged', context)
}

const idOf = ({ id }: { readonly id: number }) => id

/** Returns which of these records have a row. */
async function findExisting(tx: Db, ids: readonly number[]): Promise<Set<number>> {
  const rows = await findReferences(tx, [...new Set(ids)])
  return new Set(rows.filter(({ isNew }) => !isNew).map(idOf))
}

async function writeEmpty(
  tx: Db,
  withdrawn: readonly WithdrawnVideo[],
  kind: ChangeKind,
  context: WriteContext,
): Promise<void> {
  if (withdrawn.length === 0) return
  const references = new Map(
    (await findReferences(tx, withdrawn.map(idOf))).map((row) => [row.id, row]),
  )
  const rows = withdrawn.flatMap(({ id, mergedInto, takenDown }): NewVideoRow[] => {
    const { revision = 1, category = null, language = 0 } = references.get(id) ?? {}
    // Without any category there is no record either that could refer to it.
    if (category === null) return []
    const video: Video = {
      ...emptyVideo,
      id,
      // Random, because the title of another record may have any slug.
      slug: `withdrawn-${id}-${randomBytes(6).toString('hex')}`,
    }
    return [
      {
        id,
        revision,
        video,
        ids: { category, language, speakers: [], tags: [] },
        takenDown,
        mergedInto,
        at: new Date().toISOString(),
        ...renderVideo(video, revision),
        ...(takenDown && { body: '' }),
      },
    ]
  })
  await replace(tx, rows, kind, { state: states.live }, context)
}

const emptyVideo: Omit<Video, 'id' | 'slug'> = {
  ...videoDefaults,
  speakers: [],
  tags: [],
  state: states.draft,
  title: '',
  category: '',
  language: '',
  added: formatTimestamp(0),
  updated: formatTimestamp(0),
}

async function replace(
  tx: Db,
  rows: readonly NewVideoRow[],
  kind: ChangeKind,
  before: object,
  { origin, hash }: WriteContext,
): Promise<void> {
  if (rows.length === 0) return
  await deleteChanges(tx, 'video', rows.map(idOf))
  await releaseSlugs(
    tx,
    rows.map(({ id, video: { slug } }) => ({ id, slug })),
  )
  await insertVideos(tx, rows, origin, hash, { replaces: true, kind, before })
}
