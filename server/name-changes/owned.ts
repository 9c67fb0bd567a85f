import { type Fact, type FieldError, Problem, type Video } from '@talkshelf/contract'
import { auditOriginOf } from '../auth/auth.ts'
import { announceTakedown } from '../change-feed/change-feed.ts'
import type { WriteContext } from '../changes/changes.ts'
import { parseEntityPatch, patchEntity } from '../directory/directory.ts'
import {
  deleteSlugs,
  type EntityKind,
  type EntityRow,
  entityEtag,
  findEntityById,
  type NameReplacer,
} from '../entities/entities.ts'
import { findFactsById, writeFacts } from '../facts/facts.ts'
import type { Pool } from '../platform/db/pool.ts'
import { readSynonyms, replaceSynonyms } from '../search/search.ts'
import { lockAndReadBodies, rewriteTakedownReason, rewriteTexts } from '../videos/videos.ts'
import type { FoundRow } from './queries.ts'
import type { KeptFields } from './replace.ts'

// Replaces a name where the feature that owns the row has to do it: in records, facts, speakers,
// tags, events and synonyms. Each gets a new version, as with any other edit.

interface Rewrite {
  readonly replacer: NameReplacer
  readonly kept: KeptFields
  readonly context: WriteContext
}

export interface OwnerResult {
  readonly isChanged: boolean
  /** The ids of the records that changed. */
  readonly records: readonly number[]
  /** Fields that would become invalid, and stay. */
  readonly refused: readonly string[]
}

/** As in the contract. */
const maxReasonLength = 1000
const unchanged: OwnerResult = { isChanged: false, records: [], refused: [] }

/** Replaces the name in a row of a table that is not changed directly. */
export async function rewriteOwned(
  pool: Pool,
  table: string,
  { id, subject }: FoundRow,
  rewrite: Rewrite,
): Promise<OwnerResult> {
  const kept = rewrite.kept.get(subject ?? '') ?? new Set<string>()
  const owned = { ...rewrite, kept }
  if (id === null) return unchanged
  if (table === 'video') return rewriteVideo(pool, id, owned)
  if (table === 'video_body') return rewriteTakedown(pool, id, owned)
  if (table === 'video_facts') return rewriteFacts(pool, id, owned)
  if (table === 'synonym') return rewriteSynonyms(pool, owned)
  return rewriteEntity(pool, table as EntityKind, id, owned)
}

type OwnedRewrite = Omit<Rewrite, 'kept'> & { readonly kept: ReadonlySet<string> }

/** Fields of a record that are names of entities: they change with the entity. */
const nameFields = ['category', 'language', 'speakers', 'tags']

async function rewriteVideo(
  pool: Pool,
  id: number,
  { replacer, kept, context }: OwnedRewrite,
): Promise<OwnerResult> {
  const others = new Set([...kept, ...nameFields])
  const rewrite = (video: Video) => replacer.value(video, others)
  const { isChanged, refused } = await pool.transaction((tx) =>
    rewriteTexts(tx, id, rewrite, context),
  )
  return { isChanged, records: isChanged ? [id] : [], refused }
}

/** Replaces the name in the reason of a takedown, and tells followers. */
async function rewriteTakedown(
  pool: Pool,
  id: number,
  { replacer, kept }: OwnedRewrite,
): Promise<OwnerResult> {
  if (kept.has('taken_down')) return unchanged
  const isChanged = await pool.transaction(async (tx) => {
    const isRewritten = await rewriteTakedownReason(tx, id, (reason) =>
      replacer.text(reason).slice(0, maxReasonLength).toWellFormed(),
    )
    if (isRewritten) await announceTakedown(tx, id)
    return isRewritten
  })
  return { ...unchanged, isChanged, records: isChanged ? [id] : [] }
}

async function rewriteFacts(
  pool: Pool,
  id: number,
  { replacer, kept, context }: OwnedRewrite,
): Promise<OwnerResult> {
  if (kept.has('facts')) return unchanged
  const written = await pool.transaction(async (tx) => {
    await lockAndReadBodies(tx, [id])
    const facts = (await findFactsById(tx, [id])).get(id)?.facts ?? []
    const replaced = replacer.value(facts, factKeys) as readonly Fact[]
    return replaced === facts ? new Map() : writeFacts(tx, [{ id, facts: replaced }], context)
  })
  return { ...unchanged, isChanged: written.size > 0, records: [...written.keys()] }
}

const factKeys: ReadonlySet<string> = new Set(['kind'])

async function rewriteSynonyms(
  pool: Pool,
  { replacer, kept, context }: OwnedRewrite,
): Promise<OwnerResult> {
  if (kept.size > 0) return unchanged
  const { body, etag } = await readSynonyms(pool)
  const { groups } = JSON.parse(body) as { groups: string[][] }
  const seen = new Set<string>()
  const isNew = (term: string) => !seen.has(term.toLowerCase()) && seen.add(term.toLowerCase())
  const replaced = groups
    .map((group) => group.map((term) => replacer.text(term)).filter(isNew))
    .filter((group) => group.length > 1)
  try {
    const origin = auditOriginOf(context.origin)
    const after = await replaceSynonyms(
      pool,
      { groups: replaced },
      { ifMatch: `"${etag}"`, origin },
    )
    return { ...unchanged, isChanged: after.etag !== etag }
  } catch (error) {
    if (isStale(error)) return unchanged
    return { ...unchanged, refused: refusedFields(error, 'term', ['term']) }
  }
}

/** Tells whether another writer was faster. The row is found again in the next pass. */
const isStale = (error: unknown) => error instanceof Problem && error.problem === 'stale-revision'

/** Returns the fields whose values an error refuses. Throws other errors. */
function refusedFields(error: unknown, nameField: string, fields: readonly string[]): string[] {
  if (!(error instanceof Problem)) throw error
  // Without the name, an alias is taken.
  if (error.problem === 'name-taken') return fields.includes(nameField) ? [nameField] : [...fields]
  if (error.problem !== 'invalid-fields') throw error
  const errors = (error.more.errors ?? []) as readonly FieldError[]
  const pointed = errors.map(({ pointer }) => pointer.split('/')[1] ?? '')
  const refused = fields.filter((field) => pointed.includes(field))
  return refused.length > 0 ? refused : [...fields]
}

/**
 * Replaces the name in an entity. Its old names and slugs with it are deleted: none of them is an
 * alias, and none redirects. Fields that are refused stay.
 */
async function rewriteEntity(
  pool: Pool,
  kind: EntityKind,
  id: number,
  { replacer, kept, context }: OwnedRewrite,
): Promise<OwnerResult> {
  const entity = await findEntityById(pool, kind, id)
  if (!entity) return unchanged
  const { name, about, profile } = entity
  const nameField = kind === 'category' ? 'title' : 'name'
  const newName = kept.has(nameField) ? name : replacer.text(name)
  const texts = { ...about, ...profile }
  const records: number[] = []
  const refused: string[] = []
  let isChanged = false
  /** Writes what is valid of these fields, unless the entity has changed since it was read. */
  async function write(base: EntityRow, wanted: Record<string, unknown>): Promise<void> {
    const ifMatch = `"${entityEtag(kind, base)}"`
    for (let fields = wanted; Object.keys(fields).length > 0; )
      try {
        const patch = parseEntityPatch(kind, fields)
        const written = await patchEntity(pool, kind, base.slug, patch, { ...context, ifMatch })
        records.push(...written.changed)
        isChanged = true
        return
      } catch (error) {
        const found = refusedFields(error, nameField, Object.keys(fields))
        refused.push(...found)
        const isValid = ([field]: [string, unknown]) => !found.includes(field)
        fields = Object.fromEntries(Object.entries(fields).filter(isValid))
      }
  }
  try {
    await write(entity, {
      ...(newName !== name && { [nameField]: newName }),
      ...changedOf(texts, replacer.value(texts, kept)),
    })
    await writeAliases()
  } catch (error) {
    if (!isStale(error)) throw error
    return { isChanged, records, refused }
  }
  const slugs = await deleteOldSlugs()
  isChanged ||= slugs.deleted > 0
  // A slug changes only with its name.
  if (!isChanged && refused.length === 0 && slugs.hasOldName) refused.push('slug')
  return { isChanged, records, refused }

  /** Replaces the name in aliases. After a rename, the old name is one of them. */
  async function writeAliases(): Promise<void> {
    const current = await findEntityById(pool, kind, id)
    if (!current || kept.has('aliases')) return
    const aliases = current.aliases
      .map((alias) => ({ ...alias, name: replacer.text(alias.name) }))
      .filter(
        (alias, index, all) =>
          alias.name !== current.name &&
          all.findIndex((other) => other.name === alias.name) === index,
      )
    if (JSON.stringify(aliases) !== JSON.stringify(current.aliases))
      await write(current, { aliases })
  }

  async function deleteOldSlugs(): Promise<{ deleted: number; hasOldName: boolean }> {
    const current = await findEntityById(pool, kind, id)
    if (!current) return { deleted: 0, hasOldName: false }
    const isOld = (slug: string) => replacer.value({ slug }).slug !== slug
    const hasOldName = !kept.has(nameField) && isOld(current.slug)
    const old = [...current.old_slugs, ...current.retired_slugs].filter(isOld)
    const isDeleted = old.length > 0 && !kept.has('old_slugs')
    return { deleted: isDeleted ? await deleteSlugs(pool, kind, id, old) : 0, hasOldName }
  }
}

function changedOf(before: object, after: object): object {
  const old = before as Record<string, unknown>
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => value !== old[key]))
}
