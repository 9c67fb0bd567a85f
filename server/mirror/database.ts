import { randomUUID } from 'node:crypto'
import { ApiProblem, UnexpectedResponse } from '@talkshelf/client'
import type { ExportedEntity, FeedEntry, FeedVideo } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import {
  copyEntities,
  type EntityKind,
  reserveCategories,
  withdrawEntities,
} from '../entities/entities.ts'
import { copyFacts } from '../facts/facts.ts'
import { type Db, Unavailable, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  copyVideos,
  findVideoIdsOfEntity,
  refreshSearchRows,
  type WithdrawnVideo,
  withdrawVideos,
} from '../videos/videos.ts'
import {
  type ArchiveCopy,
  CopyError,
  digestText,
  hashOf,
  keyOf,
  newestOf,
  thinCursors,
} from './copy.ts'
import {
  allowChanges,
  findMirror,
  insertMirror,
  isEmpty,
  listMirrored,
  listMirroredAfter,
  lockMirror,
  replaceWriter,
  saveCursor,
  saveMirrored,
} from './queries.ts'

// A copy of an archive in a database of Talkshelf, which a server can serve. Each page of the feed
// is one transaction.

export interface MirrorDatabaseOptions {
  readonly source: string
  /** Reads from the source when and why a record was taken down. */
  readTakedown(id: number): Promise<WithdrawnVideo['takenDown']>
}

const entityKinds = ['category', 'speaker', 'tag'] as const
/** Errors that say themselves what is wrong. */
const knownErrors = [
  CopyError,
  Unavailable,
  UniqueViolation,
  ApiProblem,
  UnexpectedResponse,
  TypeError,
]
/** Records whose search rows are rebuilt by one statement. */
const refreshedAtOnce = 200

/** Opens the mirror of a database, or makes an empty database a mirror. */
export async function openMirrorDatabase(
  pool: Pool,
  { source, readTakedown }: MirrorDatabaseOptions,
): Promise<ArchiveCopy> {
  let mirror = await findMirror(pool)
  if (mirror && mirror.source !== source)
    throw new CopyError(
      `The database is a copy of ${mirror.source}. Choose another one for ${source}.`,
    )
  if (!mirror) {
    mirror = await pool.transaction(async (tx) => {
      if (!(await isEmpty(tx)))
        throw new CopyError('The database is not empty. Choose one without talks for a mirror.')
      await insertMirror(tx, source)
      return findMirror(tx)
    })
  }
  if (!mirror) throw new Error('The mirror was not saved')
  const writer = randomUUID()
  await replaceWriter(pool, writer)
  let { cursor, earlier_cursors: earlier, digest, size } = mirror
  const actor = { role: 'admin', name: new URL(source).host, token: null } as const
  const context: WriteContext = {
    origin: { actor, via: 'command', request: 'mirror' },
    ifMatch: undefined,
    hash: Buffer.alloc(0),
  }

  /** Writes entries as `saveAll`. An error that is not temporary names the entries. */
  async function save(...[entries, finish]: Parameters<typeof saveAll>): Promise<void> {
    try {
      await saveAll(entries, finish)
    } catch (error) {
      const isKnown = knownErrors.some((known) => error instanceof known)
      if (isKnown || !(error instanceof Error)) throw error
      const numbers = entries.map(({ seq }) => seq)
      throw new CopyError(
        `Entries ${Math.min(...numbers)} to ${Math.max(...numbers)} of the feed of ${source} ` +
          `cannot be stored: ${error.message}`,
        { cause: error },
      )
    }
  }

  /** Writes entries, and runs further steps in the same transaction. */
  async function saveAll(
    entries: readonly FeedEntry[],
    finish: (tx: Db) => Promise<unknown> = async () => {},
  ): Promise<void> {
    const newest = newestOf(entries)
    // Outside of the transaction, which must not wait for the source.
    const takedowns = new Map<number, WithdrawnVideo['takenDown']>()
    for (const { kind, id, state } of newest)
      if (kind === 'video' && state === 'taken-down') takedowns.set(id, await readTakedown(id))
    await pool.transaction(async (tx) => {
      if ((await lockMirror(tx)) !== writer)
        throw new CopyError(
          'Another process has begun to copy into this database, so this one ends.',
        )
      await allowChanges(tx)
      for (const kind of entityKinds) await writeEntities(tx, kind, newest, context)
      await writeVideos(tx, newest, takedowns, context)
      await saveMirrored(
        tx,
        newest.map((entry) => ({
          kind: entry.kind,
          id: entry.id,
          seq: entry.seq,
          hash: digestText(hashOf(entry)),
        })),
      )
      await finish(tx)
    })
    const saved = await findMirror(pool)
    if (!saved) throw new CopyError('The mirror was removed from the database.')
    ;({ cursor, earlier_cursors: earlier, digest, size } = saved)
  }

  return {
    get cursor() {
      return cursor ?? undefined
    },
    get earlierCursors() {
      return earlier
    },
    apply: (page) =>
      save(page.results, (tx) =>
        saveCursor(tx, page.cursor, thinCursors([...earlier, ...(cursor ? [cursor] : [])])),
      ),
    write: (entries) => save(entries),
    setPosition: (to) =>
      save([], (tx) => saveCursor(tx, to, earlier.slice(0, Math.max(0, earlier.indexOf(to))))),
    async removeOthers(kept) {
      const others = (await listMirrored(pool)).filter((subject) => !kept.has(keyOf(subject)))
      for (let from = 0; from < others.length; from += refreshedAtOnce)
        await save(others.slice(from, from + refreshedAtOnce).map(hiddenEntry))
    },
    listAfter: (seq) => listMirroredAfter(pool, seq),
    isExact: () => cursor?.split('.')[1] === digest,
    size: () => size,
    close: async () => {},
  }
}

/** Returns an entry for what is not in the feed. */
export const hiddenEntry = ({ kind, id }: Pick<FeedEntry, 'kind' | 'id'>): FeedEntry => ({
  seq: 1,
  at: '',
  kind,
  id,
  state: 'hidden',
})

async function writeEntities(
  tx: Db,
  kind: EntityKind,
  entries: readonly FeedEntry[],
  context: WriteContext,
): Promise<void> {
  const ofKind = entries.filter((entry) => entry.kind === kind)
  const live = ofKind.flatMap(({ record }) =>
    record && record.kind === kind ? (record as ExportedEntity) : [],
  )
  // Also those that were live, and are not public any more.
  const withdrawn = ofKind.filter(({ record }) => !record)
  if (withdrawn.length > 0)
    await withdrawEntities(
      tx,
      kind,
      withdrawn.map(({ id, merged_into }) => ({ id, mergedInto: merged_into })),
    )
  if (live.length === 0) return
  const renamed = await copyEntities(tx, kind, live, context)
  for (const id of renamed) await refreshSearch(tx, kind, id)
}

/** Rebuilds the search rows of the records of an entity: they contain its name. */
async function refreshSearch(tx: Db, kind: EntityKind, entityId: number): Promise<void> {
  for (let after = 0; ; ) {
    const ids = await findVideoIdsOfEntity(tx, kind, entityId, after, refreshedAtOnce)
    if (ids.length > 0) await refreshSearchRows(tx, ids)
    if (ids.length < refreshedAtOnce) return
    after = ids.at(-1) as number
  }
}

async function writeVideos(
  tx: Db,
  entries: readonly FeedEntry[],
  takedowns: ReadonlyMap<number, WithdrawnVideo['takenDown']>,
  context: WriteContext,
): Promise<void> {
  const ofKind = entries.filter(({ kind }) => kind === 'video')
  const live = ofKind.flatMap(({ record }) =>
    record?.kind === 'video' ? (record as FeedVideo) : [],
  )
  const withdrawn = ofKind
    .filter(({ record }) => !record)
    .map(({ id, merged_into }) => ({
      id,
      mergedInto: merged_into,
      takenDown: takedowns.get(id),
    }))
  if (live.length > 0) {
    await reserveCategories(tx, [...new Set(live.map(({ ids }) => ids.category))])
    await copyVideos(tx, live, context)
  }
  if (withdrawn.length > 0) await withdrawVideos(tx, withdrawn, context)
  await copyFacts(
    tx,
    [
      ...live.map(({ record, facts = [] }) => ({ id: record.id, facts })),
      ...withdrawn.map(({ id }) => ({ id, facts: [] })),
    ],
    context,
  )
}
