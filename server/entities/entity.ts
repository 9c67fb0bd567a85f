import { hash } from 'node:crypto'
import {
  type Alias,
  type CategoryInput,
  type FieldError,
  invalidFields,
  mayAct,
  Problem,
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
import { createMissingEntities, type NamedEntity } from './resolve-names.ts'

// A speaker, tag or category by itself: what it is called, what else it was called, and what became
// of it. The records that show it are another matter (server/names).

/** A entity with its version, ready to send. */
export interface RenderedEntity {
  readonly slug: string
  readonly body: string
  readonly tag: string
}

/** What an answer tells beside the entity. */
interface More {
  readonly records_left?: number
}

/** For this reader: only editors are told the names that are not shown. */
function sentEntity(it: EntityRow, role: Role, more: More = {}): RenderedEntity {
  const isEditor = mayAct(role, 'editor')
  const aliases = isEditor ? it.aliases : it.aliases.filter(({ shown }) => shown)
  const shown = { ...fieldsOf(it), talks: it.talks, aliases, ...(isEditor && slugsOf(it)) }
  // Counts are no part of the version, and neither is who asks: If-Match does not look at what is
  // behind the tilde. Hidden names are none either: the hash would confirm a guess.
  const version = versionEtag(
    it.id,
    it.revision,
    toJson({ ...fieldsOf(it), aliases: it.aliases.filter(({ shown }) => shown) }),
  )
  return {
    slug: it.slug,
    body: toJson({ ...shown, ...more }),
    tag: `${version}~${hash('sha256', toJson(shown), 'base64url').slice(0, 8)}`,
  }
}

/** Its version, as preconditions compare it. */
function currentOf(it: EntityRow): { id: number; revision: number; tag: string } {
  const { tag } = sentEntity(it, 'editor')
  return { id: it.id, revision: it.revision, tag: tag.replace(/~.*/, '') }
}

type Fields = Record<string, unknown>

/** Both kinds of old slugs, where there are any. */
function slugsOf({ old_slugs, retired_slugs }: EntityRow): Fields {
  return {
    ...(old_slugs.length > 0 && { old_slugs }),
    ...(retired_slugs.length > 0 && { retired_slugs }),
  }
}

/** What its history is about. */
function versionOf(it: EntityRow): Fields {
  return { ...fieldsOf(it), aliases: it.aliases, retired_slugs: it.retired_slugs }
}

function fieldsOf({ id, name, slug, about }: EntityRow): Fields {
  if (!about) return { id, name, slug }
  const { description, url, start_date, end_date } = about
  return { id, title: name, slug, description, url, start_date, end_date }
}

/**
 * The entity, or the slug that it has today. A speaker or tag of drafts only is there for editors
 * only.
 */
export async function readEntity(
  db: Db,
  kind: EntityKind,
  slug: string,
  role: Role,
  more: More = {},
): Promise<RenderedEntity | { moved: string }> {
  const it = await findEntity(db, kind, slug)
  if (!it) return missing(db, kind, slug)
  if (kind !== 'category' && it.talks === 0 && !mayAct(role, 'editor')) notFound(kind)
  return it.slug === slug ? sentEntity(it, role, more) : { moved: it.slug }
}

export async function createCategory(
  db: Db,
  input: CategoryInput,
  context: WriteContext,
): Promise<RenderedEntity> {
  const { id } = await nextCategoryId(db)
  const { title, description = '', url = null, start_date = null, end_date = null } = input
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
      talks: 0,
      aliases: [],
      old_slugs: [],
      retired_slugs: [],
    }
    try {
      assertBeforeDeadline(context)
      const after = fieldsOf(category)
      await insertCategory(db, category, changeOf('category', 'created', {}, after, context))
      return sentEntity(category, context.origin.actor.role)
    } catch (error) {
      // Only Taken has one.
      const { index } = error as Partial<UniqueViolation>
      if (index === 'entity_name_unique')
        throw new Problem('category-exists', 'A category with this title exists, or had it once')
      if (index !== 'entity_slug_unique') throw error
      return undefined
    }
  })
}

export interface EntityPatch {
  readonly name?: string | undefined
  readonly aliases?: readonly { readonly name: string; readonly shown?: boolean }[] | undefined
  readonly about?: Partial<NonNullable<EntityRow['about']>>
  readonly retiredSlugs?: readonly string[] | undefined
}

export interface ChangedEntity {
  readonly id: number
  readonly slug: string
  /** Whether records have to follow. */
  readonly isRenamed: boolean
}

export async function changeEntity(
  tx: Db,
  kind: EntityKind,
  slug: string,
  patch: EntityPatch,
  context: WriteContext,
): Promise<ChangedEntity> {
  const before = await lockedFor(tx, kind, slug, patch.name, context)
  // It is locked, so it can't have moved.
  if ((await checkPrecondition(tx, kind, currentOf(before), context)) !== 'proceed')
    return { id: before.id, slug: before.slug, isRenamed: false }

  const name = patch.name ?? before.name
  const isRenamed = name !== before.name
  const about = before.about && { ...before.about, ...patch.about }
  const wanted = { ...before, name, about, aliases: aliasesOf(before, name, patch.aliases) }
  const slugNow = isRenamed ? await slugFor(tx, kind, before, name, context) : before.slug
  const entity = {
    ...wanted,
    slug: slugNow,
    retired_slugs: retiredOf(kind, before, slugNow, patch.retiredSlugs),
  }
  await save(tx, kind, before, entity, context)
  return { id: before.id, slug: slugNow, isRenamed }
}

/** The name that goes becomes an alias, and is told no reader unless somebody says so. */
function aliasesOf(before: EntityRow, name: string, given: EntityPatch['aliases']): Alias[] {
  const place = (given ?? []).findIndex((it) => it.name === name)
  if (place >= 0)
    throw invalidFields([
      {
        pointer: `/aliases/${place}/name`,
        code: 'same',
        detail: 'is the name itself, and no other name beside it',
      },
    ])
  const all = new Map<string, Alias>()
  if (name !== before.name) all.set(before.name, { name: before.name, shown: false })
  for (const { name: other, shown = false } of given ?? before.aliases)
    if (other !== name) all.set(other, { name: other, shown })
  return [...all.values()].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
}

/**
 * Returns the slugs that are retired from now on. The slug of before can be one, the current one
 * cannot.
 */
function retiredOf(
  kind: EntityKind,
  before: EntityRow,
  slug: string,
  given: EntityPatch['retiredSlugs'],
): string[] {
  const old = [before.slug, ...before.old_slugs, ...before.retired_slugs].filter(
    (it) => it !== slug,
  )
  const index = (given ?? []).findIndex((it) => !old.includes(it))
  if (index >= 0)
    throw wrong(`/retired_slugs/${index}`, 'unknown', `is not an old slug of this ${kind}`)
  return [...new Set(given ?? before.retired_slugs)].filter((it) => it !== slug).sort()
}

/**
 * An old slug may say the old name, so a new name has a new one; or the one of then, when a name
 * comes back.
 */
async function slugFor(
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

/** Writes what changed, if anything did. */
async function save(
  tx: Db,
  kind: EntityKind,
  before: EntityRow,
  after: EntityRow,
  context: WriteContext,
): Promise<void> {
  const [was, is]: [Fields, Fields] = [versionOf(before), versionOf(after)]
  const changed = Object.keys(is).filter(
    (field) => JSON.stringify(was[field]) !== JSON.stringify(is[field]),
  )
  if (changed.length === 0) return
  const only = (it: Fields) => Object.fromEntries(changed.map((field) => [field, it[field]]))
  if (changed.includes('aliases')) await claim(tx, kind, after)
  if (changed.includes('retired_slugs'))
    await replaceRetiredSlugs(tx, kind, after.id, after.retired_slugs)
  assertBeforeDeadline(context)
  await updateEntity(tx, kind, after, changeOf(kind, 'updated', only(was), only(is), context))
}

async function claim(tx: Db, kind: EntityKind, it: EntityRow): Promise<void> {
  const names = [{ name: it.name, shown: true }, ...it.aliases]
  if ((await replaceNames(tx, kind, it.id, names)) === names.length) return
  const [taken] = await findNameOwners(
    tx,
    kind,
    it.id,
    names.map(({ name }) => name),
  )
  const which = taken?.name === it.name ? 'name' : 'alias'
  throw new Problem(
    'name-taken',
    `The ${which} leads to the ${kind} ${taken?.slug} already; nothing was changed`,
  )
}

/**
 * Nothing leads to the first one any more: all that did leads to the second. Returns the slug of
 * the second, and the id of the first; undefined where it was merged already. If-Match speaks of
 * the first one.
 */
export async function mergeEntities(
  tx: Db,
  kind: EntityKind,
  slug: string,
  intoSlug: string,
  context: WriteContext,
): Promise<{ into: string; merged: number | undefined }> {
  const [from, into] = await locked(tx, kind, [slug, intoSlug], context)
  if (!from) return missing(tx, kind, slug)
  if (!into) throw wrong('/into', 'unknown', `is not the slug of a ${kind}`)
  if (from.id === into.id) {
    if (from.slug !== slug) {
      // The answer to the first time was lost. If-Match speaks of the one that is gone.
      const gone = await findMergedEntity(tx, kind, slug)
      const current = gone
        ? { ...gone, tag: versionEtag(gone.id, gone.revision, 'merged') }
        : currentOf(into)
      await checkPrecondition(tx, kind, current, context)
      return { into: into.slug, merged: undefined }
    }
    throw wrong('/into', 'same', `is the ${kind} itself`)
  }
  await checkPrecondition(tx, kind, currentOf(from), context)
  assertBeforeDeadline(context)
  await mergeEntityRows(
    tx,
    kind,
    from,
    into,
    changeOf(kind, 'merged', {}, { merged_into: into.id }, context),
  )
  const after = (await findEntity(tx, kind, into.slug)) as EntityRow
  const namesOf = ({ aliases, retired_slugs }: EntityRow) => ({ aliases, retired_slugs })
  const change = changeOf(kind, 'updated', namesOf(into), namesOf(after), context)
  await updateEntity(tx, kind, after, change)
  return { into: into.slug, merged: from.id }
}

/**
 * A speaker, and the other one that some of the records are by; it is made if it is not there. An
 * alias can become a speaker again.
 */
export async function splitOffSpeaker(
  tx: Db,
  slug: string,
  name: string,
  context: WriteContext,
): Promise<{ from: number; to: { id: number; slug: string }; isRepeated: boolean }> {
  const [from] = await locked(tx, 'speaker', [slug], context)
  if (!from) return missing(tx, 'speaker', slug)
  const isRepeated =
    (await checkPrecondition(tx, 'speaker', currentOf(from), context)) === 'repeated'
  if (name === from.name)
    throw wrong('/name', 'same', 'is the name of this speaker; choose one that tells the two apart')
  const aliases = from.aliases.filter((it) => it.name !== name)
  await save(tx, 'speaker', from, { ...from, aliases }, context)
  return { from: from.id, to: await speakerNamed(tx, name, context), isRepeated }
}

// Locked, so that nobody renames it while records are given its name.
function speakerNamed(
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
    const again = (await findEntitiesByName(tx, 'speaker', [name])).get(name)
    return again?.id === speaker.id ? again : undefined
  })
}

/**
 * The entity, locked, and the name that it is to have claimed before: a record that makes a speaker
 * of this name and has this one as well does it in the same order, so the two never wait for each
 * other.
 */
function lockedFor(
  tx: Db,
  kind: EntityKind,
  slug: string,
  name: string | undefined,
  deadline: Deadline,
): Promise<EntityRow> {
  return retryOnConflict(deadline, async () => {
    const found = (await findEntity(tx, kind, slug)) ?? (await missing(tx, kind, slug))
    const isNew = name !== undefined && (await claimName(tx, kind, found.id, name)) === 1
    const [entity] = await locked(tx, kind, [slug], deadline)
    if (entity?.id === found.id)
      return isNew
        ? { ...entity, aliases: entity.aliases.filter((it) => it.name !== name) }
        : entity
    // It was merged meanwhile: the name is for the other one.
    if (isNew) await releaseName(tx, kind, found.id, name)
    return undefined
  })
}

/**
 * The entities that the slugs lead to, locked. One that was merged while we waited is looked for
 * again.
 */
function locked(
  tx: Db,
  kind: EntityKind,
  slugs: readonly string[],
  deadline: Deadline,
): Promise<(EntityRow | undefined)[]> {
  return retryOnConflict(deadline, async () => {
    const found = await Promise.all(slugs.map((slug) => findEntity(tx, kind, slug)))
    const ids = found.map((it) => it?.id)
    await lockEntitiesForUpdate(tx, kind, ids)
    const again = await Promise.all(slugs.map((slug) => findEntity(tx, kind, slug)))
    return again.every((it, index) => it?.id === ids[index]) ? again : undefined
  })
}

function changeOf(
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

function wrong(pointer: string, code: FieldError['code'], detail: string): Problem {
  return invalidFields([{ pointer, code, detail }])
}

/** Throws the problem of a slug that leads nowhere: 410 for a retired one, else 404. */
async function missing(db: Db, kind: EntityKind, slug: string): Promise<never> {
  if (await isSlugRetired(db, kind, slug))
    throw new Problem('slug-retired', 'This slug was retired')
  return notFound(kind)
}

function notFound(kind: EntityKind): never {
  throw new Problem('not-found', `There is no such ${kind}`)
}
