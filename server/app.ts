import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  deliveryOutcomes,
  endpoints,
  fetchOutcomes,
  openapi,
  Problem,
  readOpenapiEndpoint,
  streamEndpoints,
  type Verdict,
  verdicts,
} from '@talkshelf/contract'
import { licenceId, parseDataLicence } from '@talkshelf/web'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
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
import { basePathOf, type Config, contactUrl } from './config.ts'
import { hasSessionCookie } from './desk/cookies.ts'
import { deskRoutes } from './desk/routes.ts'
import { redactLinks } from './desk/sign-in.ts'
import { countRenameJobs, nextRenameBatch } from './directory/directory.ts'
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
import { newestSnapshotSeconds, writeDueSnapshot } from './exports/exports.ts'
import { atRiskRoute, exportRoutes } from './exports/routes.ts'
import { factRoutes } from './facts/routes.ts'
import {
  countByState,
  type FollowedSources,
  type FollowOptions,
  findOldestDue,
  openFollowedSources,
  startFollowing,
} from './followed-sources/followed-sources.ts'
import { followedSourceRoutes } from './followed-sources/routes.ts'
import * as imports from './imports/imports.ts'
import { importRoutes } from './imports/routes.ts'
import * as sourceLinks from './links/links.ts'
import { linkRoutes, replacementRoutes } from './links/routes.ts'
import { maintain, readFinished } from './maintenance/maintenance.ts'
import { openMarkdown } from './markdown/markdown.ts'
import { openMatches } from './matches/matches.ts'
import { matchRoutes } from './matches/routes.ts'
import { mergeRoutes } from './merges/routes.ts'
import { countRunningChanges, nextNameChangeBatch } from './name-changes/name-changes.ts'
import { openAssets } from './pages/assets.ts'
import { pageRoutes, readerProblemPage } from './pages/routes.ts'
import { fetchImage, findPicture, openPictures } from './pictures/pictures.ts'
import { pictureRoutes, uploadedPictureRoute, uploadRoutes } from './pictures/routes.ts'
import { withDurableResult } from './platform/db/durability.ts'
import type { Pool } from './platform/db/pool.ts'
import { onPrimary } from './platform/db/read-context.ts'
import type { ReplicaFigures } from './platform/db/replicas.ts'
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
import { openRefreshedValue } from './platform/ops/refreshed-value.ts'
import { timeoutsFor } from './platform/timeouts.ts'
import { countDue, publishDue } from './publication/publication.ts'
import { publicationRoutes } from './publication/routes.ts'
import { qualityRoutes } from './quality/routes.ts'
import { openapiExamples } from './reference/examples.ts'
import { referenceRoutes } from './reference/routes.ts'
import { scheduleRoutes } from './schedules/routes.ts'
import { searchRoutes } from './search/routes.ts'
import { siteRoutes } from './site/routes.ts'
import { plainSite, type Site } from './site/site.ts'
import { suggestionRoutes } from './suggestions/routes.ts'
import { readQueueMetrics } from './suggestions/suggestions.ts'
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
 * Creates the app. `testHosts` lets tests fetch thumbnails and followed sources from a server of
 * their own. `source` is the URL of the archive that this one is a copy of: then it is read-only.
 * `content` is what SITE_DIR has.
 */
export function createApp(
  config: Config,
  pool: Pool,
  logger: HttpServerOptions['logger'],
  testHosts: GuardOptions = {},
  source?: string,
  content: Site = withoutFolder(config),
): FastifyInstance {
  const allEndpoints = [...Object.values(endpoints), ...Object.values(streamEndpoints)]
  const publicUrl = config.PUBLIC_URL.replace(/\/+$/, '')
  const basePath = basePathOf(config)
  const publicOrigin = publicUrl === '' ? undefined : new URL(publicUrl).origin
  const base = () => publicUrl || listenUrl(http)
  const userAgent = () => `Talkshelf/${version} (+${base()})`

  const metrics = createMetrics(version, pool.figures)
  metrics.watchState(
    'database_up',
    '1 while the database answers within 2 s, otherwise 0',
    pool.lookups.isAnswering,
  )
  const { searchFigures } = pool.searches
  metrics.watch('searches_waiting', 'Searches that wait for others', () => searchFigures().waiting)
  metrics.watchTotal(
    'searches_refused',
    'Searches that were refused because too many ran',
    () => searchFigures().refused,
  )
  const edgeTarget = parseEdgeTarget(config.EDGE)
  // With an edge, records come from the database: what it requests after a purge must be new.
  const cacheBytes = edgeTarget ? 0 : config.CACHE_MB * 2 ** 20
  const recordCache = openRecordCache(pool.lookups, cacheBytes, metrics.read)
  const statisticsCache = openStatisticsCache(pool.lists, {
    onError: (error) => http.log.error({ err: error }, 'cannot compute the statistics'),
  })
  const licence = parseDataLicence(config.DATA_LICENSE)
  const contact = contactUrl(config.SITE_CONTACT)
  const site = {
    name: config.SITE_NAME,
    basePath,
    origin: base,
    assets: openAssets(),
    source,
    licence,
    contact,
    content,
  }

  const release = releaseHash([
    version,
    site.assets.script,
    site.assets.style,
    site.name,
    publicUrl,
    source ?? '',
    config.DATA_LICENSE,
    contact ?? '',
    content.version,
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
    metricsToken: config.METRICS_TOKEN,
    isReady: pool.lookups.isAnswering,
    mayReadReplica: pool.replicas && mayReadReplica,
    durably: (work) => withDurableResult(pool, work),
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
  watchReplicas(pool, metrics, http.log)

  if (source !== undefined)
    http.addHook('onRequest', async ({ method }) => {
      if (!['GET', 'HEAD', 'OPTIONS'].includes(method))
        throw new Problem('read-only', `This is a copy of ${source}. Make the change there.`)
    })

  const forget = (ids: readonly number[]) => ids.forEach(recordCache.forget)
  const jobs = startJobs(config, pool, metrics, http.log, forget, base)
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
  suggestionRoutes(mount, pool, links, base, forget)
  watchSuggestions(pool, metrics)
  catalogueRoutes(mount, pool, recordCache, links)
  scheduleRoutes(mount, pool, links, base)
  searchRoutes(mount, pool)
  qualityRoutes(mount, pool, links)
  directoryRoutes(mount, pool, links, jobs.renames, forget)
  const planner = imports.openImportPlanner(
    pool,
    (address) => imports.fetchFile(address, userAgent()),
    (error) => http.log.error({ err: error }, 'planning an import failed'),
  )
  importRoutes(mount, pool, jobs.imports, planner, links)
  const matches = openMatches(pool)
  matchRoutes(mount, pool, matches, planner, links)
  const followedSources = startFollowedSources(pool, http, metrics, {
    // A copy follows nothing: its archive does.
    isEnabled: source === undefined && config.FOLLOW_SOURCES === 'on',
    everyMs: config.RESUME_SECONDS * 1000,
    userAgent,
    guard: testHosts,
    plans: planner.plans,
  })
  followedSourceRoutes(mount, followedSources, links)
  const atRisk = sourceLinks.openAtRiskReport(pool, (error) =>
    http.log.error({ err: error }, 'cannot compute which talks are at risk'),
  )
  // A copy checks nothing: its archive does.
  const linkChecks =
    source === undefined && config.CHECK_LINKS === 'on'
      ? startCheckingLinks(config, pool, http, metrics, { userAgent, guard: testHosts })
      : undefined
  linkRoutes(mount, pool, recordCache, atRisk, linkChecks, links)
  replacementRoutes(mount, pool, links, forget)
  authRoutes(mount, pool, links, base)
  const snapshotUrls = pool.replicas?.snapshotUrls ?? (() => [config.DATABASE_URL])
  exportRoutes(http, routeOf, { databaseUrls: snapshotUrls, licence })
  atRiskRoute(http, pool, site)
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
  const info = {
    ...(licence && { 'x-data-license': licence }),
    ...(contact && { contact: apiContact(contact) }),
  }
  mountDescription(mount, () =>
    openapi(allEndpoints, { version, server: base(), examples: openapiExamples, info }),
  )
  const pictures = openPictures({
    fetchImage: (address, signal) =>
      fetchImage(address, { userAgent: userAgent(), signal, ...testHosts }),
    findUploaded: (hash) => onPrimary(() => findPicture(pool.lists, hash)),
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
  siteRoutes(mountPage, site)
  pageRoutes(server, pool, recordCache, statisticsCache, atRisk, markdown, site)
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
  const importJobs = { planner, runner: jobs.imports, matches }
  const sources = { followedSources, linkChecks }
  deskRoutes(deskSite, markdown, pictures, importJobs, jobs, webhooks, sources)
  syndicationRoutes(http, mountPage, pool, recordCache, markdown, site)
  return http
}

/**
 * Tells whether a request may be answered from a state of a second ago: that of an anonymous reader.
 * Users who are signed in see their own writes at once.
 */
function mayReadReplica({ method, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && headers.authorization === undefined && !hasSessionCookie(headers.cookie)
}

/** Adds the metrics of replicas, and logs when one is left out or used again. */
function watchReplicas({ replicas }: Pool, metrics: Metrics, log: FastifyBaseLogger): void {
  if (!replicas) return
  replicas.watch((replica, reason) => {
    if (reason === undefined) log.info({ replica }, 'a replica is used')
    else log.warn({ replica, reason }, 'a replica is left out')
  })
  const readEach = (read: (figures: ReplicaFigures) => number) => async () =>
    new Map(Array.from(replicas.figures(), ([name, figures]) => [name, read(figures)]))
  metrics.watchEach(
    'replica_lag_seconds',
    'Upper bound of the age of the state of a replica',
    'replica',
    readEach(({ lagSeconds }) => lagSeconds),
  )
  metrics.watchEach(
    'replica_in_use',
    '1 while a process reads from a replica, 0 while it is left out',
    'replica',
    readEach(({ isUsed }) => (isUsed ? 1 : 0)),
  )
  metrics.watchTotal(
    'replica_fallbacks',
    'Reads that moved from a replica to the primary',
    replicas.fallbacks,
  )
}

/** A caller that sets SITE_DIR has to read it: that cannot be done at once. */
function withoutFolder({ SITE_DIR: folder }: Config): Site {
  if (folder !== '') throw new Error('SITE_DIR is set but was not read')
  return plainSite
}

/** Returns the contact as OpenAPI has it. */
function apiContact(contact: string): Readonly<Record<string, string>> {
  return contact.startsWith('mailto:')
    ? { email: contact.slice('mailto:'.length) }
    : { url: contact }
}

/** Adds the metrics of suggestions that wait for a decision. */
function watchSuggestions(pool: Pool, metrics: Metrics): void {
  metrics.watch(
    'suggestions_open',
    'Suggestions that wait for a decision',
    async () => (await readQueueMetrics(pool.lookups)).open,
  )
  metrics.watch(
    'suggestions_oldest_seconds',
    'For how long the oldest suggestion has waited for a decision',
    async () => (await readQueueMetrics(pool.lookups)).oldest_seconds,
  )
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
    deliveryOutcomes,
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

/** Opens the followed sources and starts to fetch those that are due. */
function startFollowedSources(
  pool: Pool,
  http: FastifyInstance,
  metrics: Metrics,
  fetcher: Pick<FollowOptions, 'everyMs' | 'userAgent' | 'plans'> & {
    isEnabled: boolean
    guard: GuardOptions
  },
): FollowedSources {
  metrics.watchEach('followed_sources', 'Followed sources, by state', 'state', async () => {
    const counts = await countByState(pool.lookups)
    return new Map(counts.map(({ state, count }) => [state, count]))
  })
  const countFetch = metrics.counter(
    'followed_source_fetches_total',
    'Fetches of followed sources, by outcome',
    'outcome',
    fetchOutcomes,
  )
  if (!fetcher.isEnabled) return openFollowedSources(pool, fetcher.guard, undefined)
  // A process that fetches nothing does not tell that sources wait.
  metrics.watchEach(
    'followed_source_due_seconds',
    'For how long the followed source that waited longest has been due',
    'followed_source',
    async () => {
      const due = await findOldestDue(pool.lookups)
      return new Map(due ? [[String(due.id), due.seconds]] : [])
    },
  )
  const runner = startFollowing(pool, {
    ...fetcher,
    onFetched: countFetch,
    onDisabled: (id) =>
      http.log.warn({ followedSource: id }, 'a followed source was disabled: it kept failing'),
    onError: (error) =>
      http.log.error({ err: error }, 'a followed source was not planned and will be fetched again'),
  })
  http.addHook('onClose', async () => {
    await Promise.race([runner.stop(), sleep(maxStopMs, undefined, { ref: false })])
  })
  return openFollowedSources(pool, fetcher.guard, runner)
}

/** Starts to check links. */
function startCheckingLinks(
  config: Config,
  pool: Pool,
  http: FastifyInstance,
  metrics: Metrics,
  host: { userAgent(): string; guard: GuardOptions },
): JobRunner {
  const runner = sourceLinks.startLinkChecks(pool, {
    ...host,
    ...watchLinks(pool, metrics),
    everyMs: config.RESUME_SECONDS * 1000,
    youtubeKey: config.YOUTUBE_KEY || undefined,
    onError: (error) =>
      http.log.error({ err: error }, 'sources were not checked and will be checked again'),
    onOffline: () =>
      http.log.warn('no host answers: links are checked again in some minutes. Check the network'),
  })
  http.addHook('onClose', async () => {
    await Promise.race([runner.stop(), sleep(maxStopMs, undefined, { ref: false })])
  })
  return runner
}

/** How old the numbers of sources may be: counting them goes through all. */
const maxSourceCountAgeMs = 300_000

/** Adds the metrics of sources. Returns a function that counts a check by its verdict. */
function watchLinks(
  pool: Pool,
  metrics: Metrics,
): { onChecked(host: string, verdict: Verdict): void } {
  const counts = openRefreshedValue(() => sourceLinks.countSourcesByState(pool.lists), {
    maxAgeMs: maxSourceCountAgeMs,
  })
  metrics.watchEach('links_sources', 'Sources of talks, by state', 'state', () => counts.read())
  metrics.watch(
    'links_due_seconds',
    'For how long the source that waited longest has been due, of hosts that may be asked',
    () => sourceLinks.oldestDueSeconds(pool.lookups),
  )
  metrics.watch(
    'links_hosts_paused',
    'Hosts that are not asked because they refused, and answered within the last two weeks',
    () => sourceLinks.countPausedHosts(pool.lookups),
  )
  const countCheck = metrics.counter(
    'links_checks_total',
    'Checks of sources, by verdict',
    'verdict',
    verdicts,
  )
  // Hosts are no label: an archive can have thousands.
  return { onChecked: (_, verdict) => countCheck(verdict) }
}

/** Background jobs that are rows in the database. */
const queues = ['renames', 'imports', 'name-changes', 'publications'] as const
type Queue = (typeof queues)[number]

/** Adds the metrics of background jobs. Returns functions that count a batch and a failure. */
function watchQueues(pool: Pool, metrics: Metrics) {
  metrics.watchEach(
    'jobs_pending',
    'Background jobs that are not finished, by queue',
    'queue',
    async () => {
      // At the same time: a database that does not answer must delay the metrics only once.
      const [renames, running, nameChanges, publications] = await Promise.all([
        countRenameJobs(pool.lookups),
        imports.countRunningImports(pool.lookups),
        countRunningChanges(pool.lookups),
        countDue(pool.lookups),
      ])
      const counts: Record<Queue, number> = {
        renames,
        imports: running,
        'name-changes': nameChanges,
        publications: publications.count,
      }
      return new Map(Object.entries(counts))
    },
  )
  metrics.watch(
    'publication_due_seconds',
    'For how long the scheduled publication that waited longest has been due',
    async () => (await countDue(pool.lookups)).oldest_seconds,
  )
  return {
    countBatch: metrics.counter(
      'job_batches_total',
      'Batches of background jobs, by queue',
      'queue',
      queues,
    ),
    countFailure: metrics.counter(
      'job_failures_total',
      'Failures of background jobs, by queue',
      'queue',
      queues,
    ),
  }
}

interface Jobs {
  readonly renames: JobRunner
  readonly imports: JobRunner
  readonly nameChanges: JobRunner
  stop(): Promise<void>
}

/** Starts the background jobs. `forget` removes changed records from the cache. */
function startJobs(
  config: Config,
  pool: Pool,
  metrics: Metrics,
  log: FastifyBaseLogger,
  forget: (ids: readonly number[]) => void,
  base: () => string,
): Jobs {
  const everyMs = config.RESUME_SECONDS * 1000
  const stopping = new AbortController()
  const { countBatch, countFailure } = watchQueues(pool, metrics)
  const observe = (queue: Queue, message: string) => ({
    everyMs,
    onChanged(ids: readonly number[]) {
      countBatch(queue)
      forget(ids)
    },
    onError(error: unknown) {
      countFailure(queue)
      log.error({ err: error }, message)
    },
  })

  const renames = startJobRunner(
    () => nextRenameBatch(pool),
    observe('renames', 'a rename batch failed and will be retried'),
  )
  const onBatchFailure: imports.OnBatchFailure = (error, { id, done, batch_size }) => {
    countFailure('imports')
    log.warn(
      { err: error, import: id, done, batch_size },
      'an import batch failed; it is retried, with fewer rows to find the cause',
    )
  }
  const importRunner = startJobRunner(
    () => imports.nextImportBatch(pool, onBatchFailure),
    observe('imports', 'an import batch failed and will be retried'),
  )
  const nameChanges = startJobRunner(
    () => nextNameChangeBatch(pool, base(), forget),
    observe('name-changes', 'a batch of a name change failed and will be retried'),
  )
  const onPublishFailure = (error: unknown, id: number) => {
    countFailure('publications')
    log.error({ err: error, video: id }, 'a draft was not published and will be retried')
  }
  const publications = startJobRunner(
    () => publishDue(pool, onPublishFailure),
    observe('publications', 'scheduled publication failed and will be retried'),
  )
  if (config.MAINTENANCE_HOURS > 0)
    metrics.watchEach(
      'maintenance_finished_timestamp_seconds',
      'When each maintenance task was last finished, in seconds since 1970; 0 if it never was',
      'task',
      () => readFinished(pool.lookups),
    )
  if (config.SNAPSHOT_DIR !== '')
    metrics.watch(
      'snapshot_timestamp_seconds',
      'Time of the data of the newest snapshot, in seconds since 1970; 0 if there is none',
      () => newestSnapshotSeconds(config.SNAPSHOT_DIR),
    )
  const snapshots = startSnapshots(config, pool, log, stopping.signal)
  const maintenance = startMaintenance(config, pool, log, stopping.signal)
  return {
    renames,
    imports: importRunner,
    nameChanges,
    async stop() {
      stopping.abort()
      const runners = [
        ...[renames, importRunner, nameChanges, publications],
        ...[snapshots, maintenance],
      ]
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
  const licence = parseDataLicence(config.DATA_LICENSE)
  const target = {
    url: config.DATABASE_URL,
    license: licence && licenceId(licence),
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
