import { hash } from 'node:crypto'
import {
  type Alias,
  type CategoryInput,
  type FieldError,
  invalidFields,
  mayAct,
  Problem,
  type Profile,
  type Role,
} from '@talkshelf/contract'
import {
  assertBeforeDeadline,
  checkPrecondition,
  type Deadline,
  type NewChange,
  retryOnConflict,
  type WriteContext,
} from '../changes/changes.ts'
import type { Db, UniqueViolation } from '../platform/db/db.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { slugify } from '../platform/slug.ts'
import { fillEmpty, fullProfile, pickProfile, storedProfile } from './profile.ts'
import {
  claimName,
  claimSlug,
  type EntityKind,
  type EntityRow,
  findEntitiesByName,
  findEntity,
  findMergedEntity,
  findNameOwners,
  freeEntitySlug,
  insertCategory,
  isSlugRetired,
  lockEntitiesForUpdate,
  mergeEntityRows,
  nextCategoryId,
  releaseName,
  replaceNames,
  replaceRetiredSlugs,
  updateEntity,
} from './queries.ts'
import { createMissingEntities, type NamedEntity, normalizeName } from './resolve-names.ts'

// Reads, creates, changes, merges and splits speakers, tags and categories. server/directory
// updates the records that contain their names.

/** The body of an entity and its etag. */
export interface RenderedEntity {
  readonly slug: string
  readonly body: string
  readonly etag: string
}

/** Fields of a response that are not part of the entity. */
interface ResponseExtras {
  readonly records_left?: number
  readonly records_kept?: number
}

/** Renders an entity for a role. Only editors get hidden aliases and old slugs. */
function renderEntity(
  kind: EntityKind,
  entity: EntityRow,
  role: Role,
  extras: ResponseExtras = {},
): RenderedEntity {
  const isEditor = mayAct(role, 'editor')
  const publicAliases = entity.aliases.filter(({ shown }) => shown)
  const fields = fieldsOf(kind, entity)
  const visible = {
    ...fields,
    talks: entity.talks,
    aliases: isEditor ? entity.aliases : publicAliases,
    ...(isEditor && oldSlugsOf(entity)),
  }
  // The version excludes counts and the role, which follow the tilde that If-Match ignores. It also
  // excludes hidden names, because the hash would confirm a guess.
  const version = versionEtag(
    entity.id,
    entity.revision,
    toJson({ ...fields, aliases: publicAliases }),
  )
  return {
    slug: entity.slug,
    body: toJson({ ...visible, ...extras }),
    etag: `${version}~${hash('sha256', toJson(visible), 'base64url').slice(0, 8)}`,
  }
}

/** Returns the version of an entity that preconditions compare. */
export function versionOf(
  kind: EntityKind,
  entity: EntityRow,
): { id: number; revision: number; etag: string } {
  const { etag } = renderEntity(kind, entity, 'editor')
  return { id: entity.id, revision: entity.revision, etag: etag.replace(/~.*/, '') }
}

/** Returns the ETag of an entity, for If-Match. */
export const entityEtag = (kind: EntityKind, entity: EntityRow) => versionOf(kind, entity).etag

type Fields = Record<string, unknown>

/** Returns old and retired slugs, if there are any. */
function oldSlugsOf({ old_slugs, retired_slugs }: EntityRow): Fields {
  return {
    ...(old_slugs.length > 0 && { old_slugs }),
    ...(retired_slugs.length > 0 && { retired_slugs }),
  }
}

/** Returns the fields that the history records. */
export function historyFieldsOf(kind: EntityKind, entity: EntityRow): Fields {
  return {
    ...fieldsOf(kind, entity),
    aliases: entity.aliases,
    retired_slugs: entity.retired_slugs,
  }
}

function fieldsOf(kind: EntityKind, { id, name, slug, about, profile }: EntityRow): Fields {
  const details = fullProfile(kind, profile)
  if (!about) return { id, name, slug, ...details }
  const { description, url, start_date, end_date } = about
  return { id, title: name, slug, description, url, start_date, end_date, ...details }
}

/**
 * Reads an entity by slug. Returns its current slug if this one is old. Only editors see a speaker
 * or tag without live talks.
 */
export async function readEntity(
  db: Db,
  kind: EntityKind,
  slug: string,
  role: Role,
  extras: ResponseExtras = {},
): Promise<RenderedEntity | { moved: string }> {
  const entity = await findEntity(db, kind, slug)
  if (!entity) return throwMissing(db, kind, slug)
  if (kind !== 'category' && entity.talks === 0 && !mayAct(role, 'editor')) notFound(kind)
  return entity.slug === slug ? renderEntity(kind, entity, role, extras) : { moved: entity.slug }
}

/** Finds the entity with this slug, or else with this name or alias. */
export async function resolveEntity(
  db: Db,
  kind: EntityKind,
  text: string,
): Promise<{ id: number; slug: string } | undefined> {
  const name = normalizeName(text)
  const bySlug = await findEntity(db, kind, name)
  return bySlug ?? (await findEntitiesByName(db, kind, [name])).get(name)
}

/** Creates a category. Throws `category-exists` if the title is or was the name of another one. */
export async function createCategory(
  db: Db,
  input: CategoryInput,
  context: WriteContext,
): Promise<RenderedEntity> {
  const { id } = await nextCategoryId(db)
  const { title, description = '', url = null, start_date = null, end_date = null } = input
  assertDatesInOrder({ start_date, end_date })
  const base = slugify(title)
  return retryOnConflict(context, async (attempt) => {
    const slug = await freeEntitySlug(db, 'category', base, attempt)
    const about = { description, url, start_date, end_date }
    const category = {
      id,
      name: title,
      slug,
      revision: 1,
      about,
      profile: storedProfile(pickProfile('category', input)),
      talks: 0,
      aliases: [],
      old_slugs: [],
      retired_slugs: [],
    }
    try {
      assertBeforeDeadline(context)
      const after = fieldsOf('category', category)
      await insertCategory(db, category, newChange('category', 'created', {}, after, context))
      return renderEntity('category', category, context.origin.actor.role)
    } catch (error) {
      // Undefined unless it is a UniqueViolation.
      const { index } = error as Partial<UniqueViolation>
      if (index === 'entity_name_unique')
        throw new Problem('category-exists', 'Another category has this title or had it before')
      if (index !== 'entity_slug_unique') throw error
      return undefined
    }
  })
}

/** Returns an error if an event ends before it starts. */
export function dateErrors({
  start_date: start,
  end_date: end,
}: Pick<CategoryInput, 'start_date' | 'end_date'>): FieldError[] {
  const isInOrder = !start || !end || start <= end
  return isInOrder
    ? []
    : [{ pointer: '/end_date', code: 'too-early', detail: 'is before start_date' }]
}

function assertDatesInOrder(dates: Parameters<typeof dateErrors>[0]): void {
  const errors = dateErrors(dates)
  if (errors.length > 0) throw invalidFields(errors)
}

export interface EntityPatch {
  readonly name?: string | undefined
  readonly aliases?: readonly { readonly name: string; readonly shown?: boolean }[] | undefined
  readonly about?: Partial<NonNullable<EntityRow['about']>>
  readonly profile?: Profile
  readonly retiredSlugs?: readonly string[] | undefined
}

export interface ChangedEntity {
  readonly id: number
  readonly slug: string
  /** Whether the names in records have to be updated. */
  readonly isRenamed: boolean
}

/** Changes an entity. A new name also gets a new slug, and the old name becomes a hidden alias. */
export async function changeEntity(
  tx: Db,
  kind: EntityKind,
  slug: string,
  patch: EntityPatch,
  context: WriteContext,
): Promise<ChangedEntity> {
  const before = await lockForRename(tx, kind, slug, patch.name, context)
  // A locked entity cannot be 'moved', so this is a repeated request.
  if ((await checkPrecondition(tx, kind, versionOf(kind, before), context)) !== 'proceed')
    return { id: before.id, slug: before.slug, isRenamed: false }

  const name = patch.name ?? before.name
  const isRenamed = name !== before.name
  const about = before.about && { ...before.about, ...patch.about }
  if (about && (patch.about?.start_date || patch.about?.end_date)) assertDatesInOrder(about)
  const profile = storedProfile({ ...before.profile, ...patch.profile })
  const aliases = newAliases(before, name, patch.aliases)
  const newSlug = isRenamed ? await claimSlugFor(tx, kind, before, name, context) : before.slug
  const entity = {
    ...before,
    name,
    about,
    profile,
    aliases,
    slug: newSlug,
    retired_slugs: newRetiredSlugs(kind, before, newSlug, patch.retiredSlugs),
  }
  await saveChanges(tx, kind, before, entity, context)
  return { id: before.id, slug: newSlug, isRenamed }
}

/** Returns the new aliases. The former name becomes a hidden one, unless the patch contains it. */
function newAliases(before: EntityRow, name: string, patch: EntityPatch['aliases']): Alias[] {
  const index = (patch ?? []).findIndex((alias) => alias.name === name)
  if (index >= 0)
    throw invalidFields([
      {
        pointer: `/aliases/${index}/name`,
        code: 'same',
        detail: 'is already the main name; list other names only',
      },
    ])
  const aliases = new Map<string, Alias>()
  if (name !== before.name) aliases.set(before.name, { name: before.name, shown: false })
  for (const { name: alias, shown = false } of patch ?? before.aliases)
    if (alias !== name) aliases.set(alias, { name: alias, shown })
  return [...aliases.values()].sort((a, b) =>
    Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)),
  )
}

/** Returns the new retired slugs. The former slug can be one, the new one cannot. */
function newRetiredSlugs(
  kind: EntityKind,
  before: EntityRow,
  newSlug: string,
  patch: EntityPatch['retiredSlugs'],
): string[] {
  const isOld = (slug: string) => slug !== newSlug
  const oldSlugs = [before.slug, ...before.old_slugs, ...before.retired_slugs].filter(isOld)
  const index = (patch ?? []).findIndex((slug) => !oldSlugs.includes(slug))
  if (index >= 0)
    throw invalidField(`/retired_slugs/${index}`, 'unknown', `is not an old slug of this ${kind}`)
  return [...new Set(patch ?? before.retired_slugs)].filter(isOld).sort()
}

/**
 * Claims the slug of a new name. The old slug is not reused, because it may contain the old name,
 * but an entity that gets a former name back gets the former slug too.
 */
async function claimSlugFor(
  tx: Db,
  kind: EntityKind,
  before: EntityRow,
  name: string,
  deadline: Deadline,
): Promise<string> {
  const base = slugify(name)
  if (base === slugify(before.name)) return before.slug
  if (base !== '' && (await claimSlug(tx, kind, before.id, base))) return base
  return retryOnConflict(deadline, async (attempt) => {
    const slug = await freeEntitySlug(tx, kind, base, attempt)
    return (await claimSlug(tx, kind, before.id, slug)) ? slug : undefined
  })
}

/** Writes a new version if a field changed. */
async function saveChanges(
  tx: Db,
  kind: EntityKind,
  before: EntityRow,
  after: EntityRow,
  context: WriteContext,
): Promise<void> {
  const [oldFields, newFields] = [historyFieldsOf(kind, before), historyFieldsOf(kind, after)]
  const changed = changedFields(oldFields, newFields)
  if (changed.length === 0) return
  if (changed.includes('aliases')) await claimNames(tx, kind, after)
  if (changed.includes('retired_slugs'))
    await replaceRetiredSlugs(tx, kind, after.id, after.retired_slugs)
  assertBeforeDeadline(context)
  const [old, current] = [pick(oldFields, changed), pick(newFields, changed)]
  await updateEntity(tx, kind, after, newChange(kind, 'updated', old, current, context))
}

export function changedFields(before: Fields, after: Fields): string[] {
  return Object.keys(after).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
}

export function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

/** Replaces the names of an entity. Throws `name-taken` if another entity has one of them. */
async function claimNames(tx: Db, kind: EntityKind, entity: EntityRow): Promise<void> {
  const names = [{ name: entity.name, shown: true }, ...entity.aliases]
  if ((await replaceNames(tx, kind, entity.id, names)) === names.length) return
  const [taken] = await findNameOwners(
    tx,
    kind,
    entity.id,
    names.map(({ name }) => name),
  )
  const which = taken?.name === entity.name ? 'name' : 'alias'
  throw new Problem(
    'name-taken',
    `This ${which} already belongs to ${kind} ${taken?.slug}; nothing was changed`,
  )
}

/**
 * Merges the first entity into the second, which gets all its names and slugs, and the details that
 * it lacks. Returns the slug of the second and the id of the first; the id is undefined if it was
 * merged before. If-Match refers to the first entity.
 */
export async function mergeEntities(
  tx: Db,
  kind: EntityKind,
  slug: string,
  intoSlug: string,
  context: WriteContext,
): Promise<{ into: string; merged: number | undefined }> {
  const [from, into] = await lockBySlug(tx, kind, [slug, intoSlug], context)
  if (!from) return throwMissing(tx, kind, slug)
  if (!into) throw invalidField('/into', 'unknown', `is not the slug of a ${kind}`)
  if (from.id === into.id) {
    if (from.slug === slug)
      throw invalidField('/into', 'same', `is the ${kind} to be merged; choose another one`)
    // A repeated request whose response was lost. If-Match refers to the merged entity.
    const merged = await findMergedEntity(tx, kind, slug)
    const current = merged
      ? { ...merged, etag: versionEtag(merged.id, merged.revision, 'merged') }
      : versionOf(kind, into)
    await checkPrecondition(tx, kind, current, context)
    return { into: into.slug, merged: undefined }
  }
  await checkPrecondition(tx, kind, versionOf(kind, from), context)
  assertBeforeDeadline(context)
  const filled = changedFields(fieldsOf(kind, into), fieldsOf(kind, completed(kind, into, from)))
  const merge = newChange(
    kind,
    'merged',
    { names: namesOf(from), slugs: slugsOf(from) },
    { merged_into: into.id, filled },
    context,
  )
  await mergeEntityRows(tx, kind, from, into, merge)
  const after = completed(kind, (await findEntity(tx, kind, into.slug)) as EntityRow, from)
  const [oldFields, newFields] = [historyFieldsOf(kind, into), historyFieldsOf(kind, after)]
  const changed = [...new Set(['aliases', 'retired_slugs', ...changedFields(oldFields, newFields)])]
  const [old, current] = [pick(oldFields, changed), pick(newFields, changed)]
  await updateEntity(tx, kind, after, newChange(kind, 'updated', old, current, context))
  return { into: into.slug, merged: from.id }
}

/** Returns all names of an entity, for the undo of its merge. */
function namesOf({ name, aliases }: EntityRow): Alias[] {
  return [{ name, shown: true }, ...aliases]
}

function slugsOf({ slug, old_slugs, retired_slugs }: EntityRow): string[] {
  return [slug, ...old_slugs, ...retired_slugs]
}

/** Returns an entity with the details of another one where it has none itself. */
function completed(kind: EntityKind, entity: EntityRow, other: EntityRow): EntityRow {
  const about = entity.about && other.about ? fillEmpty(entity.about, other.about) : entity.about
  const profile = fillEmpty(fullProfile(kind, entity.profile), fullProfile(kind, other.profile))
  return { ...entity, about, profile: storedProfile(profile) }
}

/**
 * Finds or creates the speaker that gets some of the records of another one, and locks both. The
 * name can be an alias of the first speaker, which loses it.
 */
export async function splitOffSpeaker(
  tx: Db,
  slug: string,
  name: string,
  context: WriteContext,
): Promise<{ from: number; to: { id: number; slug: string }; isRepeated: boolean }> {
  const [from] = await lockBySlug(tx, 'speaker', [slug], context)
  if (!from) return throwMissing(tx, 'speaker', slug)
  const isRepeated =
    (await checkPrecondition(tx, 'speaker', versionOf('speaker', from), context)) === 'repeated'
  if (name === from.name)
    throw invalidField(
      '/name',
      'same',
      'is the name of this speaker; choose one that tells the two apart',
    )
  const aliases = from.aliases.filter((alias) => alias.name !== name)
  await saveChanges(tx, 'speaker', from, { ...from, aliases }, context)
  return { from: from.id, to: await findOrCreateSpeaker(tx, name, context), isRepeated }
}

/** Finds or creates a speaker and locks it against renames while records get its name. */
function findOrCreateSpeaker(
  tx: Db,
  name: string,
  deadline: Deadline,
): Promise<{ id: number; slug: string }> {
  return retryOnConflict(deadline, async () => {
    const found = (await findEntitiesByName(tx, 'speaker', [name])).get(name) ?? null
    const [speaker] = (await createMissingEntities(tx, 'speaker', [name], [found], deadline)) as [
      NamedEntity,
    ]
    await lockEntitiesForUpdate(tx, 'speaker', [speaker.id])
    const locked = (await findEntitiesByName(tx, 'speaker', [name])).get(name)
    return locked?.id === speaker.id ? locked : undefined
  })
}

/**
 * Claims the new name of an entity and locks the entity then. A write of a record that creates a
 * speaker with this name and uses this one too does the same in this order, so the two cannot
 * deadlock.
 */
function lockForRename(
  tx: Db,
  kind: EntityKind,
  slug: string,
  name: string | undefined,
  deadline: Deadline,
): Promise<EntityRow> {
  return retryOnConflict(deadline, async () => {
    const found = (await findEntity(tx, kind, slug)) ?? (await throwMissing(tx, kind, slug))
    const isClaimed = name !== undefined && (await claimName(tx, kind, found.id, name)) === 1
    const [entity] = await lockBySlug(tx, kind, [slug], deadline)
    if (entity?.id === found.id) {
      if (!isClaimed) return entity
      return { ...entity, aliases: entity.aliases.filter((alias) => alias.name !== name) }
    }
    // It was merged concurrently; the name has to be claimed for the other entity.
    if (isClaimed) await releaseName(tx, kind, found.id, name)
    return undefined
  })
}

/** Locks and reads entities by slug. Retries if one was merged while the lock was awaited. */
function lockBySlug(
  tx: Db,
  kind: EntityKind,
  slugs: readonly string[],
  deadline: Deadline,
): Promise<(EntityRow | undefined)[]> {
  return retryOnConflict(deadline, async () => {
    const found = await Promise.all(slugs.map((slug) => findEntity(tx, kind, slug)))
    const ids = found.map((entity) => entity?.id)
    await lockEntitiesForUpdate(tx, kind, ids)
    const locked = await Promise.all(slugs.map((slug) => findEntity(tx, kind, slug)))
    return locked.every((entity, index) => entity?.id === ids[index]) ? locked : undefined
  })
}

export function newChange(
  subject: EntityKind,
  kind: NewChange['kind'],
  before: Fields,
  after: Fields,
  { origin, hash }: WriteContext,
): NewChange {
  return {
    subject,
    kind,
    before,
    after,
    ids: {},
    at: new Date().toISOString(),
    origin,
    requestHash: hash,
  }
}

function invalidField(pointer: string, code: FieldError['code'], detail: string): Problem {
  return invalidFields([{ pointer, code, detail }])
}

/** Throws 410 if the slug was retired, 404 otherwise. */
export async function throwMissing(db: Db, kind: EntityKind, slug: string): Promise<never> {
  if (await isSlugRetired(db, kind, slug))
    throw new Problem('slug-retired', 'This slug was retired')
  return notFound(kind)
}

function notFound(kind: EntityKind): never {
  throw new Problem('not-found', `This ${kind} does not exist`)
}
