import { hash } from 'node:crypto'
import { type Alias, type CategoryInput, type FieldError, invalidFields, mayAct, Problem, type Role } from '@talkshelf/contract'
import { type NewChange, precondition, type Request, stillWanted } from '../changes/changes.ts'
import { type Db, Taken } from '../platform/db/db.ts'
import { versionTag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { slugify } from '../platform/slug.ts'
import {
  claimName,
  findThing,
  freeThingSlug,
  insertCategory,
  type Kind,
  lockThings,
  mergeThing,
  namesOfOthers,
  nextCategoryId,
  replaceNames,
  type ThingRow,
  takeSlug,
  thingsNamed,
  unclaimName,
  updateThing,
} from './queries.ts'
import { createMissing, type Named } from './resolve.ts'

// A speaker, tag or category by itself: what it is called, what else it was called, and what became of it. The records that show it are
// another matter (server/names).

/** A thing with its version, ready to send. */
export interface SentThing {
  readonly slug: string
  readonly body: string
  readonly tag: string
}

/** What an answer tells beside the thing. */
interface More {
  readonly records_left?: number
}

/** For this reader: only editors are told the names that are not shown. */
function sentThing(kind: Kind, it: ThingRow, role: Role, more: More = {}): SentThing {
  const aliases = mayAct(role, 'editor') ? it.aliases : it.aliases.filter(({ shown }) => shown)
  const shown = { ...fieldsOf(kind, it), talks: it.talks, aliases }
  // Counts are no part of the version, and neither is who asks: If-Match does not look at what is behind the tilde.
  const version = versionTag(it.id, it.revision, toJson(versionOf(kind, it)))
  return { slug: it.slug, body: toJson({ ...shown, ...more }), tag: `${version}~${hash('sha256', toJson(shown), 'base64url').slice(0, 8)}` }
}

type Fields = Record<string, unknown>

/** What its history is about. */
function versionOf(kind: Kind, it: ThingRow): Fields {
  return { ...fieldsOf(kind, it), aliases: it.aliases }
}

function fieldsOf(kind: Kind, { id, name, slug, about }: ThingRow): Fields {
  if (kind !== 'category' || !about) return { id, name, slug }
  const { description, url, start_date, end_date } = about
  return { id, title: name, slug, description, url, start_date, end_date }
}

/** The thing, or the slug that it has today. A speaker or tag of drafts only is there for editors only. */
export async function readThing(db: Db, kind: Kind, slug: string, role: Role, more: More = {}): Promise<SentThing | { moved: string }> {
  const it = await findThing(db, kind, slug)
  if (!it || (kind !== 'category' && it.talks === 0 && !mayAct(role, 'editor'))) notFound(kind)
  return it.slug === slug ? sentThing(kind, it, role, more) : { moved: it.slug }
}

export async function createCategory(db: Db, input: CategoryInput, request: Request): Promise<SentThing> {
  const { id } = await nextCategoryId(db)
  const { title, description = '', url = null, start_date = null, end_date = null } = input
  const base = slugify(title)
  for (let attempt = 1; ; attempt++) {
    const slug = await freeThingSlug(db, 'category', base, attempt)
    const about = { description, url, start_date, end_date }
    const category = { id, name: title, slug, revision: 1, about, talks: 0, aliases: [] }
    try {
      stillWanted(request)
      const after = fieldsOf('category', category)
      await insertCategory(db, category, changeOf('category', 'created', {}, after, request))
      return sentThing('category', category, request.origin.actor.role)
    } catch (error) {
      if (error instanceof Taken && error.index === 'known_as_once')
        throw new Problem('category-exists', 'A category with this title exists, or had it once')
      if (!(error instanceof Taken && error.index === 'known_slug_once')) throw error
    }
  }
}

export interface ThingPatch {
  readonly name?: string | undefined
  readonly aliases?: readonly { readonly name: string; readonly shown?: boolean }[] | undefined
  readonly about?: Partial<NonNullable<ThingRow['about']>>
}

export interface Changed {
  readonly thing: ThingRow
  /** Whether records have to follow. */
  readonly isRenamed: boolean
}

export async function changeThing(tx: Db, kind: Kind, slug: string, patch: ThingPatch, request: Request): Promise<Changed> {
  const before = await lockedFor(tx, kind, slug, patch.name)
  // It is locked, so it can't have moved.
  const { tag } = sentThing(kind, before, 'editor')
  const version = { id: before.id, revision: before.revision, tag: tag.replace(/~.*/, '') }
  if ((await precondition(tx, kind, version, request)) !== 'proceed') return { thing: before, isRenamed: false }

  const name = patch.name ?? before.name
  const isRenamed = name !== before.name
  const about = before.about && { ...before.about, ...patch.about }
  const wanted = { ...before, name, about, aliases: aliasesOf(before, name, patch.aliases) }
  const thing = { ...wanted, slug: isRenamed ? await slugFor(tx, kind, before, name) : before.slug }
  if (!(await save(tx, kind, before, thing, request))) return { thing: before, isRenamed: false }
  return { thing: { ...thing, revision: before.revision + 1 }, isRenamed }
}

/** The name that goes becomes an alias, and is told no reader unless somebody says so. */
function aliasesOf(before: ThingRow, name: string, given: ThingPatch['aliases']): Alias[] {
  const place = given?.findIndex((it) => it.name === name) ?? -1
  if (place >= 0)
    throw invalidFields([{ pointer: `/aliases/${place}/name`, code: 'same', detail: 'is the name itself, and no other name beside it' }])
  const all = new Map<string, Alias>()
  if (name !== before.name) all.set(before.name, { name: before.name, shown: false })
  for (const { name: other, shown = false } of given ?? before.aliases) if (other !== name) all.set(other, { name: other, shown })
  return [...all.values()].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
}

/** An old slug may say the old name, so a new name has a new one; or the one of then, when a name comes back. */
async function slugFor(tx: Db, kind: Kind, before: ThingRow, name: string): Promise<string> {
  const base = slugify(name)
  if (base === slugify(before.name)) return before.slug
  if (base !== '' && (await takeSlug(tx, kind, before.id, base))) return base
  for (let attempt = 1; ; attempt++) {
    const slug = await freeThingSlug(tx, kind, base, attempt)
    if (await takeSlug(tx, kind, before.id, slug)) return slug
  }
}

/** Tells whether there was anything to write. */
async function save(tx: Db, kind: Kind, before: ThingRow, after: ThingRow, request: Request): Promise<boolean> {
  const [was, is]: [Fields, Fields] = [versionOf(kind, before), versionOf(kind, after)]
  const changed = Object.keys(is).filter((field) => JSON.stringify(was[field]) !== JSON.stringify(is[field]))
  if (changed.length === 0) return false
  const only = (it: Fields) => Object.fromEntries(changed.map((field) => [field, it[field]]))
  if (changed.includes('aliases')) await claim(tx, kind, after)
  stillWanted(request)
  await updateThing(tx, kind, after, changeOf(kind, 'updated', only(was), only(is), request))
  return true
}

async function claim(tx: Db, kind: Kind, it: ThingRow): Promise<void> {
  const names = [{ name: it.name, shown: true }, ...it.aliases]
  if ((await replaceNames(tx, kind, it.id, names)) === names.length) return
  const [taken] = await namesOfOthers(
    tx,
    kind,
    it.id,
    names.map(({ name }) => name),
  )
  const which = taken?.name === it.name ? 'name' : 'alias'
  throw new Problem('name-taken', `The ${which} leads to the ${kind} ${taken?.slug} already; nothing was changed`)
}

/** Nothing leads to the first one any more: all that did leads to the second. `merged` is undefined where that is so already. */
export async function mergeThings(
  tx: Db,
  kind: Kind,
  slug: string,
  intoSlug: string,
  request: Request,
): Promise<{ into: ThingRow; merged: ThingRow | undefined }> {
  const [from, into] = await locked(tx, kind, [slug, intoSlug])
  if (!from) notFound(kind)
  if (!into) throw wrong('/into', 'unknown', `is not the slug of a ${kind}`)
  if (from.id === into.id) {
    // The answer to the first time was lost.
    if (from.slug !== slug) return { into, merged: undefined }
    throw wrong('/into', 'same', `is the ${kind} itself`)
  }
  stillWanted(request)
  await mergeThing(tx, kind, from, into, changeOf(kind, 'merged', {}, { merged_into: into.id }, request))
  const after = (await findThing(tx, kind, into.slug)) as ThingRow
  const change = changeOf(kind, 'updated', { aliases: into.aliases }, { aliases: after.aliases }, request)
  await updateThing(tx, kind, after, change)
  return { into: { ...after, revision: after.revision + 1 }, merged: from }
}

/** A speaker, and the other one that some of the records are by; it is made if it is not there. An alias can become a speaker again. */
export async function splitOff(
  tx: Db,
  slug: string,
  name: string,
  request: Request,
): Promise<{ from: number; to: { id: number; slug: string } }> {
  const [from] = await locked(tx, 'speaker', [slug])
  if (!from) notFound('speaker')
  if (name === from.name) throw wrong('/name', 'same', 'is the name of this speaker; choose one that tells the two apart')
  const aliases = from.aliases.filter((it) => it.name !== name)
  if (aliases.length < from.aliases.length) await save(tx, 'speaker', from, { ...from, aliases }, request)
  return { from: from.id, to: await speakerNamed(tx, name) }
}

// Locked, so that nobody renames it while records are given its name.
async function speakerNamed(tx: Db, name: string): Promise<{ id: number; slug: string }> {
  for (;;) {
    const found = (await thingsNamed(tx, 'speaker', [name])).get(name) ?? null
    const [speaker] = (await createMissing(tx, 'speaker', [name], [found])) as [Named]
    await lockThings(tx, 'speaker', [speaker.id])
    const again = (await thingsNamed(tx, 'speaker', [name])).get(name)
    if (again?.id === speaker.id) return again
  }
}

/**
 * The thing, locked, and the name that it is to have claimed before: a record that makes a speaker of this name and has this one as well does
 * it in the same order, so the two never wait for each other.
 */
async function lockedFor(tx: Db, kind: Kind, slug: string, name: string | undefined): Promise<ThingRow> {
  for (;;) {
    const found = (await findThing(tx, kind, slug)) ?? notFound(kind)
    const isNew = name !== undefined && (await claimName(tx, kind, found.id, name)) === 1
    const [thing] = await locked(tx, kind, [slug])
    if (thing?.id === found.id) return isNew ? { ...thing, aliases: thing.aliases.filter((it) => it.name !== name) } : thing
    // It was merged meanwhile: the name is for the other one.
    if (isNew) await unclaimName(tx, kind, found.id, name)
  }
}

/** The things that the slugs lead to, locked. One that was merged while we waited is looked for again. */
async function locked(tx: Db, kind: Kind, slugs: readonly string[]): Promise<(ThingRow | undefined)[]> {
  for (;;) {
    const found = await Promise.all(slugs.map((slug) => findThing(tx, kind, slug)))
    const ids = found.map((it) => it?.id)
    await lockThings(
      tx,
      kind,
      ids.filter((id) => id !== undefined),
    )
    const again = await Promise.all(slugs.map((slug) => findThing(tx, kind, slug)))
    if (again.every((it, place) => it?.id === ids[place])) return again
  }
}

function changeOf(subject: Kind, kind: NewChange['kind'], before: Fields, after: Fields, { origin, hash }: Request): NewChange {
  return { subject, kind, before, after, ids: {}, at: new Date().toISOString(), origin, requestHash: hash }
}

function wrong(pointer: string, code: FieldError['code'], detail: string): Problem {
  return invalidFields([{ pointer, code, detail }])
}

function notFound(kind: Kind): never {
  throw new Problem('not-found', `There is no such ${kind}`)
}
