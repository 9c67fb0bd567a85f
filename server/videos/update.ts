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

// Writes new versions of records.

/** The body of a record and its etag. */
export interface RenderedVideo {
  readonly body: string
  readonly etag: string
}

/**
 * Changes a record. `next` derives the new version from the current one and may be called several
 * times. The first attempt takes no lock and writes only if the record is unchanged since it was
 * read. If that fails, or a speaker or tag has to be created, a transaction locks the record.
 */
export async function changeVideo(
  pool: Pool,
  id: number,
  context: WriteContext,
  next: NextVersion,
  kind: 'updated' | 'restored' = 'updated',
): Promise<RenderedVideo> {
  const unlocked = await readCurrent(pool.lookups, id)
  const version = await tryWrite(pool, unlocked, context, next, kind, failOnMissingNames)
  if (version) return version
  return pool.transaction(async (tx) => {
    // All writers lock names and entities first and the record then, so they cannot deadlock.
    await lockRequestedNames(tx, await readCurrent(tx, id), next, context)
    await lockVideo(tx, id)
    const row = await readCurrent(tx, id)
    // The record is locked, but its new entities can still be renamed concurrently.
    const complete: CompleteNames = (names, found) => createMissingNames(tx, names, found, context)
    return retryOnConflict(context, () => tryWrite(tx, row, context, next, kind, complete))
  })
}

export type NextVersion = (before: Video) => Video

/** Writes a version. Returns undefined if the record or a name changed, or a name is missing. */
async function tryWrite(
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
  const named = await resolveChangedNames(db, before, next(before), complete)
  return named && writeVersion(db, row, before, named, kind, context)
}

/**
 * Creates and locks the entities in the fields that change, also those that the record already has:
 * it may lose them before it is locked. A name of the record that no longer resolves is skipped and
 * not created again.
 */
async function lockRequestedNames(
  tx: Db,
  row: BodyRow,
  next: NextVersion,
  deadline: Deadline,
): Promise<void> {
  const before = JSON.parse(row.body) as Video
  const requested = next(before)
  const differs = (field: 'category' | 'speakers' | 'tags') =>
    JSON.stringify(before[field]) !== JSON.stringify(requested[field])
  const resolved = await resolveNames(tx, {
    category: differs('category') ? requested.category : undefined,
    speakers: differs('speakers') ? requested.speakers : [],
    tags: differs('tags') ? requested.tags : [],
  })
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const foundOrNew = (field: 'speakers' | 'tags') =>
    resolved.found[field].flatMap((entity, index) => {
      const name = requested[field][index] as string
      return entity || !before[field].includes(name) ? [{ name, entity }] : []
    })
  const [speakers, tags] = [foundOrNew('speakers'), foundOrNew('tags')]
  const names = { speakers: speakers.map(({ name }) => name), tags: tags.map(({ name }) => name) }
  const found = {
    ...resolved.found,
    speakers: speakers.map(({ entity }) => entity),
    tags: tags.map(({ entity }) => entity),
  }
  const lists = await createMissingNames(tx, names, found, deadline)
  await lockAddedEntities(tx, addedEntities(found.category, lists.speakers, lists.tags))
}

/**
 * Writes a version and returns it. Returns undefined if the record or a name changed concurrently,
 * and the current version if no field changes.
 */
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

/** Returns a version with its rendered body. */
export function newVersion(
  video: Video,
  revision: number,
  ids: ChangedEntityIds,
  added: AddedEntities,
  change: NewVersion['change'],
): NewVersion {
  return { video, revision, ids, added, change, ...renderVideo(video, revision) }
}

/** A version with the current names of its entities, and the ids of the names that changed. */
export interface NamedVersion {
  readonly after: Video
  readonly ids: ChangedEntityIds
  readonly added: AddedEntities
}

/** Returns entities for all names, or undefined if some are missing and must not be created. */
export type CompleteNames = (
  names: NewNames,
  found: ResolvedNames,
) => Promise<{ speakers: readonly NamedEntity[]; tags: readonly NamedEntity[] } | undefined>

interface NewNames {
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

/** Returns undefined if a speaker or tag does not exist. */
export const failOnMissingNames: CompleteNames = async (_, { speakers, tags }) => {
  const exists = (entity: NamedEntity | null) => entity !== null
  return speakers.every(exists) && tags.every(exists) ? { speakers, tags } : undefined
}

/** Creates the speakers and tags that do not exist. */
export const createMissingNames = async (
  tx: Db,
  names: NewNames,
  found: ResolvedNames,
  deadline: Deadline,
) => ({
  speakers: await createMissingEntities(tx, 'speaker', names.speakers, found.speakers, deadline),
  tags: await createMissingEntities(tx, 'tag', names.tags, found.tags, deadline),
})

/**
 * Resolves the names that change. Each entity gets its current name, whichever of its names was
 * sent, and duplicates are removed. Other names stay as they are even if their entity is being
 * renamed, because the rename updates this record itself.
 */
async function resolveChangedNames(
  db: Db,
  before: Video,
  requested: Video,
  complete: CompleteNames,
): Promise<NamedVersion | undefined> {
  const differs = (field: 'category' | 'language' | 'speakers' | 'tags') =>
    JSON.stringify(before[field]) !== JSON.stringify(requested[field])
  if (!differs('category') && !differs('language') && !differs('speakers') && !differs('tags'))
    return { after: requested, ids: noIds, added: noAdditions }
  const names = {
    speakers: requested.speakers.filter((name) => !before.speakers.includes(name)),
    tags: requested.tags.filter((name) => !before.tags.includes(name)),
  }
  const resolved = await resolveNames(db, {
    category: differs('category') ? requested.category : undefined,
    language: differs('language') ? requested.language : undefined,
    ...names,
  })
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const { category, language } = resolved.found
  const lists = await complete(names, resolved.found)
  if (!lists) return undefined

  const current =
    differs('speakers') || differs('tags') ? await findEntityIds(db, before.id) : undefined
  const listOf = (field: 'speakers' | 'tags', ids: readonly number[] = []) =>
    uniqueById(
      requested[field].map((name) => {
        const id = ids[before[field].indexOf(name)]
        return id === undefined
          ? (lists[field][names[field].indexOf(name)] as NamedEntity)
          : { id, name }
      }),
    )
  const speakers = differs('speakers') ? listOf('speakers', current?.speaker_ids) : undefined
  const tags = differs('tags') ? listOf('tags', current?.tag_ids) : undefined
  return {
    after: {
      ...requested,
      category: category?.name ?? requested.category,
      language: language?.name ?? requested.language,
      speakers: speakers?.map(({ name }) => name) ?? requested.speakers,
      tags: tags?.map(({ name }) => name) ?? requested.tags,
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

/** Collects the entities that a record gets, each once even if two names resolve to it. */
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
 * Validates the fields of a request. If the schema reports errors, it also looks up category and
 * language, so that one response lists all errors.
 */
export async function videoFieldErrors(
  db: Db,
  schema: Parameters<typeof validationErrors>[0],
  input: Record<string, unknown>,
): Promise<FieldError[]> {
  const errors = validationErrors(schema, input)
  if (errors.length === 0) return []
  const validName = (field: 'category' | 'language') =>
    validationErrors(VideoPatch, { [field]: input[field] }).length === 0
      ? (input[field] as string)
      : undefined
  const resolved = await resolveNames(db, {
    category: validName('category'),
    language: validName('language'),
    speakers: [],
    tags: [],
  })
  return 'errors' in resolved ? [...errors, ...resolved.errors] : errors
}
