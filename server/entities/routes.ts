import {
  CategoryInput,
  createCategoryEndpoint,
  readCategoryEndpoint,
  readSpeakerEndpoint,
  readTagEndpoint,
  validate,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { matchesIfNoneMatch, representationEtag } from '../platform/http/conditional.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import * as vocabulary from './entities.ts'

export function entityRoutes(mount: Mount, pool: Pool, urls: SiteUrls): void {
  mount(createCategoryEndpoint, async (call) => {
    const input = validate(CategoryInput, vocabulary.normalizeEntityInput(call.body))
    const { slug, body, tag } = await vocabulary.createCategory(
      pool,
      input,
      writeContext(createCategoryEndpoint, call),
    )
    return { body, tag, headers: { location: urls.to(readCategoryEndpoint, { slug }) } }
  })

  const kinds: [
    typeof readCategoryEndpoint | typeof readSpeakerEndpoint | typeof readTagEndpoint,
    vocabulary.EntityKind,
  ][] = [
    [readCategoryEndpoint, 'category'],
    [readSpeakerEndpoint, 'speaker'],
    [readTagEndpoint, 'tag'],
  ]
  for (const [read, kind] of kinds)
    mount(read, async ({ params, headers, as, actor, format }) => {
      const isReader = actor.role === 'anyone'
      const found = await vocabulary.readEntity(pool.lists, kind, params.slug, actor.role)
      if ('moved' in found) {
        const location = urls.to(read, { slug: found.moved }) + (format ? `?format=${format}` : '')
        // Not for ever, as caches would take it: it may move again.
        return {
          status: 301,
          body: '',
          headers: {
            location,
            'cache-control': isReader ? 'public, max-age=60' : 'private, no-store',
          },
        }
      }
      const { body, tag } = found
      return {
        status: matchesIfNoneMatch(headers['if-none-match'], representationEtag(tag, as))
          ? 304
          : 200,
        body,
        tag,
        headers: { 'cache-control': isReader ? 'public, no-cache' : 'private, no-store' },
      }
    })
}
