import { CategoryInput, createCategory, readCategory, readSpeaker, readTag, valid } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { etag, isUnchanged } from '../platform/http/conditional.ts'
import type { Mount } from '../platform/http/mount.ts'
import { requestOf } from '../platform/http/request.ts'
import type { Links } from '../platform/http/server.ts'
import * as vocabulary from './vocabulary.ts'

export function vocabularyRoutes(mount: Mount, pool: Pool, links: Links): void {
  mount(createCategory, async (asked) => {
    const input = valid(CategoryInput, vocabulary.tidied(asked.body))
    const { slug, body, tag } = await vocabulary.createCategory(pool, input, requestOf(createCategory, asked))
    return { body, tag, headers: { location: links.to(readCategory, { slug }) } }
  })

  const kinds: [typeof readCategory | typeof readSpeaker | typeof readTag, vocabulary.Kind][] = [
    [readCategory, 'category'],
    [readSpeaker, 'speaker'],
    [readTag, 'tag'],
  ]
  for (const [read, kind] of kinds)
    mount(read, async ({ params, headers, as, actor, format }) => {
      const isReader = actor.role === 'anyone'
      const found = await vocabulary.readThing(pool.lists, kind, params.slug, actor.role)
      if ('moved' in found) {
        const location = links.to(read, { slug: found.moved }) + (format ? `?format=${format}` : '')
        // Not for ever, as caches would take it: it may move again.
        return { status: 301, body: '', headers: { location, 'cache-control': isReader ? 'public, max-age=60' : 'private, no-store' } }
      }
      const { body, tag } = found
      return {
        status: isUnchanged(headers['if-none-match'], etag(tag, as)) ? 304 : 200,
        body,
        tag,
        headers: { 'cache-control': isReader ? 'public, no-cache' : 'private, no-store' },
      }
    })
}
