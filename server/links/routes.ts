import {
  type AtRiskReport,
  acceptReplacementEndpoint,
  checkSourceEndpoint,
  listReplacementsEndpoint,
  listSourceHistoryEndpoint,
  listSourcesEndpoint,
  listVideoSourcesEndpoint,
  patchSourceEndpoint,
  readAtRiskEndpoint,
  refuseReplacementEndpoint,
  SourcePatch,
  validate,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { collectionResponse } from '../platform/http/collection-response.ts'
import { listPolicy, recordPolicy } from '../platform/http/edge-policy.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import type { RefreshedValue } from '../platform/ops/refreshed-value.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as links from './links.ts'

/** Mounts the endpoints of sources. */
export function linkRoutes(
  mount: Mount,
  pool: Pool,
  recordCache: RecordCache,
  report: RefreshedValue<AtRiskReport>,
  /** Undefined if this process checks no links. */
  checks: Pick<JobRunner, 'wake'> | undefined,
  urls: SiteUrls,
): void {
  const headers = { 'cache-control': 'private, no-store' }

  mount(listVideoSourcesEndpoint, async ({ params, actor }) => {
    // Throws if the actor may not see the record. A merged record has the sources of its target.
    const { id } = await readVideo(recordCache, actor, params.id)
    const results = await links.listVideoSources(pool.lookups, id, actor.role)
    return { body: toJson({ results }), edge: () => recordPolicy(params.id, id) }
  })

  mount(listSourcesEndpoint, async (call) => {
    const page = await links.listSources(pool.lists, call.query, call.actor.role)
    return collectionResponse(call, page, urls.to(listSourcesEndpoint, {}))
  })

  mount(readAtRiskEndpoint, async () => ({
    body: toJson(await report.read()),
    edge: () => listPolicy(),
  }))

  mount(listSourceHistoryEndpoint, async ({ params, actor }) => {
    const results = await links.listSourceHistory(pool.lookups, params.id, actor.role)
    return { body: toJson({ results }), edge: () => listPolicy() }
  })

  mount(checkSourceEndpoint, async ({ params }) => {
    const source = await links.requestCheck(pool, params.id)
    checks?.wake()
    return { body: toJson(source), headers }
  })

  mount(patchSourceEndpoint, async ({ params, body, origin }) => {
    const { pin } = validate(SourcePatch, body)
    return { body: toJson(await links.pinSource(pool, params.id, pin, origin)), headers }
  })
}

/** Mounts the endpoints of replacements. `forget` removes changed records from the cache. */
export function replacementRoutes(
  mount: Mount,
  pool: Pool,
  urls: SiteUrls,
  forget: (ids: readonly number[]) => void,
): void {
  const respond = ({ replacement, changed }: links.DecidedReplacement) => {
    if (changed !== undefined) forget([changed])
    return { body: toJson(replacement) }
  }

  mount(listReplacementsEndpoint, async (call) => {
    const page = await links.listReplacements(pool.lists, call.query, call.actor)
    return collectionResponse(call, page, urls.to(listReplacementsEndpoint, {}))
  })

  mount(acceptReplacementEndpoint, async (call) => {
    const context = writeContext(acceptReplacementEndpoint, call)
    return respond(await links.acceptReplacement(pool, call.params.id, context))
  })

  mount(refuseReplacementEndpoint, async (call) => {
    const context = writeContext(refuseReplacementEndpoint, call)
    return respond(await links.refuseReplacement(pool, call.params.id, context))
  })
}
