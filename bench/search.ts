import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findListedBodies } from '../server/catalogue/queries.ts'
import type { Db } from '../server/platform/db/db.ts'
import { openPool } from '../server/platform/db/pool.ts'
import type { ReadPool } from '../server/platform/db/read-pool.ts'
import { writeCursor } from '../server/platform/http/cursor.ts'
import { search } from '../server/search/search.ts'
import type { BenchEnvironment, BenchServer } from './environment.ts'
import { type BenchRequest, type LoadResult, runWrk } from './load.ts'
import {
  compareLoads,
  type Measured,
  type MeasureOptions,
  median,
  pgbench,
  ratio,
  ratioAtMost,
  withRetries,
} from './measures.ts'
import { randomFrom } from './records.ts'
import { scriptWithTable } from './statements.ts'

// The cost of a search: by the frequency of the word, by the size of the archive, and relative to
// the same statements in pgbench.

const classes = [
  { name: 'in more than 5 % of the talks', from: 0.05, to: 1 },
  { name: 'in 0.5 to 5 %', from: 0.005, to: 0.05 },
  { name: 'in 0.05 to 0.5 %', from: 0.0005, to: 0.005 },
  { name: 'in fewer than 0.05 %', from: 0, to: 0.0005 },
] as const

const wordsEach = 12
/** Keeps both processors busy. With more, the latency would mostly be time in a queue. */
const connections = 2

/** Returns a search for each word. */
export const searchesFor = (words: readonly string[], parameters = ''): BenchRequest[] =>
  words.map((word) => ({ path: `/api/v2/video?q=${encodeURIComponent(`${word} `)}${parameters}` }))

/** Returns a request for suggestions for the beginning of each word. */
export const suggestionsFor = (words: readonly string[]): BenchRequest[] =>
  words.map((word) => ({ path: `/api/v2/suggest?q=${encodeURIComponent(word.slice(0, 4))}` }))

/** Without background work, which would go through all records that were seeded. */
export const withoutJobs = { RESUME_SECONDS: '0', MAINTENANCE_HOURS: '0' }

/** Measures searches, facets, suggestions and deep pages. */
export async function measureSearch(
  options: MeasureOptions & { small: BenchEnvironment },
): Promise<Measured[]> {
  const { environment, small, rounds, seconds, say } = options
  const words = await wordsByClass(environment)
  for (const [index, { name }] of classes.entries())
    say(`Words ${name}: ${words[index]?.join(', ')}`)
  const [server, smallServer] = [
    await environment.serve(withoutJobs),
    await small.serve(withoutJobs),
  ]
  const load = (
    { port, pid }: BenchServer,
    { dir, postgresPid }: BenchEnvironment,
    requests: readonly BenchRequest[],
  ) => withRetries(say, () => runWrk(dir, port, requests, seconds, connections, [pid, postgresPid]))

  // The statements that the service executes for the words of each class.
  const scripts = await Promise.all(
    words.map((list, index) => script(environment, list, `search-${index}.sql`)),
  )
  const all = words.flat()
  const deep = await deepPage(environment)
  const first = [{ path: '/api/v2/video?cursor=' }]
  const found = {
    engine: words.map(() => [] as { ours: LoadResult; reference: LoadResult }[]),
    spread: [] as number[],
    growth: { search: [] as number[], facets: [] as number[], suggest: [] as number[] },
    depth: [] as number[],
    p99: { search: [] as number[], facets: [] as number[], suggest: [] as number[] },
  }
  for (let round = 1; round <= rounds; round++) {
    const p99s: number[] = []
    for (const [index, list] of words.entries()) {
      const reference = await pgbench(
        environment,
        scripts[index] as string,
        seconds,
        connections,
        say,
        searchSettings,
      )
      const ours = await load(server, environment, searchesFor(list))
      found.engine[index]?.push({ ours, reference })
      p99s.push(ours.p99Ms)
    }
    found.spread.push(Math.max(...p99s) / Math.min(...p99s))
    for (const [name, requests] of Object.entries({
      search: searchesFor(all),
      facets: searchesFor(all, '&include=facets'),
      suggest: suggestionsFor(all),
    })) {
      const [large, tenth] = [
        await load(server, environment, requests),
        await load(smallServer, small, requests),
      ]
      found.growth[name as 'search'].push(large.p99Ms / tenth.p99Ms)
      found.p99[name as 'search'].push(large.p99Ms)
    }
    const [deepResult, firstResult] = [
      await load(server, environment, deep),
      await load(server, environment, first),
    ]
    found.depth.push(firstResult.perSecond / deepResult.perSecond)
    const growth = Object.values(found.growth).map((ratios) => ratios.at(-1)?.toFixed(2))
    say(
      `Searching, round ${round} of ${rounds}: ` +
        `p99 by class ${p99s.map((ms) => ms.toFixed(1)).join(', ')} ms, ` +
        `facets ${found.p99.facets.at(-1)?.toFixed(0)} ms, ` +
        `suggestions ${found.p99.suggest.at(-1)?.toFixed(1)} ms, ` +
        `against a tenth of the records ${growth.join(', ')}, ` +
        `deep page ${found.depth.at(-1)?.toFixed(2)}`,
    )
  }
  await server.stop()
  await smallServer.stop()
  const tenth = `p99, against ${small.records.toLocaleString('en')} records`
  return [
    ...classes.map(({ name }, index) =>
      ratio(
        `Search for words ${name}`,
        'pgbench, the same statements',
        (found.engine[index] ?? []).map(({ ours, reference }) => compareLoads(ours, reference)),
        { floor: 0.6, goal: 0.8 },
      ),
    ),
    ratioAtMost('Search: slowest class of words', 'p99, against the fastest class', found.spread, {
      floor: 8,
      goal: 3,
    }),
    ratioAtMost('Search and count', tenth, found.growth.search, { floor: 2, goal: 1.3 }),
    ratioAtMost('Search, count and facets', tenth, found.growth.facets, { floor: 2, goal: 1.3 }),
    ratioAtMost(
      'Search with facets',
      'p99, against without facets',
      found.p99.facets.map((ms, index) => ms / (found.p99.search[index] as number)),
      { floor: 3, goal: 1.5 },
    ),
    ratioAtMost('Suggestions', tenth, found.growth.suggest, { floor: 2, goal: 1.3 }),
    ratioAtMost(
      `Page at depth ${depthOf(environment).toLocaleString('en')}`,
      'time, against the first page',
      found.depth,
      { floor: 1.5, goal: 1.2 },
    ),
    p99('Search', found.p99.search),
    p99('Search with facets', found.p99.facets),
    p99('Suggestions', found.p99.suggest),
  ]
}

function p99(name: string, valuesMs: readonly number[]): Measured {
  return {
    name: `${name}, p99`,
    against: '',
    unit: 'ms',
    rounds: valuesMs.map((ours) => ({ ours })),
    median: median(valuesMs),
    verdict: 'for information',
  }
}

/** The settings of the connections that the service uses for searches. */
const searchSettings = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off'

/**
 * Samples words from titles, which are mostly common, and from the vocabulary, which are mostly
 * rare, and groups them by the number of talks that contain them.
 */
export async function wordsByClass(environment: BenchEnvironment): Promise<string[][]> {
  const sampled = await environment.query(`
    with sample as (
      select word
      from (select distinct regexp_split_to_table(normalized_words(title), ' ') as word
            from (select title from video order by hashint8(id) limit 150) as titles) as title_words
      where length(word) > 3
      union
      select word
      from (select word from search_word order by hashtext(word) limit 150) as vocabulary
    ), counted as (
      select word,
             (select count(*)
              from (select
                    from video_search
                    where (keys || head || text) @@ plainto_tsquery('english', word)
                    limit ${Math.round(environment.records * 0.06)}) as matches) as talks
      from sample
      where to_tsvector('english', word) <> '' and word ~ '^[a-z]{3,}$'
    )
    select string_agg(word || ' ' || talks, ',')
    from counted
    where talks > 0`)
  const random = randomFrom(11)
  const all = sampled.split(',').map((pair) => pair.split(' ') as [string, string])
  return classes.map(({ from, to }) => {
    const fitting = all
      .filter(
        ([, talks]) =>
          Number(talks) / environment.records >= from && Number(talks) / environment.records < to,
      )
      .map(([word]) => word)
    if (fitting.length === 0) throw new Error(`No word is in ${from} to ${to} of the talks`)
    return fitting.sort(() => random() - 0.5).slice(0, wordsEach)
  })
}

/**
 * Writes the statements of searches as one script. Their values are in a table, so that pgbench
 * plans once, like the service.
 */
async function script(
  environment: BenchEnvironment,
  words: readonly string[],
  file: string,
): Promise<string> {
  const pool = openPool({ url: environment.url, connections: 1, applicationName: 'bench' })
  const recorded: Parameters<Db['run']>[0][][] = []
  try {
    for (const word of words) {
      const statements: Parameters<Db['run']>[0][] = []
      const db: ReadPool = {
        ...pool.searches,
        run: (statement) => {
          statements.push(statement)
          return pool.searches.run(statement)
        },
      }
      const { hits } = await search(db, `${word} `, {}, 21)
      recorded.push(statements)
      await findListedBodies(
        db,
        hits.map(({ id }) => id),
      )
    }
  } finally {
    await pool.close()
  }
  // Most words of a class lead to the same statements; the others would need another script.
  const shape = (statements: (typeof recorded)[number]) =>
    statements.map(({ text }) => text).join(';')
  const mostFrequent = [...Map.groupBy(recorded, shape).values()].sort(
    (a, b) => b.length - a.length,
  )[0] as typeof recorded
  const path = join(environment.dir, file)
  writeFileSync(path, await scriptWithTable(environment, file.replaceAll(/\W/g, '_'), mostFrequent))
  return path
}

const depthOf = (environment: BenchEnvironment) => Math.floor(environment.records * 0.9)

/** Returns a request for a page after nine tenths of all records. */
export async function deepPage(environment: BenchEnvironment): Promise<BenchRequest[]> {
  const keys = await environment.query(`
    select coalesce(recorded, '-infinity')::text || '|' || fold(title) || '|' || id
    from video
    where state = 1 and taken_down is null
    order by coalesce(recorded, '-infinity'::date) desc, fold(title) collate "C", id
    offset ${depthOf(environment)}
    limit 1`)
  const [recorded = '', ...rest] = keys.split('|')
  const id = rest.pop() as string
  const cursor = writeCursor({
    ordering: '-recorded,title',
    way: 'next',
    keys: [recorded, rest.join('|'), id],
  })
  return [{ path: `/api/v2/video?cursor=${cursor}` }]
}
