import { endpoints, openapi, readOpenapiEndpoint, streamEndpoints } from '@talkshelf/contract'
import type { FastifyInstance } from 'fastify'
import { authenticate } from './auth/auth.ts'
import { openStatisticsCache } from './catalogue/catalogue.ts'
import { catalogueRoutes } from './catalogue/routes.ts'
import type { Config } from './config.ts'
import { nextRenameBatch } from './directory/directory.ts'
import { directoryRoutes } from './directory/routes.ts'
import { entityRoutes } from './entities/routes.ts'
import { writeDueSnapshot } from './exports/exports.ts'
import { exportRoutes } from './exports/routes.ts'
import { factRoutes } from './facts/routes.ts'
import * as imports from './imports/imports.ts'
import { importRoutes } from './imports/routes.ts'
import { maintain } from './maintenance/maintenance.ts'
import { openMarkdown } from './markdown/markdown.ts'
import { openAssets } from './pages/assets.ts'
import { pageRoutes, readerProblemPage } from './pages/routes.ts'
import { fetchImage, openPictures } from './pictures/pictures.ts'
import { pictureRoutes } from './pictures/routes.ts'
import type { Pool } from './platform/db/pool.ts'
import { toJson } from './platform/http/json.ts'
import { createHttpServer, type HttpServerOptions } from './platform/http/server.ts'
import type { GuardOptions } from './platform/net/guard.ts'
import { startJobRunner } from './platform/ops/job-runner.ts'
import { createMetrics } from './platform/ops/metrics.ts'
import { timeoutsFor } from './platform/timeouts.ts'
import { qualityRoutes } from './quality/routes.ts'
import { referenceRoutes } from './reference/routes.ts'
import { syndicationRoutes } from './syndication/routes.ts'
import { version } from './version.ts'
import { videoRoutes } from './videos/routes.ts'
import { openRecordCache } from './videos/videos.ts'

// Everything that answers, in order, on one page.

/**
 * `imageHosts` loosens what thumbnails may be fetched from, for tests with a server of their own.
 */
export function createApp(
  config: Config,
  pool: Pool,
  logger: HttpServerOptions['logger'],
  imageHosts: GuardOptions = {},
): FastifyInstance {
  const all = [...Object.values(endpoints), ...Object.values(streamEndpoints)]
  const publicUrl = config.PUBLIC_URL.replace(/\/+$/, '')
  const basePath = publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  const base = () => publicUrl || listeningAt(http)

  const metrics = createMetrics(pool.figures)
  const bodies = openRecordCache(pool.lookups, config.CACHE_MB * 2 ** 20, metrics.read)

  const site = { name: config.SITE_NAME, basePath, origin: base, assets: openAssets() }
  const statisticsCache = openStatisticsCache(pool.lists, {
    onError: (error) => http.log.error({ err: error }, 'the archive could not be counted'),
  })

  const { http, mount, mountFast, mountPage, routeOf, links } = createHttpServer({
    endpoints: all,
    basePath,
    base,
    authenticate: (authorization) => authenticate(pool, authorization),
    logger,
    metrics,
    isReady: pool.lookups.isAnswering,
    pointsPerMinute: config.POINTS_PER_MINUTE,
    proxies: config.PROXIES,
    maxRequests: config.REQUESTS_AT_ONCE,
    answerMs: timeoutsFor(config.ANSWER_SECONDS).answerMs,
    problemPage: (problem, asked, requestId) => readerProblemPage(site, problem, asked, requestId),
  })

  const forget = (ids: readonly number[]) => ids.forEach(bodies.forget)
  const userAgent = () => `Talkshelf/${version} (+${base()})`
  const everyMs = config.RESUME_SECONDS * 1000
  const renames = startJobRunner(() => nextRenameBatch(pool), {
    everyMs,
    onChanged: forget,
    onError: (error) =>
      http.log.error({ err: error }, 'a batch of a rename was not done; it will be tried again'),
  })
  const onBatchFailure: imports.OnBatchFailure = (error, { id, done, batch_size }) =>
    http.log.warn(
      { err: error, import: id, done, batch_size },
      'a batch of an import failed; it is tried again or narrowed down',
    )
  const imported = startJobRunner(() => imports.nextImportBatch(pool, onBatchFailure), {
    everyMs,
    onChanged: forget,
    onError: (error) =>
      http.log.error({ err: error }, 'a batch of an import was not done; it will be tried again'),
  })
  const stopping = new AbortController()
  const written = {
    url: config.DATABASE_URL,
    folder: config.SNAPSHOT_DIR,
    keep: config.SNAPSHOT_KEEP,
    signal: stopping.signal,
  }
  const snapshots = startJobRunner(
    async () => {
      const it = await writeDueSnapshot(pool.lookups, written, config.SNAPSHOT_HOUR, new Date())
      if (it) http.log.info(it, 'a snapshot was written')
      return undefined
    },
    {
      everyMs: config.SNAPSHOT_DIR === '' ? 0 : 60_000,
      onChanged: () => {},
      onError: (error) =>
        stopping.signal.aborted ||
        http.log.error({ err: error }, 'a snapshot was not written; it will be tried again'),
    },
  )

  const maintenance = startJobRunner(
    async () => {
      await maintain(pool, {
        importDays: config.IMPORT_DAYS,
        everyHours: config.MAINTENANCE_HOURS,
        isStopped: () => stopping.signal.aborted,
        onDone: (task, removed) => http.log.info({ task, removed }, 'maintenance done'),
      })
      return undefined
    },
    {
      everyMs: config.MAINTENANCE_HOURS === 0 ? 0 : 600_000,
      onChanged: () => {},
      onError: (error) =>
        stopping.signal.aborted ||
        http.log.error({ err: error }, 'maintenance failed; it is tried again in an hour'),
    },
  )

  http.addHook('onClose', async () => {
    bodies.stop()
    stopping.abort()
    await Promise.all([renames.stop(), imported.stop(), snapshots.stop(), maintenance.stop()])
  })

  videoRoutes(mount, mountFast, pool, bodies, links)
  factRoutes(mount, pool, bodies)
  catalogueRoutes(mount, pool, bodies, links)
  entityRoutes(mount, pool, links)
  qualityRoutes(mount, pool, links)
  directoryRoutes(mount, pool, renames, forget)
  importRoutes(
    mount,
    pool,
    imported,
    (address) => imports.fetchFile(address, userAgent()),
    links,
    (error) => http.log.error({ err: error }, 'an import was not planned'),
  )
  exportRoutes(http, routeOf, config.DATABASE_URL)
  // Made when it is first asked for, because the address is not known before, and kept: it takes
  // some milliseconds.
  let description: string | undefined
  mount(readOpenapiEndpoint, () => {
    description ??= toJson(openapi(all, version, base()))
    return { body: description, headers: { 'cache-control': 'public, no-cache' } }
  })
  const pictures = openPictures({
    fetchImage: (address, signal) =>
      fetchImage(address, { userAgent: userAgent(), signal, ...imageHosts }),
    cacheBytes: config.PICTURE_CACHE_MB * 2 ** 20,
    folder: config.PICTURE_DIR,
    folderBytes: config.PICTURE_DIR_MB * 2 ** 20,
    log: http.log,
  })
  pictureRoutes(http, mountPage, bodies, pictures)
  referenceRoutes(http, basePath, base)
  const markdown = openMarkdown()
  pageRoutes(mountPage, pool, bodies, statisticsCache, markdown, site)
  syndicationRoutes(http, mountPage, pool, bodies, markdown, site)
  return http
}

function listeningAt(http: FastifyInstance): string {
  const address = http.server.address()
  if (typeof address !== 'object' || address === null) return ''
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
