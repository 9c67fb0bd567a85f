import type { Db } from '../../platform/db/db.ts'
import {
  countBatch,
  countByLanguage,
  countByMonthAdded,
  countByYear,
  type EventRow,
  findMostUsedEntities,
  listEvents,
} from './queries.ts'

// The archive in numbers, its events, and who and what its talks are mostly by and about. That is a
// walk through all records, so it is kept for a while.

interface Count {
  readonly talks: number
}

export interface Statistics extends Count {
  readonly seconds: number
  readonly events: number
  readonly speakers: number
  readonly tags: number
  readonly languages: number
  /** From the first to the last. */
  readonly byYear: readonly (Count & { readonly year: number })[]
  /** The commonest first, as the hosts. */
  readonly byLanguage: readonly (Count & {
    readonly name: string
    readonly code: string
    readonly slug: string
  })[]
  /** By month, YYYY-MM, from the first to the last. */
  readonly added: readonly (Count & { readonly month: string })[]
  /**
   * How many talks have each of these. What is only white space, or a length of 0, is nothing that
   * a talk has.
   */
  readonly having: Readonly<
    Record<
      'speakers' | 'description' | 'duration' | 'recorded' | 'tags' | 'licence' | 'source',
      number
    >
  >
  /** Without `www.` */
  readonly hosts: readonly (Count & { readonly host: string })[]
}

export interface CommonEntity extends Count {
  readonly id: number
  readonly slug: string
  readonly name: string
}

export interface StatisticsReader {
  readonly statistics: Statistics
  readonly events: readonly EventRow[]
  /** The commonest first. */
  readonly tags: readonly CommonEntity[]
  readonly speakers: readonly CommonEntity[]
}

export interface StatisticsCache {
  read(): Promise<StatisticsReader>
}

export interface StatisticsCacheOptions {
  readonly keptMs?: number
  /** Told when what is kept could not be made anew. */
  readonly onError?: (error: unknown) => void
}

const maxHosts = 12

/** How many records are counted by one statement: far from the time that it may take. */
const defaultPiece = 50_000

const maxCommon = 60

/** After an error nobody asks again for so long. */
const pauseMs = 5000

/** Of live talks; so many are counted by one statement. */
export async function readStatistics(db: Db, pieceSize = defaultPiece): Promise<Statistics> {
  return (await readAlmanac(db, pieceSize)).statistics
}

/**
 * Categories that have live talks: what ended last comes first, and what nobody knows the day of at
 * the end.
 */
export function readEvents(db: Db): Promise<EventRow[]> {
  return listEvents(db)
}

export async function readCommonTags(db: Db, limit: number): Promise<CommonEntity[]> {
  return (await findMostUsedEntities(db, 'tag', limit)).map(common)
}

function common({ id, slug, name, talks }: CommonEntity): CommonEntity {
  return { id, slug, name, talks }
}

/**
 * One statement after the other: whoever wants a list meanwhile finds the other connections free.
 */
async function readAlmanac(db: Db, pieceSize = defaultPiece): Promise<StatisticsReader> {
  const records = await countRecords(db, pieceSize)
  const byYear = await countByYear(db)
  const byLanguage = await countByLanguage(db)
  const added = await countByMonthAdded(db)
  const all = await readEvents(db)
  const tags = await findMostUsedEntities(db, 'tag', maxCommon)
  const speakers = await findMostUsedEntities(db, 'speaker', maxCommon)
  const entities = {
    events: all.length,
    speakers: speakers[0]?.of ?? 0,
    tags: tags[0]?.of ?? 0,
    languages: byLanguage.length,
  }
  const statistics = { ...records, ...entities, byYear, byLanguage, added }
  return { statistics, events: all, tags: tags.map(common), speakers: speakers.map(common) }
}

async function countRecords(
  db: Db,
  pieceSize: number,
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
  const hosts = new Map<string, number>()
  for (let seen = pieceSize; seen === pieceSize; ) {
    seen = 0
    for (const row of await countBatch(db, after, pieceSize)) {
      seen += row.seen
      after = Math.max(after, row.last)
      talks += row.talks
      seconds += row.seconds
      for (const name of Object.keys(having) as (keyof typeof having)[]) having[name] += row[name]
      const host = hostOf(row.place)
      if (host !== '' && row.talks > 0) hosts.set(host, (hosts.get(host) ?? 0) + row.talks)
    }
  }
  const common = [...hosts]
    .sort(([a, some], [b, others]) => others - some || (a < b ? -1 : 1))
    .slice(0, maxHosts)
  return {
    talks,
    seconds,
    having,
    hosts: common.map(([host, number]) => ({ host, talks: number })),
  }
}

/** Without name, port and `www.`: what people call it. */
function hostOf(place: string): string {
  return place
    .toLowerCase()
    .replace(/[?#].*/, '')
    .replace(/.*@/, '')
    .replace(/:\d*$/, '')
    .replace(/^www\./, '')
    .replace(/\.$/, '')
}

/**
 * Only whoever comes first waits. Everybody else is given what is there, also while it is made
 * anew, which is done by one at a time and when somebody asks. Where that fails, what is there
 * stays.
 */
export function openStatisticsCache(
  db: Db,
  { keptMs = 60_000, onError = () => {} }: StatisticsCacheOptions = {},
): StatisticsCache {
  let kept: StatisticsReader | undefined
  let goodUntilMs = 0
  let making: Promise<StatisticsReader> | undefined
  let failed: unknown

  async function make(): Promise<StatisticsReader> {
    let forMs = pauseMs
    try {
      kept = await readAlmanac(db)
      forMs = keptMs
      return kept
    } catch (error) {
      failed = error
      throw error
    } finally {
      goodUntilMs = performance.now() + forMs
      making = undefined
    }
  }

  return {
    async read() {
      if (performance.now() < goodUntilMs) {
        if (kept) return kept
        throw failed
      }
      const isFirst = !making
      making ??= make()
      if (!kept) return making
      if (isFirst) making.catch(onError)
      return kept
    },
  }
}
