import {
  createFollowedSourceEndpoint,
  deleteFollowedSourceEndpoint,
  FollowedSourceInput,
  FollowedSourcePatch,
  fetchFollowedSourceEndpoint,
  listFollowedSourcesEndpoint,
  patchFollowedSourceEndpoint,
  readFollowedSourceEndpoint,
  validate,
} from '@talkshelf/contract'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import type { FollowedSources } from './followed-sources.ts'

/** Mounts the endpoints of followed sources. */
export function followedSourceRoutes(mount: Mount, sources: FollowedSources, urls: SiteUrls): void {
  const headers = { 'cache-control': 'private, no-store' }
  const respond = (value: object) => ({ body: toJson(value), headers })

  mount(listFollowedSourcesEndpoint, async () => respond({ results: await sources.list() }))

  mount(createFollowedSourceEndpoint, async ({ body, origin }) => {
    const created = await sources.create(validate(FollowedSourceInput, body), origin)
    const location = urls.to(readFollowedSourceEndpoint, { id: created.id })
    return { ...respond(created), headers: { ...headers, location } }
  })

  mount(readFollowedSourceEndpoint, async ({ params }) => respond(await sources.read(params.id)))

  mount(patchFollowedSourceEndpoint, async ({ params, body, origin }) =>
    respond(await sources.change(params.id, validate(FollowedSourcePatch, body), origin)),
  )

  mount(fetchFollowedSourceEndpoint, async ({ params }) =>
    respond(await sources.fetchNow(params.id)),
  )

  mount(deleteFollowedSourceEndpoint, async ({ params, origin }) =>
    respond(await sources.remove(params.id, origin)),
  )
}
