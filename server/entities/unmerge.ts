import { Problem } from '@talkshelf/contract'
import {
  assertBeforeDeadline,
  checkPrecondition,
  type Deadline,
  retryOnConflict,
  type WriteContext,
} from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { slugify } from '../platform/slug.ts'
import {
  changedFields,
  historyFieldsOf,
  newChange,
  pick,
  throwMissing,
  versionOf,
} from './entity.ts'
import { fullProfile, removeFilled, storedProfile } from './profile.ts'
import {
  claimName,
  claimSlug,
  type EntityKind,
  type EntityRow,
  findEntity,
  findEntityById,
  findMerge,
  findMergedBefore,
  findMergesInto,
  findNameOwners,
  freeEntitySlug,
  isRestored,
  lockEntitiesForUpdate,
  type MergeRow,
  moveNames,
  releaseName,
  showName,
  unmergeEntityRow,
  updateEntity,
} from './queries.ts'

// Undoes merges of speakers, tags and categories. The history has the names and slugs that an entity
// had when it was merged; its row still has its profile.

/** The merge of an entity, as editors see it. */
export interface Merge {
  readonly name: string
  readonly slug: string
  readonly at: string
  readonly by: string
  /** Whether the history has what the entity had. */
  readonly canUndo: boolean
}

/** Lists the entities that were merged into another one, the last merge first. */
export async function listMerges(db: Db, kind: EntityKind, id: number): Promise<Merge[]> {
  return (await findMergesInto(db, kind, id, 50)).map(describeMerge)
}

/** Reads the merge of the entity that had this slug. Throws `not-merged` if it is not merged. */
export async function readMerge(
  db: Db,
  kind: EntityKind,
  slug: string,
): Promise<Merge & { target: EntityRow; ids: readonly number[] }> {
  const merge = await findMerge(db, kind, slug)
  if (!merge) throw new Problem('not-merged', `This ${kind} is not merged`)
  const target = (await findEntityById(db, kind, merge.merged_into)) as EntityRow
  const ids = [merge.id, ...(await findMergedBefore(db, kind, merge))]
  return { ...describeMerge(merge), target, ids }
}

function describeMerge({ name, slug, at, by, before }: MergeRow): Merge {
  return { name, slug, at, by, canUndo: before.names !== undefined }
}

/** A merge that can be undone, or was undone before. */
interface Unmerge {
  /** The slug of the entity that lives again. */
  readonly slug: string
  /** The entity that its records show. Undefined if the merge was undone before. */
  readonly target: number | undefined
  /** The entity and those that were merged into it before. */
  readonly ids: readonly number[]
}

/**
 * Undoes the merge of the entity that had this slug. It gets back the names and slugs that it had
 * and that its target still has; the target loses the details that it took over. If-Match refers to
 * the target.
 */
export async function unmergeEntity(
  tx: Db,
  kind: EntityKind,
  slug: string,
  context: WriteContext,
): Promise<Unmerge> {
  const locked = await lockMerge(tx, kind, slug, context)
  if (!locked) return findUndone(tx, kind, slug)
  const { merge, target, from } = locked
  await checkPrecondition(tx, kind, versionOf(kind, target), context)
  const { names, slugs } = merge.before
  if (!names || !slugs)
    throw new Problem(
      'not-merged',
      `This ${kind} was merged by an earlier version of Talkshelf, which did not keep what it had`,
    )
  assertBeforeDeadline(context)
  const mergedBefore = await findMergedBefore(tx, kind, merge)
  const ids = [merge.id, ...mergedBefore]
  const merges = await findMergesInto(tx, kind, target.id, maxMerges)
  const others = laterMerges(merges, merge, ids)
  // An entity that stays merged into the target keeps its own name and slug there, and one that was
  // merged into this entity before takes them along.
  const staying = merges.filter(({ id }) => !ids.includes(id))
  const returning = merges.filter(({ id }) => mergedBefore.includes(id))
  const otherNames = [
    ...others.flatMap(({ before }) => (before.names ?? []).map(({ name }) => name)),
    ...staying.map(({ name }) => name),
  ]
  const otherSlugs = [
    ...others.flatMap((other) => other.before.slugs ?? []),
    ...staying.map((other) => other.slug),
  ]
  const ownNames = [from.name, ...returning.map(({ name }) => name)]
  const ownSlugs = [from.slug, ...returning.map((other) => other.slug)]
  await moveNames(
    tx,
    kind,
    target,
    merge.id,
    [
      ...names.filter(({ name }) => ownNames.includes(name) || !otherNames.includes(name)),
      ...returning
        .filter((other) => !names.some(({ name }) => name === other.name))
        .map(({ name }) => ({ name, shown: false })),
    ],
    [...slugs.filter((it) => !otherSlugs.includes(it)), ...ownSlugs],
  )
  await assertOwnsName(tx, kind, from)
  const ownSlug = await claimOwnSlug(tx, kind, from, context)
  const restored = newChange(
    kind,
    'restored',
    { merged_into: target.id },
    { merged_into: null },
    context,
  )
  await unmergeEntityRow(tx, kind, { id: from.id, slug: ownSlug }, mergedBefore, restored)
  await saveUnmergedTarget(tx, kind, target, from, merge, context)
  return { slug: ownSlug, target: target.id, ids }
}

/**
 * Returns the merges whose names stay with the target: those after this merge, except for entities
 * that were merged into this one, and those through which it came to the target.
 */
function laterMerges(
  merges: readonly MergeRow[],
  merge: MergeRow,
  ids: readonly number[],
): MergeRow[] {
  const through = new Set(ids)
  for (let next: MergeRow | undefined = merge; next; ) {
    const into: number = next.after.merged_into
    next = through.has(into) ? undefined : merges.find(({ id }) => id === into)
    through.add(into)
  }
  // The newest comes first.
  const later = merges.slice(
    0,
    merges.findIndex(({ id }) => id === merge.id),
  )
  return later.filter(({ id }) => !through.has(id))
}

/** More merges into one entity than an archive has. */
const maxMerges = 10_000

/**
 * Claims the name of a merged entity and locks it together with its target then, in the order of all
 * writers. Returns undefined if no entity with this slug is merged.
 */
async function lockMerge(
  tx: Db,
  kind: EntityKind,
  slug: string,
  deadline: Deadline,
): Promise<{ merge: MergeRow; target: EntityRow; from: EntityRow } | undefined> {
  const found = await findMerge(tx, kind, slug)
  if (!found) return undefined
  // Claims the name if it was removed since; otherwise it belongs to the target or to another one.
  const isClaimed = (await claimName(tx, kind, found.id, found.name)) === 1
  const locked = await retryOnConflict(deadline, async () => {
    const expected = await findMerge(tx, kind, slug)
    await lockEntitiesForUpdate(tx, kind, [found.id, expected?.merged_into])
    const merge = await findMerge(tx, kind, slug)
    if (merge?.id !== expected?.id || merge?.merged_into !== expected?.merged_into) return undefined
    return { merge }
  })
  if (locked.merge?.id !== found.id) {
    // Another request has undone the merge: then the name is the one of a live entity.
    if (isClaimed) await releaseName(tx, kind, found.id, found.name)
    return undefined
  }
  const target = (await findEntityById(tx, kind, locked.merge.merged_into)) as EntityRow
  const from = (await findEntityById(tx, kind, found.id)) as EntityRow
  return { merge: locked.merge, target, from }
}

/** Returns the entity whose merge was undone by an earlier request. Throws if there is none. */
async function findUndone(tx: Db, kind: EntityKind, slug: string): Promise<Unmerge> {
  const entity = await findEntity(tx, kind, slug)
  if (!entity) return throwMissing(tx, kind, slug)
  if (!(await isRestored(tx, kind, entity.id)))
    throw new Problem('not-merged', `This ${kind} is not merged`)
  return { slug: entity.slug, target: undefined, ids: [entity.id] }
}

/** Throws `name-taken` if the name of an entity belongs to another one. */
async function assertOwnsName(tx: Db, kind: EntityKind, { id, name }: EntityRow): Promise<void> {
  const [owner] = await findNameOwners(tx, kind, id, [name])
  if (owner)
    throw new Problem(
      'name-taken',
      `The name of the merged ${kind} now belongs to ${kind} ${owner.slug}; nothing was changed`,
    )
  await showName(tx, kind, id, name)
}

/** Claims the former slug of an entity again, or a new one if another entity has it. */
async function claimOwnSlug(
  tx: Db,
  kind: EntityKind,
  { id, name, slug }: EntityRow,
  deadline: Deadline,
): Promise<string> {
  if (await claimSlug(tx, kind, id, slug)) return slug
  return retryOnConflict(deadline, async (attempt) => {
    const free = await freeEntitySlug(tx, kind, slugify(name), attempt)
    return (await claimSlug(tx, kind, id, free)) ? free : undefined
  })
}

/** Writes the version of the target without what it had of the merged entity. */
async function saveUnmergedTarget(
  tx: Db,
  kind: EntityKind,
  before: EntityRow,
  from: EntityRow,
  { after: { merged_into: firstTarget, filled = [] } }: MergeRow,
  context: WriteContext,
): Promise<void> {
  const current = (await findEntityById(tx, kind, before.id)) as EntityRow
  // If the first target was merged itself, its own undo takes back what the second one got.
  const after = firstTarget === before.id ? withoutFilled(kind, current, from, filled) : current
  const [oldFields, newFields] = [historyFieldsOf(kind, before), historyFieldsOf(kind, after)]
  const changed = [...new Set(['aliases', 'retired_slugs', ...changedFields(oldFields, newFields)])]
  const [old, now] = [pick(oldFields, changed), pick(newFields, changed)]
  await updateEntity(tx, kind, after, newChange(kind, 'updated', old, now, context))
}

const emptyAbout = { description: '', url: null, start_date: null, end_date: null }

/** Returns an entity without the details that it got from another one. */
function withoutFilled(
  kind: EntityKind,
  entity: EntityRow,
  source: EntityRow,
  filled: readonly string[],
): EntityRow {
  const about =
    entity.about && source.about
      ? removeFilled(entity.about, source.about, filled, emptyAbout)
      : entity.about
  const profile = removeFilled(
    fullProfile(kind, entity.profile),
    fullProfile(kind, source.profile),
    filled,
    fullProfile(kind, {}),
  )
  return { ...entity, about, profile: storedProfile(profile) }
}
