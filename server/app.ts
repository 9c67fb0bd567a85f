import { endpoints, files, openapi, readOpenapi } from '@talkshelf/contract'
import type { FastifyInstance } from 'fastify'
import { authenticate } from './auth/auth.ts'
import { openAlmanac } from './catalogue/catalogue.ts'
import { catalogueRoutes } from './catalogue/routes.ts'
import type { Config } from './config.ts'
import { nextSnapshot } from './exports/exports.ts'
import { exportRoutes } from './exports/routes.ts'
import { factRoutes } from './facts/routes.ts'
import { feedRoutes } from './feeds/routes.ts'
import * as imports from './imports/imports.ts'
import { importRoutes } from './imports/routes.ts'
import { nextBatch } from './names/names.ts'
import { nameRoutes } from './names/routes.ts'
import { openAssets } from './pages/assets.ts'
import { pageRoutes, problemPage } from './pages/routes.ts'
import { fetchImage, openPictures } from './pictures/pictures.ts'
import { pictureRoutes } from './pictures/routes.ts'
import type { Pool } from './platform/db/pool.ts'
import { toJson } from './platform/http/json.ts'
import { createHttp, type HttpOptions } from './platform/http/server.ts'
import { openBatches } from './platform/ops/batches.ts'
import { createMetrics } from './platform/ops/metrics.ts'
import { timesFor } from './platform/times.ts'
import { qualityRoutes } from './quality/routes.ts'
import { referenceRoutes } from './reference/routes.ts'
import { version } from './version.ts'
import { videoRoutes } from './videos/routes.ts'
import { openBodies } from './videos/videos.ts'
import { vocabularyRoutes } from './vocabulary/routes.ts'

// Everything that answers, in order, on one page.

export function createApp(config: Config, pool: Pool, logger: HttpOptions['logger']): FastifyInstance {
  const all = [...Object.values(endpoints), ...Object.values(files)]
  const publicUrl = config.PUBLIC_URL.replace(/\/+$/, '')
  const basePath = publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  const base = () => publicUrl || listeningAt(http)

  const metrics = createMetrics(pool.figures)
  const bodies = openBodies(pool.lookups, config.CACHE_MB * 2 ** 20, metrics.read)

  const site = { name: config.SITE_NAME, basePath, origin: base, assets: openAssets() }
  const almanac = openAlmanac(pool.lists, { onError: (error) => http.log.error({ err: error }, 'the archive could not be counted') })

  const { http, mount, mountFast, mountPage, routeOf, links } = createHttp({
    endpoints: all,
    basePath,
    base,
    authenticate: (authorization) => authenticate(pool, authorization),
    logger,
    metrics,
    isReady: pool.lookups.isAnswering,
    pointsPerMinute: config.POINTS_PER_MINUTE,
    proxies: config.PROXIES,
    mostRequests: config.REQUESTS_AT_ONCE,
    answerMs: timesFor(config.ANSWER_SECONDS).answerMs,
    problemPage: (problem, asked, requestId) => problemPage(site, problem, asked, requestId),
  })

  const forget = (ids: readonly number[]) => ids.forEach(bodies.forget)
  const userAgent = () => `Talkshelf/${version} (+${base()})`
  const everyMs = config.RESUME_SECONDS * 1000
  const renames = openBatches(() => nextBatch(pool), {
    everyMs,
    onChanged: forget,
    onError: (error) => http.log.error({ err: error }, 'a batch of a rename was not done; it will be tried again'),
  })
  const imported = openBatches(() => imports.nextBatch(pool), {
    everyMs,
    onChanged: forget,
    onError: (error) => http.log.error({ err: error }, 'a batch of an import was not done; it will be tried again'),
  })
  const stopping = new AbortController()
  const written = { url: config.DATABASE_URL, folder: config.SNAPSHOT_DIR, keep: config.SNAPSHOT_KEEP, signal: stopping.signal }
  const snapshots = openBatches(
    async () => {
      const it = await nextSnapshot(written, config.SNAPSHOT_HOUR, new Date())
      if (it) http.log.info(it, 'a snapshot was written')
      return undefined
    },
    {
      everyMs: config.SNAPSHOT_DIR === '' ? 0 : 60_000,
      onChanged: () => {},
      onError: (error) => stopping.signal.aborted || http.log.error({ err: error }, 'a snapshot was not written; it will be tried again'),
    },
  )

  http.addHook('onClose', async () => {
    bodies.stop()
    stopping.abort()
    await Promise.all([renames.stop(), imported.stop(), snapshots.stop()])
  })

  videoRoutes(mount, mountFast, pool, bodies, links)
  factRoutes(mount, pool, bodies)
  catalogueRoutes(mount, pool, bodies, links)
  vocabularyRoutes(mount, pool, links)
  qualityRoutes(mount, pool, links)
  nameRoutes(mount, pool, renames, forget)
  importRoutes(
    mount,
    pool,
    imported,
    (address) => imports.fetchFile(address, userAgent()),
    links,
    (error) => http.log.error({ err: error }, 'an import was not planned'),
  )
  exportRoutes(http, routeOf, config.DATABASE_URL)
  // Made when it is first asked for, because the address is not known before, and kept: it takes some milliseconds.
  let description: string | undefined
  mount(readOpenapi, () => {
    description ??= toJson(openapi(all, version, base()))
    return { body: description, headers: { 'cache-control': 'public, no-cache' } }
  })
  const pictures = openPictures({
    fetchImage: (address, signal) => fetchImage(address, { userAgent: userAgent(), signal }),
    cacheBytes: config.PICTURE_CACHE_MB * 2 ** 20,
    folder: config.PICTURE_DIR,
    folderBytes: config.PICTURE_DIR_MB * 2 ** 20,
    log: http.log,
  })
  pictureRoutes(http, mountPage, bodies, pictures)
  referenceRoutes(http, basePath, base)
  pageRoutes(mountPage, pool, bodies, almanac, site)
  feedRoutes(http, mountPage, pool, bodies, site)
  return http
}

function listeningAt(http: FastifyInstance): string {
  const address = http.server.address()
  if (typeof address !== 'object' || address === null) return ''
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
