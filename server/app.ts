import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  endpoints,
  openapi,
  Problem,
  readOpenapiEndpoint,
  streamEndpoints,
} from '@talkshelf/contract'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import {
  authenticate,
  describeRefusal,
  type OpenidProvider,
  openProvider,
  type SignInRefused,
} from './auth/auth.ts'
import { authRoutes } from './auth/routes.ts'
import { openStatisticsCache } from './catalogue/catalogue.ts'
import { catalogueRoutes } from './catalogue/routes.ts'
import { type FeedFollower, followFeed } from './change-feed/change-feed.ts'
import { changeFeedRoutes } from './change-feed/routes.ts'
import type { Config } from './config.ts'
import { deskRoutes } from './desk/routes.ts'
import { redactLinks } from './desk/sign-in.ts'
import { nextRenameBatch } from './directory/directory.ts'
import { directoryRoutes } from './directory/routes.ts'
import {
  createAdapter,
  createEdgeHeaders,
  type EdgeTarget,
  type Purger,
  parseEdgeTarget,
  repetitionsFor,
  startPurger,
} from './edge/edge.ts'
import { edgeRoutes, fetchCanary } from './edge/routes.ts'
import { writeDueSnapshot } from './exports/exports.ts'
import { exportRoutes } from './exports/routes.ts'
import { factRoutes } from './facts/routes.ts'
import * as imports from './imports/imports.ts'
import { importRoutes } from './imports/routes.ts'
import { maintain } from './maintenance/maintenance.ts'
import { openMarkdown } from './markdown/markdown.ts'
import { mergeRoutes } from './merges/routes.ts'
import { openAssets } from './pages/assets.ts'
import { pageRoutes, readerProblemPage } from './pages/routes.ts'
import { fetchImage, findPicture, openPictures } from './pictures/pictures.ts'
import { pictureRoutes, uploadedPictureRoute, uploadRoutes } from './pictures/routes.ts'
import type { Pool } from './platform/db/pool.ts'
import { describeWriteError } from './platform/files.ts'
import { listPolicy } from './platform/http/edge-policy.ts'
import { toJson } from './platform/http/json.ts'
import type { Mount } from './platform/http/mount.ts'
import { createHttpServer, type HttpServerOptions } from './platform/http/server.ts'
import { parseNetworks } from './platform/net/addresses.ts'
import type { GuardOptions } from './platform/net/guard.ts'
import { type Mailer, openMailer } from './platform/net/mail.ts'
import { type JobRunner, startJobRunner } from './platform/ops/job-runner.ts'
import { createMetrics, type Metrics } from './platform/ops/metrics.ts'
import { timeoutsFor } from './platform/timeouts.ts'
import { publishDue } from './publication/publication.ts'
import { publicationRoutes } from './publication/routes.ts'
import { qualityRoutes } from './quality/routes.ts'
import { referenceRoutes } from './reference/routes.ts'
import { searchRoutes } from './search/routes.ts'
import { syndicationRoutes } from './syndication/routes.ts'
import { version } from './version.ts'
import { videoRoutes } from './videos/routes.ts'
import { openRecordCache } from './videos/videos.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { listLags, openWebhooks, startDeliveries, type Webhooks } from './webhooks/webhooks.ts'

// Assembles the service: opens caches, starts background jobs and mounts the routes of features.

/** How long the app waits for background jobs when it is closed. */
const maxStopMs = 10_000

/**
 * Creates the app. `imageHosts` lets tests fetch thumbnails from a server of their own. `source` is
 * the URL of the archive that this one is a copy of: then it is read-only.
 */
export function createApp(
  config: Config,
  pool: Pool,
  logger: HttpServerOptions['logger'],
  imageHosts: GuardOptions = {},
  source?: string,
): FastifyInstance {
  const allEndpoints = [...Object.values(endpoints), ...Object.values(streamEndpoints)]
  const publicUrl = config.PUBLIC_URL.replace(/\/+$/, '')
  const basePath = publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  const publicOrigin = publicUrl === '' ? undefined : new URL(publicUrl).origin
  const base = () => publicUrl || listenUrl(http)
  const userAgent = () => `Talkshelf/${version} (+${base()})`

  const metrics = createMetrics(pool.figures)
  const edgeTarget = parseEdgeTarget(config.EDGE)
  // With an edge, records come from the database: what it requests after a purge must be new.
  const cacheBytes = edgeTarget ? 0 : config.CACHE_MB * 2 ** 20
  const recordCache = openRecordCache(pool.lookups, cacheBytes, metrics.read)
  const statisticsCache = openStatisticsCache(pool.lists, {
    onError: (error) => http.log.error({ err: error }, 'cannot compute the statistics'),
  })
  const site = { name: config.SITE_NAME, basePath, origin: base, assets: openAssets(), source }

  const release = releaseHash([
    version,
    site.assets.script,
    site.assets.style,
    site.name,
    publicUrl,
    source ?? '',
  ])
  const edge = edgeTarget && createEdgeHeaders(edgeTarget, release)
  let purger: Purger | undefined

  const server = createHttpServer({
    endpoints: allEndpoints,
    basePath,
    publicOrigin,
    base,
    authenticate: (authorization) => authenticate(pool, authorization),
    logger,
    metrics,
    isReady: pool.lookups.isAnswering,
    pointsPerMinute: config.POINTS_PER_MINUTE,
    proxies: config.PROXIES,
    maxRequests: config.REQUESTS_AT_ONCE,
    answerMs: timeoutsFor(config.ANSWER_SECONDS).answerMs,
    redactUrl: redactLinks,
    edge,
    healthDetails: () => (purger ? { edge: purger.isBehind() ? 'behind' : 'purged' } : {}),
    problemPage: (problem, request, id) => readerProblemPage(site, problem, request, id),
  })
  const { http, mount, mountFast, mountPage, routeOf, links } = server

  if (source !== undefined)
    http.addHook('onRequest', async ({ method }) => {
      if (!['GET', 'HEAD', 'OPTIONS'].includes(method))
        throw new Problem('read-only', `This is a copy of ${source}. Make the change there.`)
    })

  const forget = (ids: readonly number[]) => ids.forEach(recordCache.forget)
  const jobs = startJobs(config, pool, http.log, forget)
  http.addHook('onClose', async () => {
    recordCache.stop()
    // A job that hangs is left behind: its batch is rolled back, and another process continues.
    const isStopped = jobs.stop().then(() => true)
    if (!(await Promise.race([isStopped, sleep(maxStopMs, false, { ref: false })])))
      http.log.warn('a background job did not stop in time')
  })

  videoRoutes(mount, mountFast, pool, recordCache, links)
  factRoutes(mount, pool, recordCache)
  publicationRoutes(mount, pool)
  mergeRoutes(mount, pool, forget)
  catalogueRoutes(mount, pool, recordCache, links)
  searchRoutes(mount, pool)
  qualityRoutes(mount, pool, links)
  directoryRoutes(mount, pool, links, jobs.renames, forget)
  const planner = imports.openImportPlanner(
    pool,
    (address) => imports.fetchFile(address, userAgent()),
    (error) => http.log.error({ err: error }, 'planning an import failed'),
  )
  importRoutes(mount, pool, jobs.imports, planner, links)
  authRoutes(mount, pool, links, base)
  exportRoutes(http, routeOf, config.DATABASE_URL)
  const follower = followFeed(pool, {
    intervalMs: config.RESUME_SECONDS === 0 ? 0 : 100,
    onError: (error) => http.log.error({ err: error }, 'the change feed is not up to date'),
  })
  http.addHook('onClose', () => follower.stop())
  metrics.watch('feed_entries', 'Entries of the change feed', () => follower.head()?.seq ?? 0)
  metrics.watch(
    'feed_behind_seconds',
    'For how long the change feed has not had all changes',
    follower.behindSeconds,
  )
  changeFeedRoutes(http, routeOf, pool.lists, follower, {
    maxFollowers: config.FOLLOWERS_AT_ONCE,
    edge,
  })
  const sender = {
    // A copy sends nothing: its archive does.
    key: source === undefined ? config.WEBHOOK_KEY : '',
    archive: publicUrl || undefined,
    userAgent,
  }
  const webhooks = startWebhooks(config, pool, http, metrics, follower, sender)
  webhookRoutes(mount, pool, webhooks, links)
  if (edgeTarget) {
    edgeRoutes(mountPage, pool.lookups)
    purger = startEdge(config, edgeTarget, release, pool, follower, http, metrics)
  }
  mountDescription(mount, () => openapi(allEndpoints, version, base()))
  const pictures = openPictures({
    fetchImage: (address, signal) =>
      fetchImage(address, { userAgent: userAgent(), signal, ...imageHosts }),
    findUploaded: (hash) => findPicture(pool.lists, hash),
    siteName: config.SITE_NAME,
    cacheBytes: config.PICTURE_CACHE_MB * 2 ** 20,
    folder: config.PICTURE_DIR,
    folderBytes: config.PICTURE_DIR_MB * 2 ** 20,
    log: http.log,
  })
  pictureRoutes(http, mountPage, pool, recordCache, pictures)
  uploadedPictureRoute(mountPage, pool)
  uploadRoutes(mount, pool, pictures, base)
  referenceRoutes(http, basePath, base)
  const markdown = openMarkdown()
  pageRoutes(mountPage, pool, recordCache, statisticsCache, markdown, site)
  const mailer = startMailer(config, http)
  const onRefused = (refusal: SignInRefused, requestId: string) =>
    http.log.warn({ reqId: requestId, ...describeRefusal(refusal) }, 'a sign-in was refused')
  const deskSite = {
    ...server,
    pool,
    site,
    publicOrigin,
    mailer,
    provider: configuredProvider(config),
    onRefused,
    forget,
  }
  const importJobs = { planner, runner: jobs.imports }
  deskRoutes(deskSite, markdown, pictures, importJobs, jobs.renames, webhooks)
  syndicationRoutes(http, mountPage, pool, recordCache, markdown, site)
  return http
}

/** Identifies what pages depend on besides the records. */
const releaseHash = (parts: readonly string[]) =>
  hash('sha256', parts.join('\n'), 'hex').slice(0, 8)

/** Starts to purge the edge cache. */
function startEdge(
  config: Config,
  target: EdgeTarget,
  release: string,
  pool: Pool,
  follower: FeedFollower,
  http: FastifyInstance,
  metrics: Metrics,
): Purger {
  const url = (config.EDGE_URL || config.PUBLIC_URL).replace(/\/+$/, '')
  const purger = startPurger({
    pool,
    follower,
    adapter: createAdapter(target, { token: config.EDGE_TOKEN }),
    target: config.EDGE,
    release,
    readCanary: url === '' ? undefined : () => fetchCanary(url),
    timing: { repeatMs: repetitionsFor(config.ANSWER_SECONDS) },
    onState(state, error) {
      if (state === 'working') http.log.info('the edge cache is purged again')
      else if (state === 'behind')
        http.log.error('the edge cache is behind: readers may get old versions')
      else http.log.warn({ err: error }, 'a purge of the edge cache failed and will be retried')
    },
  })
  http.addHook('onClose', () => purger.stop())
  const { figures } = purger
  metrics.watch(
    'edge_behind_seconds',
    'For how long changes have not been purged',
    () => figures().behindSeconds,
  )
  metrics.watch(
    'edge_canary_age_seconds',
    'How old the canary was when it was last read through the edge cache',
    () => figures().canaryAgeSeconds,
  )
  metrics.watchTotal('edge_purged_keys', 'Keys that were purged', () => figures().purgedKeys)
  metrics.watchTotal(
    'edge_repeated_keys',
    'Keys that were purged again',
    () => figures().repeatedKeys,
  )
  metrics.watchTotal('edge_purge_failures', 'Purges that failed', () => figures().failures)
  return purger
}

/** Opens the OpenID Connect provider, if one is set. */
function configuredProvider(config: Config): OpenidProvider | undefined {
  const { OPENID_ISSUER: issuer, OPENID_CLIENT_ID: clientId } = config
  if (issuer === '') return undefined
  return openProvider({ issuer, clientId, clientSecret: config.OPENID_CLIENT_SECRET })
}

/** Opens the queue of mails, if a mail server is set. Queued mails are sent before the end. */
function startMailer(config: Config, http: FastifyInstance): Mailer | undefined {
  if (config.SMTP_URL === '') return undefined
  const mailer = openMailer({ url: config.SMTP_URL, from: config.MAIL_FROM }, (error) =>
    http.log.error({ err: error }, 'a mail was not sent: check SMTP_URL and the mail server'),
  )
  http.addHook('onClose', async () => {
    await Promise.race([mailer.drain(), sleep(maxStopMs, undefined, { ref: false })])
  })
  return mailer
}

/** Opens the webhooks and, if they are set up, starts to send entries. */
function startWebhooks(
  config: Config,
  pool: Pool,
  http: FastifyInstance,
  metrics: Metrics,
  follower: FeedFollower,
  sender: { key: string; archive: string | undefined; userAgent(): string },
): Webhooks {
  const { WEBHOOK_PRIVATE: networks } = config
  const options = {
    ...sender,
    isOpened: networks === '' ? undefined : parseNetworks(networks),
  }
  metrics.watchEach(
    'webhook_behind_seconds',
    'For how long the oldest entry that was not delivered has been in the feed',
    'webhook',
    async () =>
      new Map((await listLags(pool.lookups)).map(({ id, seconds }) => [String(id), seconds])),
  )
  if (sender.key === '') return openWebhooks(pool, options, undefined)
  const countAttempt = metrics.counter(
    'webhook_attempts_total',
    'Attempts to deliver entries to a webhook, by outcome',
    'outcome',
  )
  const runner = startDeliveries(pool, {
    ...options,
    everyMs: config.RESUME_SECONDS * 1000,
    onAttempt: ({ delivery }) => countAttempt(delivery.outcome),
    onDisabled: (id) => http.log.warn({ webhook: id }, 'a webhook was disabled: it kept failing'),
    onError: (error) =>
      http.log.error({ err: error }, 'entries were not sent to a webhook and will be sent again'),
  })
  const stopListening = follower.onEntries(runner.wake)
  http.addHook('onClose', async () => {
    stopListening()
    await Promise.race([runner.stop(), sleep(maxStopMs, undefined, { ref: false })])
  })
  return openWebhooks(pool, options, runner)
}

interface Jobs {
  readonly renames: JobRunner
  readonly imports: JobRunner
  stop(): Promise<void>
}

/** Starts the background jobs. `forget` removes changed records from the cache. */
function startJobs(
  config: Config,
  pool: Pool,
  log: FastifyBaseLogger,
  forget: (ids: readonly number[]) => void,
): Jobs {
  const everyMs = config.RESUME_SECONDS * 1000
  const stopping = new AbortController()
  const logError = (message: string) => (error: unknown) => log.error({ err: error }, message)

  const renames = startJobRunner(() => nextRenameBatch(pool), {
    everyMs,
    onChanged: forget,
    onError: logError('a rename batch failed and will be retried'),
  })
  const onBatchFailure: imports.OnBatchFailure = (error, { id, done, batch_size }) =>
    log.warn(
      { err: error, import: id, done, batch_size },
      'an import batch failed; it is retried, with fewer rows to find the cause',
    )
  const importRunner = startJobRunner(() => imports.nextImportBatch(pool, onBatchFailure), {
    everyMs,
    onChanged: forget,
    onError: logError('an import batch failed and will be retried'),
  })
  const onPublishFailure = (error: unknown, id: number) =>
    log.error({ err: error, video: id }, 'a draft was not published and will be retried')
  const publications = startJobRunner(() => publishDue(pool, onPublishFailure), {
    everyMs,
    onChanged: forget,
    onError: logError('scheduled publication failed and will be retried'),
  })
  const snapshots = startSnapshots(config, pool, log, stopping.signal)
  const maintenance = startMaintenance(config, pool, log, stopping.signal)
  return {
    renames,
    imports: importRunner,
    async stop() {
      stopping.abort()
      const runners = [renames, importRunner, publications, snapshots, maintenance]
      await Promise.all(runners.map((runner) => runner.stop()))
    },
  }
}

function startSnapshots(
  config: Config,
  pool: Pool,
  log: FastifyBaseLogger,
  signal: AbortSignal,
): JobRunner {
  const target = {
    url: config.DATABASE_URL,
    folder: config.SNAPSHOT_DIR,
    keep: config.SNAPSHOT_KEEP,
    signal,
  }
  const writeSnapshot = async () => {
    const { SNAPSHOT_HOUR: hour } = config
    const snapshot = await writeDueSnapshot(pool.lookups, target, hour, new Date())
    if (snapshot) log.info(snapshot, 'snapshot written')
    return undefined
  }
  return startJobRunner(writeSnapshot, {
    everyMs: config.SNAPSHOT_DIR === '' ? 0 : 60_000,
    onChanged: () => {},
    onError: (error) => {
      if (signal.aborted) return
      const reason = describeWriteError(error, config.SNAPSHOT_DIR)
      log.error(
        reason === undefined ? { err: error } : { reason },
        'the snapshot was not written and will be retried',
      )
    },
  })
}

function startMaintenance(
  config: Config,
  pool: Pool,
  log: FastifyBaseLogger,
  signal: AbortSignal,
): JobRunner {
  const runMaintenance = async () => {
    await maintain(pool, {
      importDays: config.IMPORT_DAYS,
      everyHours: config.MAINTENANCE_HOURS,
      isStopped: () => signal.aborted,
      onDone: (task, removed) => log.info({ task, removed }, 'maintenance done'),
    })
    return undefined
  }
  return startJobRunner(runMaintenance, {
    everyMs: config.MAINTENANCE_HOURS === 0 ? 0 : 600_000,
    onChanged: () => {},
    onError: (error) => {
      if (!signal.aborted)
        log.error({ err: error }, 'maintenance failed and will be retried in an hour')
    },
  })
}

/** Mounts the OpenAPI description. It is built at the first request: before, the URL is unknown. */
function mountDescription(mount: Mount, describe: () => object): void {
  let description: string | undefined
  mount(readOpenapiEndpoint, () => {
    description ??= toJson(describe())
    const headers = { 'cache-control': 'public, no-cache' }
    return { body: description, headers, edge: listPolicy }
  })
}

/** Returns the URL on which the server listens, or an empty string before it does. */
function listenUrl(http: FastifyInstance): string {
  const address = http.server.address()
  if (typeof address !== 'object' || address === null) return ''
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}
