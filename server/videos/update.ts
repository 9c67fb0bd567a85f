import {
  type FieldError,
  invalidFields,
  type Video,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import {
  assertBeforeDeadline,
  checkPrecondition,
  type Deadline,
  retryOnConflict,
  type WriteContext,
} from '../changes/changes.ts'
import {
  createMissingEntities,
  type NamedEntity,
  type ResolvedNames,
  resolveNames,
  uniqueById,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  type AddedEntities,
  type BodyRow,
  type ChangedEntityIds,
  findEntityIds,
  lockAddedEntities,
  lockVideo,
  type NewVersion,
  updateVideo,
} from './queries.ts'
import { readCurrent } from './read.ts'
import { changedFields, pick, renderVideo, timestampAfter } from './wire.ts'

/** A record as it is served. */
export interface RenderedVideo {
  readonly body: string
  readonly tag: string
}

/**
 * Changes a record. `next` makes the new version out of the current one, and may be called twice:
 * the first try takes no lock, and writes only if the record is still what it read. Where that
 * fails, or a new speaker or tag has to be made as well, a transaction does it, with the record
 * locked.
 */
export async function changeVideo(
  pool: Pool,
  id: number,
  context: WriteContext,
  next: NextVersion,
  kind: 'updated' | 'restored' = 'updated',
): Promise<RenderedVideo> {
  return (
    (await attempt(
      pool,
      await readCurrent(pool.lookups, id),
      context,
      next,
      kind,
      failOnMissingNames,
    )) ??
    (await pool.transaction(async (tx) => {
      // Names and entities first, and then the record: everybody takes them in this order, and
      // nobody waits for each other.
      await hold(tx, await readCurrent(tx, id), next, context)
      await lockVideo(tx, id)
      const row = await readCurrent(tx, id)
      // The record can't move any more, but somebody may rename what it shall show, now and again.
      const complete: CompleteNames = (names, found) =>
        createMissingNames(tx, names, found, context)
      return retryOnConflict(context, () => attempt(tx, row, context, next, kind, complete))
    }))
  )
}

export type NextVersion = (before: Video) => Video

async function attempt(
  db: Db,
  row: BodyRow,
  context: WriteContext,
  next: NextVersion,
  kind: 'updated' | 'restored',
  complete: CompleteNames,
): Promise<RenderedVideo | undefined> {
  const verdict = await checkPrecondition(db, 'video', row, context)
  if (verdict !== 'proceed') return verdict === 'repeated' ? row : undefined

  const before = JSON.parse(row.body) as Video
  const wanted = next(before)
  const named = await withNames(db, before, wanted, complete)
  return named && writeVersion(db, row, before, named, kind, context)
}

// All that is named, also what the record has already: what it has may be another by the time it is
// locked. What it shows under a name that leads nowhere is not made anew.
async function hold(tx: Db, row: BodyRow, next: NextVersion, deadline: Deadline): Promise<void> {
  const before = JSON.parse(row.body) as Video
  const wanted = next(before)
  const differs = (field: 'category' | 'speakers' | 'tags') =>
    JSON.stringify(before[field]) !== JSON.stringify(wanted[field])
  const resolved = await resolveNames(tx, {
    category: differs('category') ? wanted.category : undefined,
    speakers: differs('speakers') ? wanted.speakers : [],
    tags: differs('tags') ? wanted.tags : [],
  })
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const known = (field: 'speakers' | 'tags') =>
    resolved.found[field].flatMap((entity, index) => {
      const name = wanted[field][index] as string
      return entity || !before[field].includes(name) ? [{ name, entity: entity }] : []
    })
  const [speakers, tags] = [known('speakers'), known('tags')]
  const names = { speakers: speakers.map(({ name }) => name), tags: tags.map(({ name }) => name) }
  const found = {
    ...resolved.found,
    speakers: speakers.map(({ entity }) => entity),
    tags: tags.map(({ entity }) => entity),
  }
  const lists = await createMissingNames(tx, names, found, deadline)
  await lockAddedEntities(tx, addedEntities(found.category, lists.speakers, lists.tags))
}

/** Undefined where somebody was faster; the version that is there where nothing changed. */
export async function writeVersion(
  db: Db,
  row: BodyRow,
  before: Video,
  { after, ids, added }: NamedVersion,
  kind: 'updated' | 'restored',
  context: WriteContext,
): Promise<RenderedVideo | undefined> {
  const changed = changedFields(before, after)
  if (changed.length === 0) return row
  const video = { ...after, updated: timestampAfter(before.updated) }
  const version = newVersion(video, row.revision + 1, ids, added, {
    subject: 'video',
    kind,
    before: pick(before, changed),
    after: pick(after, changed),
    ids,
    at: `${video.updated}Z`,
    origin: context.origin,
    requestHash: context.hash,
  })
  assertBeforeDeadline(context)
  return (await updateVideo(db, version)) ? version : undefined
}

export function newVersion(
  video: Video,
  revision: number,
  ids: ChangedEntityIds,
  added: AddedEntities,
  change: NewVersion['change'],
): NewVersion {
  return { video, revision, ids, added, change, ...renderVideo(video, revision) }
}

/** A version with the names that its entities have, and the ids of those that changed. */
export interface NamedVersion {
  readonly after: Video
  readonly ids: ChangedEntityIds
  readonly added: AddedEntities
}

/**
 * Finds or makes new speakers and tags; undefined where some are missing and must not be made here.
 */
export type CompleteNames = (
  names: NewNames,
  found: ResolvedNames,
) => Promise<{ speakers: readonly NamedEntity[]; tags: readonly NamedEntity[] } | undefined>

interface NewNames {
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

export const failOnMissingNames: CompleteNames = async (_, { speakers, tags }) => {
  const isThere = (it: NamedEntity | null) => it !== null
  return speakers.every(isThere) && tags.every(isThere) ? { speakers, tags } : undefined
}

export const createMissingNames = async (
  tx: Db,
  names: NewNames,
  found: ResolvedNames,
  deadline: Deadline,
) => ({
  speakers: await createMissingEntities(tx, 'speaker', names.speakers, found.speakers, deadline),
  tags: await createMissingEntities(tx, 'tag', names.tags, found.tags, deadline),
})

// Only names that changed are looked up; the others stay what they are, also while somebody renames
// the entity behind them: the new name reaches this record by itself. What is looked up is shown by
// its own name, whichever of its names was given, and once.
async function withNames(
  db: Db,
  before: Video,
  wanted: Video,
  complete: CompleteNames,
): Promise<NamedVersion | undefined> {
  const differs = (field: 'category' | 'language' | 'speakers' | 'tags') =>
    JSON.stringify(before[field]) !== JSON.stringify(wanted[field])
  if (!differs('category') && !differs('language') && !differs('speakers') && !differs('tags'))
    return { after: wanted, ids: noIds, added: noAdditions }
  const names = {
    speakers: wanted.speakers.filter((name) => !before.speakers.includes(name)),
    tags: wanted.tags.filter((name) => !before.tags.includes(name)),
  }
  const resolved = await resolveNames(db, {
    category: differs('category') ? wanted.category : undefined,
    language: differs('language') ? wanted.language : undefined,
    ...names,
  })
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const { category, language } = resolved.found
  const lists = await complete(names, resolved.found)
  if (!lists) return undefined

  const kept =
    differs('speakers') || differs('tags') ? await findEntityIds(db, before.id) : undefined
  const listOf = (field: 'speakers' | 'tags', ids: readonly number[] = []) =>
    uniqueById(
      wanted[field].map((name) => {
        const id = ids[before[field].indexOf(name)]
        return id === undefined
          ? (lists[field][names[field].indexOf(name)] as NamedEntity)
          : { id, name }
      }),
    )
  const speakers = differs('speakers') ? listOf('speakers', kept?.speaker_ids) : undefined
  const tags = differs('tags') ? listOf('tags', kept?.tag_ids) : undefined
  return {
    after: {
      ...wanted,
      category: category?.name ?? wanted.category,
      language: language?.name ?? wanted.language,
      speakers: speakers?.map(({ name }) => name) ?? wanted.speakers,
      tags: tags?.map(({ name }) => name) ?? wanted.tags,
    },
    ids: {
      category: category?.id,
      language: language?.id,
      speakers: speakers?.map(({ id }) => id),
      tags: tags?.map(({ id }) => id),
    },
    added: addedEntities(category, lists.speakers, lists.tags),
  }
}

/** Each once, also where two names led to it. */
export function addedEntities(
  category: NamedEntity | null,
  speakers: readonly NamedEntity[],
  tags: readonly NamedEntity[],
): AddedEntities {
  return {
    category: category ? [category] : [],
    speakers: uniqueById(speakers),
    tags: uniqueById(tags),
  }
}

const noIds: ChangedEntityIds = {
  category: undefined,
  language: undefined,
  speakers: undefined,
  tags: undefined,
}
export const noAdditions: AddedEntities = { category: [], speakers: [], tags: [] }

/**
 * Everything that is wrong with the fields that were sent, known and unknown to the database alike.
 */
export async function videoFieldErrors(
  db: Db,
  schema: Parameters<typeof validationErrors>[0],
  sent: Record<string, unknown>,
): Promise<FieldError[]> {
  const errors = validationErrors(schema, sent)
  if (errors.length === 0) return []
  // One answer names every wrong field, so the names are looked up although the body is refused
  // already.
  const text = (field: 'category' | 'language') =>
    validationErrors(VideoPatch, { [field]: sent[field] }).length === 0
      ? (sent[field] as string)
      : undefined
  const found = await resolveNames(db, {
    category: text('category'),
    language: text('language'),
    speakers: [],
    tags: [],
  })
  return 'errors' in found ? [...errors, ...found.errors] : errors
}
