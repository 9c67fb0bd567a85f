import { type Category, type CategoryInput, type CategoryPatch, invalidFields, Problem } from '@talkshelf/contract'
import { type NewChange, precondition, type Request, stillWanted } from '../changes/changes.ts'
import { type Db, Taken } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionTag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { slugify } from '../platform/slug.ts'
import {
  type CategoryRow,
  findCategory,
  freeVocabularySlug,
  insertCategory,
  lockCategory,
  nextCategoryId,
  updateCategory,
} from './queries.ts'

/** A category with its version, ready to send. */
export interface SentCategory {
  readonly category: Category
  readonly body: string
  readonly tag: string
}

export async function readCategory(db: Db, slug: string): Promise<SentCategory> {
  return sent((await findCategory(db, slug)) ?? notFound())
}

export async function createCategory(db: Db, input: CategoryInput, request: Request): Promise<SentCategory> {
  const { id } = await nextCategoryId(db)
  const base = slugify(input.title)
  const { title, description = '', url = null, start_date = null, end_date = null } = input
  for (let attempt = 1; ; attempt++) {
    const category: Category = {
      id,
      title,
      slug: await freeVocabularySlug(db, 'category', base, attempt),
      description,
      url,
      start_date,
      end_date,
    }
    try {
      stillWanted(request)
      await insertCategory(db, category, { ...changeOf(request), kind: 'created', before: {}, after: category })
      return sent({ ...category, revision: 1 })
    } catch (error) {
      if (error instanceof Taken && error.index === 'category_title')
        throw new Problem('category-exists', 'A category with this title exists')
      if (!(error instanceof Taken && error.index === 'category_slug')) throw error
    }
  }
}

export function patchCategory(pool: Pool, slug: string, patch: CategoryPatch, request: Request): Promise<SentCategory> {
  return pool.transaction(async (tx) => {
    const row = (await lockCategory(tx, slug)) ?? notFound()
    const { revision, ...before } = row
    const current = sent(row)
    // The row is locked, so it can't have moved.
    if ((await precondition(tx, 'category', { id: row.id, revision, tag: current.tag }, request)) !== 'proceed') return current
    if (patch.title !== undefined && patch.title !== before.title)
      throw invalidFields([{ pointer: '/title', code: 'not-changeable', detail: 'cannot be changed yet' }])

    const { id, slug: _, title, ...rest } = { ...before, ...patch, id: before.id, slug: before.slug }
    const after: Category = {
      id,
      title,
      slug,
      description: rest.description,
      url: rest.url,
      start_date: rest.start_date,
      end_date: rest.end_date,
    }
    const changed = (Object.keys(after) as (keyof Category)[]).filter((field) => after[field] !== before[field])
    if (changed.length === 0) return current
    const only = (it: Category) => Object.fromEntries(changed.map((field) => [field, it[field]]))
    stillWanted(request)
    await updateCategory(tx, after, { ...changeOf(request), kind: 'updated', before: only(before), after: only(after) })
    return sent({ ...after, revision: revision + 1 })
  })
}

function changeOf({ origin, hash }: Request): Pick<NewChange, 'subject' | 'ids' | 'at' | 'origin' | 'requestHash'> {
  return { subject: 'category', ids: {}, at: new Date().toISOString(), origin, requestHash: hash }
}

function sent({ id, title, slug, description, url, start_date, end_date, revision }: CategoryRow): SentCategory {
  const category = { id, title, slug, description, url, start_date, end_date }
  const body = toJson(category)
  return { category, body, tag: versionTag(id, revision, body) }
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such category')
}
