import { CategoryInput, CategoryPatch, createCategory, patchCategory, readCategory, valid } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { etag, isUnchanged } from '../platform/http/conditional.ts'
import type { Mount } from '../platform/http/mount.ts'
import { requestOf } from '../platform/http/request.ts'
import type { Links } from '../platform/http/server.ts'
import * as vocabulary from './vocabulary.ts'

export function vocabularyRoutes(mount: Mount, pool: Pool, links: Links): void {
  mount(createCategory, async (asked) => {
    const input = valid(CategoryInput, tidied(asked.body))
    const { category, body, tag } = await vocabulary.createCategory(pool, input, requestOf(createCategory, asked))
    return { body, tag, headers: { location: links.to(readCategory, { slug: category.slug }) } }
  })

  mount(readCategory, async ({ params, headers, as }) => {
    const { body, tag } = await vocabulary.readCategory(pool, params.slug)
    return { status: isUnchanged(headers['if-none-match'], etag(tag, as)) ? 304 : 200, body, tag }
  })

  mount(patchCategory, async (asked) => {
    const patch = valid(CategoryPatch, tidied(asked.body))
    return vocabulary.patchCategory(pool, asked.params.slug, patch, requestOf(patchCategory, asked))
  })
}

function tidied(body: unknown): unknown {
  const { title } = body as { title?: unknown }
  return typeof title === 'string' ? { ...(body as object), title: vocabulary.tidyName(title) } : body
}
