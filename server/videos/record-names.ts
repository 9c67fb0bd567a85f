import {
  type FieldError,
  invalidFields,
  type Video,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import type { Deadline } from '../changes/changes.ts'
import {
  createMissingEntities,
  type NamedEntity,
  type NameLookup,
  type ResolvedNames,
  resolveNames,
  uniqueById,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import {
  type AddedEntities,
  type ChangedEntityIds,
  findEntityIds,
  lockAddedEntities,
} from './queries.ts'

// Resolves the names in a version of a record to entities. A version gets the current name of each
// entity, whichever of its names was sent, and each entity once.

const nameFields = ['category', 'language', 'speakers', 'tags'] as const
type NameField = (typeof nameFields)[number]
type ListField = 'speakers' | 'tags'

/** A version with the current names of its entities, and the ids of the names that changed. */
export interface NamedVersion {
  readonly video: Video
  readonly ids: ChangedEntityIds
  /** The entities that the write has to lock. Empty if they are locked already. */
  readonly added: AddedEntities
}

/**
 * Completes the entities found for names. Returns an entity for every name, or undefined if some
 * are missing and must not be created.
 */
export type CompleteNames = (
  names: ListNames,
  found: ResolvedNames,
) => Promise<{ speakers: readonly NamedEntity[]; tags: readonly NamedEntity[] } | undefined>

interface ListNames {
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
  names: ListNames,
  found: ResolvedNames,
  deadline: Deadline,
) => ({
  speakers: await createMissingEntities(tx, 'speaker', names.speakers, found.speakers, deadline),
  tags: await createMissingEntities(tx, 'tag', names.tags, found.tags, deadline),
})

/**
 * Resolves the names that change, or all names of a new record. Other names stay as they are even
 * if their entity is being renamed, because the rename updates this record itself. Returns
 * undefined if `complete` does.
 */
export async function resolveRecordNames(
  db: Db,
  before: Video | undefined,
  requested: Video,
  complete: CompleteNames,
): Promise<NamedVersion | undefined> {
  const changed = changedNameFields(before, requested)
  if (changed.length === 0) return { video: requested, ids: noIds, added: noAdditions }
  const has = (field: NameField) => changed.includes(field)
  const newNames = (field: ListField) =>
    requested[field].filter((name) => !before?.[field].includes(name))
  const names = { speakers: newNames('speakers'), tags: newNames('tags') }
  const { category, language, ...found } = await findOrThrow(db, {
    category: has('category') ? requested.category : undefined,
    language: has('language') ? requested.language : undefined,
    ...names,
  })
  const lists = await complete(names, { category, language, ...found })
  if (!lists) return undefined

  const current =
    before && (has('speakers') || has('tags')) ? await findEntityIds(db, before.id) : undefined
  const listOf = (field: ListField, ids: readonly number[] = []) => {
    if (!has(field)) return undefined
    return uniqueById(
      requested[field].map((name) => {
        const id = before && ids[before[field].indexOf(name)]
        return id === undefined
          ? (lists[field][names[field].indexOf(name)] as NamedEntity)
          : { id, name }
      }),
    )
  }
  return {
    ...namedVersion(requested, {
      category,
      language,
      speakers: listOf('speakers', current?.speaker_ids),
      tags: listOf('tags', current?.tag_ids),
    }),
    added: addedEntities(category, lists),
  }
}

/**
 * Resolves the names that change, or all names of a new record, from a lookup. All names must have
 * been looked up and locked.
 */
export function resolveFromLookup(
  lookup: NameLookup,
  before: Video | undefined,
  requested: Video,
): NamedVersion {
  const changed = changedNameFields(before, requested)
  const find = (field: NameField, kind: keyof NameLookup) =>
    changed.includes(field)
      ? uniqueById([requested[field]].flat().map((name) => entityNamed(lookup, kind, name)))
      : undefined
  return {
    ...namedVersion(requested, {
      category: find('category', 'category')?.[0],
      language: find('language', 'language')?.[0],
      speakers: find('speakers', 'speaker'),
      tags: find('tags', 'tag'),
    }),
    added: noAdditions,
  }
}

function changedNameFields(before: Video | undefined, requested: Video): readonly NameField[] {
  return nameFields.filter(
    (field) => JSON.stringify(before?.[field]) !== JSON.stringify(requested[field]),
  )
}

/** Returns the version with the names and ids of the entities. Missing ones do not change. */
function namedVersion(
  requested: Video,
  {
    category,
    language,
    speakers,
    tags,
  }: {
    category: NamedEntity | null | undefined
    language: NamedEntity | null | undefined
    speakers: readonly NamedEntity[] | undefined
    tags: readonly NamedEntity[] | undefined
  },
): Pick<NamedVersion, 'video' | 'ids'> {
  return {
    video: {
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
  }
}

function entityNamed(lookup: NameLookup, kind: keyof NameLookup, name: string): NamedEntity {
  const entity = lookup[kind].get(name)
  if (!entity) throw new Error(`A ${kind} was not looked up`)
  return entity
}

/** Finds the entities with these names; throws if the category or the language does not exist. */
async function findOrThrow(
  db: Db,
  names: Parameters<typeof resolveNames>[1],
): Promise<ResolvedNames> {
  const resolved = await resolveNames(db, names)
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  return resolved.found
}

/**
 * Creates and locks the entities in the fields that change, also those that the record already has:
 * it may lose them before it is locked. A name of the record that no longer resolves is skipped and
 * not created again.
 */
export async function lockRequestedNames(
  tx: Db,
  before: Video,
  requested: Video,
  deadline: Deadline,
): Promise<void> {
  const changed = changedNameFields(before, requested)
  const found = await findOrThrow(tx, {
    category: changed.includes('category') ? requested.category : undefined,
    speakers: changed.includes('speakers') ? requested.speakers : [],
    tags: changed.includes('tags') ? requested.tags : [],
  })
  const foundOrNew = (field: ListField) =>
    found[field].flatMap((entity, index) => {
      const name = requested[field][index] as string
      return entity || !before[field].includes(name) ? [{ name, entity }] : []
    })
  const [speakers, tags] = [foundOrNew('speakers'), foundOrNew('tags')]
  const lists = await createMissingNames(
    tx,
    { speakers: speakers.map(({ name }) => name), tags: tags.map(({ name }) => name) },
    {
      ...found,
      speakers: speakers.map(({ entity }) => entity),
      tags: tags.map(({ entity }) => entity),
    },
    deadline,
  )
  await lockAddedEntities(tx, addedEntities(found.category, lists))
}

/** Collects the entities that a record gets, each once even if two names resolve to it. */
function addedEntities(
  category: NamedEntity | null,
  { speakers, tags }: { speakers: readonly NamedEntity[]; tags: readonly NamedEntity[] },
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
 * language, so that one response lists all errors. Otherwise the write looks them up.
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
