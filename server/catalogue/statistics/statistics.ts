import type { Db } from '../../platform/db/db.ts'
import {
  openRefreshedValue,
  type RefreshedValue,
  type RefreshOptions,
} from '../../platform/ops/refreshed-value.ts'
import {
  type AdditionRow,
  countBatch,
  countByLanguage,
  countByMonthAdded,
  countByYear,
  type EventRow,
  findAddition,
  findMostUsedEntities,
  listEvents,
  listInitials,
} from './queries.ts'

// Statistics of the archive, its events, and its most frequent tags and speakers. They take a walk
// over all records, so they are cached.

interface Count {
  readonly talks: number
}

export interface Statistics extends Count {
  /** Without implausible durations (contract/durations.ts). */
  readonly seconds: number
  readonly events: number
  readonly speakers: number
  readonly tags: number
  readonly languages: number
  /** In ascending order. */
  readonly byYear: readonly (Count & { readonly year: number })[]
  /** The most frequent first. */
  readonly byLanguage: readonly (Count & {
    readonly name: string
    readonly code: string
    readonly slug: string
  })[]
  /** By month, YYYY-MM, in ascending order. */
  readonly added: readonly (Count & { readonly month: string })[]
  /** The number of talks that have each of these. White space and a duration of 0 do not count. */
  readonly having: Readonly<
    Record<
      'speakers' | 'description' | 'duration' | 'recorded' | 'tags' | 'licence' | 'source',
      number
    >
  >
  /** Without `www.`, the most frequent first. */
  readonly hosts: readonly (Count & { readonly host: string })[]
}

export interface CommonEntity extends Count {
  readonly id: number
  readonly slug: string
  readonly name: string
}

/** Everything that is cached together. */
export interface ArchiveSummary {
  readonly statistics: Statistics
  readonly events: readonly EventRow[]
  /** The most frequent first. */
  readonly tags: readonly CommonEntity[]
  readonly speakers: readonly CommonEntity[]
  /** What was added last, the newest first. */
  readonly additions: readonly Omit<AdditionRow, 'since'>[]
  /** The first characters of all names, without accents and case, in the order of names. */
  readonly initials: Readonly<Record<'speaker' | 'tag', readonly string[]>>
}

export type StatisticsCache = RefreshedValue<ArchiveSummary>
export type StatisticsCacheOptions = Partial<RefreshOptions>

const maxHosts = 12

/** Records that one statement counts: far from the statement timeout. */
const defaultBatchSize = 50_000

const maxCommonEntities = 60

const maxAdditions = 3
const talksPerAddition = 4

/** A bound for scripts with thousands of characters. */
const maxInitials = 2000

/** Computes the statistics of all live talks, without the cache. */
export async function readStatistics(db: Db, batchSize = defaultBatchSize): Promise<Statistics> {
  return (await readSummary(db, batchSize)).statistics
}

/** Lists the categories with live talks, the newest first, those without a date at the end. */
export function readEvents(db: Db): Promise<EventRow[]> {
  return listEvents(db)
}

/** Lists the tags with the most live talks. */
export async function readCommonTags(db: Db, limit: number): Promise<CommonEntity[]> {
  return (await findMostUsedEntities(db, 'tag', limit)).map(withoutTotal)
}

function withoutTotal({ id, slug, name, talks }: CommonEntity): CommonEntity {
  return { id, slug, name, talks }
}

/** Runs one statement at a time, so that the other connections stay free for lists. */
async function readSummary(db: Db, batchSize = defaultBatchSize): Promise<ArchiveSummary> {
  const records = await countRecords(db, batchSize)
  const byYear = await countByYear(db)
  const byLanguage = await countByLanguage(db)
  const added = await countByMonthAdded(db)
  const events = await readEvents(db)
  const tags = await findMostUsedEntities(db, 'tag', maxCommonEntities)
  const speakers = await findMostUsedEntities(db, 'speaker', maxCommonEntities)
  const totals = {
    events: events.length,
    speakers: speakers[0]?.total ?? 0,
    tags: tags[0]?.total ?? 0,
    languages: byLanguage.length,
  }
  const initials = {
    speaker: await listInitials(db, 'speaker', maxInitials),
    tag: await listInitials(db, 'tag', maxInitials),
  }
  return {
    statistics: { ...records, ...totals, byYear, byLanguage, added },
    events,
    tags: tags.map(withoutTotal),
    speakers: speakers.map(withoutTotal),
    initials,
    additions: await readAdditions(db),
  }
}

/**
 * Finds what was added last. An import is one addition, whatever its size: a first import of
 * thousands of talks would otherwise be everything that is new.
 */
async function readAdditions(db: Db): Promise<ArchiveSummary['additions']> {
  const additions: AdditionRow[] = []
  let before = 'infinity'
  while (additions.length < maxAdditions) {
    const addition = await findAddition(db, before, talksPerAddition)
    if (!addition) break
    additions.push(addition)
    before = addition.since
  }
  return additions.map(({ since: _, ...addition }) => addition)
}

async function countRecords(
  db: Db,
  batchSize: number,
): Promise<Pick<Statistics, 'talks' | 'seconds' | 'having' | 'hosts'>> {
  let [talks, seconds, after] = [0, 0, 0]
  const having = {
    speakers: 0,
    description: 0,
    duration: 0,
    recorded: 0,
    tags: 0,
    licence: 0,
    source: 0,
  }
  const talksByHost = new Map<string, number>()
  for (let scanned = batchSize; scanned === batchSize; ) {
    scanned = 0
    for (const row of await countBatch(db, after, batchSize)) {
      scanned += row.scanned
      after = Math.max(after, row.last_id)
      talks += row.talks
      seconds += row.seconds
      for (const name of Object.keys(having) as (keyof typeof having)[]) having[name] += row[name]
      const host = hostOf(row.authority)
      if (host !== '' && row.talks > 0)
        talksByHost.set(host, (talksByHost.get(host) ?? 0) + row.talks)
    }
  }
  return { talks, seconds, having, hosts: mostFrequentHosts(talksByHost) }
}

function mostFrequentHosts(talksByHost: ReadonlyMap<string, number>): Statistics['hosts'] {
  return [...talksByHost]
    .map(([host, talks]) => ({ host, talks }))
    .sort((a, b) => b.talks - a.talks || (a.host < b.host ? -1 : 1))
    .slice(0, maxHosts)
}

/** Other names of a host, which are counted with it. */
const hostAliases = new Map([
  ['youtu.be', 'youtube.com'],
  ['m.youtube.com', 'youtube.com'],
  ['music.youtube.com', 'youtube.com'],
  ['youtube-nocookie.com', 'youtube.com'],
  ['player.vimeo.com', 'vimeo.com'],
])

/** Returns the host of the authority of a URL, without `www.`, by its main name. */
function hostOf(authority: string): string {
  const host = authority
    .toLowerCase()
    .replace(/[?#].*/, '')
    .replace(/.*@/, '')
    .replace(/:\d*$/, '')
    .replace(/^www\./, '')
    .replace(/\.$/, '')
  return hostAliases.get(host) ?? host
}

/** Opens a cache of the statistics, which is refreshed on reading. */
export function openStatisticsCache(
  db: Db,
  { maxAgeMs = 60_000, ...options }: StatisticsCacheOptions = {},
): StatisticsCache {
  return openRefreshedValue(() => readSummary(db), { maxAgeMs, ...options })
}
