import { listCategories, listLanguages, listSpeakers, listTags, listVideos, readRelated, suggest, type Video } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { Links } from '../platform/http/server.ts'
import * as search from '../search/search.ts'
import { type Bodies, readVideo } from '../videos/videos.ts'
import * as catalogue from './catalogue.ts'
import { sent, version } from './sent.ts'

export function catalogueRoutes(mount: Mount, pool: Pool, bodies: Bodies, links: Links): void {
  const db = pool.lists

  mount(listVideos, async (asked) => {
    const page = await catalogue.listRecords(pool, asked.query)
    return sent(asked, page, links.to(listVideos, {}), page.extra)
  })

  mount(suggest, async (asked) =>
    version(asked, toJson(await search.answered(pool.searches, search.suggest(pool.searches, asked.query.q ?? '')))),
  )

  mount(readRelated, async (asked) => {
    const { body } = await readVideo(bodies, asked.actor, asked.params.id)
    const related = await catalogue.relatedTo(pool, JSON.parse(body) as Video)
    // The records are JSON already, as they are served one by one.
    return version(asked, `{${Object.entries(related).map(([list, records]) => `"${list}":[${records.join(',')}]`)}}`)
  })

  const kinds: [typeof listTags | typeof listCategories | typeof listSpeakers | typeof listLanguages, catalogue.Kind][] = [
    [listCategories, 'category'],
    [listSpeakers, 'speaker'],
    [listTags, 'tag'],
    [listLanguages, 'language'],
  ]
  for (const [list, kind] of kinds)
    mount(list, async (asked) => sent(asked, await catalogue.listThingsOf(db, kind, asked.query), links.to(list, {})))
}
