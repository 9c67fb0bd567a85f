import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findListedBodies } from '../server/catalogue/queries.ts'
import type { Db } from '../server/platform/db/db.ts'
import { openPool } from '../server/platform/db/pool.ts'
import type { ReadPool } from '../server/platform/db/read-pool.ts'
import { writeCursor } from '../server/platform/http/cursor.ts'
import { search } from '../server/search/search.ts'
import type { BenchEnvironment, BenchServer } from './environment.ts'
import { http, type Sent, type Window } from './load.ts'
import {
  compared,
  type Measured,
  type MeasureOptions,
  median,
  pgbench,
  quiet,
  ratio,
  ratioAtMost,
} from './measures.ts'
import { randomFrom } from './records.ts'
import { writtenWith } from './statements.ts'

// The cost of a search: by the frequency of the word, by the size of the archive, and relative to
// the same statements in pgbench.

const classes = [
  { name: 'in more than 5 % of the talks', from: 0.05, to: 1 },
  { name: 'in 0.5 to 5 %', from: 0.005, to: 0.05 },
  { name: 'in 0.05 to 0.5 %', from: 0.0005, to: 0.005 },
  { name: 'in fewer than 0.05 %', from: 0, to: 0.0005 },
] as const

const wordsEach = 12
/**
 * Enough to keep both processors busy, and not so many that waiting is most of what is measured.
 */
const connections = 2

/** Measures searches, facets, suggestions and deep pages. */
export async function measureSearch(
  options: MeasureOptions & { small: BenchEnvironment },
): Promise<Measured[]> {
  const { environment, small, rounds, seconds, say } = options
  const words = await wordsByClass(environment)
  for (const [index, { name }] of classes.entries())
    say(`Words ${name}: ${words[index]?.join(', ')}`)
  const [server, smallServer] = [await environment.serve({}), await small.serve({})]
  const asking = (list: readonly string[], more = ''): Sent[] =>
    list.map((word) => ({ path: `/api/v2/video?q=${encodeURIComponent(`${word} `)}${more}` }))
  const over = (it: BenchServer, on: BenchEnvironment, requests: readonly Sent[]) =>
    quiet(say, () =>
      http(on.dir, it.port, requests, seconds, connections, [it.pid, on.postgresPid]),
    )

  // The statements of each class, as the service sends them for its words.
  const scripts = await Promise.all(
    words.map((list, index) => script(environment, list, `search-${index}.sql`)),
  )
  const all = words.flat()
  const deep = await deepPage(environment)
  const first = [{ path: '/api/v2/video?cursor=' }]
  const found = {
    engine: words.map(() => [] as { ours: Window; reference: Window }[]),
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
        planned,
      )
      const ours = await over(server, environment, asking(list))
      found.engine[index]?.push({ ours, reference })
      p99s.push(ours.p99Ms)
    }
    found.spread.push(Math.max(...p99s) / Math.min(...p99s))
    const suggestions = all.map((word) => ({
      path: `/api/v2/suggest?q=${encodeURIComponent(word.slice(0, 4))}`,
    }))
    for (const [name, requests] of Object.entries({
      search: asking(all),
      facets: asking(all, '&include=facets'),
      suggest: suggestions,
    })) {
      const [large, tenth] = [
        await over(server, environment, requests),
        await over(smallServer, small, requests),
      ]
      found.growth[name as 'search'].push(large.p99Ms / tenth.p99Ms)
      found.p99[name as 'search'].push(large.p99Ms)
    }
    const [end, beginning] = [
      await over(server, environment, deep),
      await over(server, environment, first),
    ]
    found.depth.push(beginning.perSecond / end.perSecond)
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
        (found.engine[index] ?? []).map(({ ours, reference }) => compared(ours, reference)),
        { floor: 0.6, goal: 0.8 },
      ),
    ),
    ratioAtMost('Search: slowest class of words', 'p99, against the fastest class', found.spread, {
      floor: 8,
      goal: 3,
    }),
    ratioAtMost('Search and count', tenth, found.growth.search, { floor: 2, goal: 1.3 }),
    ratioAtMost('Search, count and facets', tenth, found.growth.facets, { floor: 2, goal: 1.3 }),
    ratioAtMost('Suggestions', tenth, found.growth.suggest, { floor: 2, goal: 1.3 }),
    ratioAtMost(
      `Page at depth ${depthOf(environment).toLocaleString('en')}`,
      'time, against the first page',
      found.depth,
      { floor: 1.5, goal: 1.2 },
    ),
    {
      name: 'Search, p99',
      against: '',
      unit: 'ms',
      rounds: found.p99.search.map((ours) => ({ ours })),
      median: median(found.p99.search),
      verdict: 'for information',
    },
    {
      name: 'Search with facets, p99',
      against: '',
      unit: 'ms',
      rounds: found.p99.facets.map((ours) => ({ ours })),
      median: median(found.p99.facets),
      verdict: 'for information',
    },
    {
      name: 'Suggestions, p99',
      against: '',
      unit: 'ms',
      rounds: found.p99.suggest.map((ours) => ({ ours })),
      median: median(found.p99.suggest),
      verdict: 'for information',
    },
  ]
}

/** The settings of the connections that the service uses for searches. */
const planned = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off'

/**
 * Words of titles, which are mostly common, and of the vocabulary, which are mostly rare; by how
 * many talks have them.
 */
async function wordsByClass(environment: BenchEnvironment): Promise<string[][]> {
  const sampled = await environment.ask(`
    select string_agg(word || ' ' || talks, ',')
    from (select word, (select count(*) from (select from video_search where (keys || head || text) @@ plainto_tsquery('english', word) limit ${Math.round(environment.records * 0.06)}) as counted) as talks
          from (select word from (select distinct regexp_split_to_table(normalized_words(title), ' ') as word from (select title from video order by hashint8(id) limit 150) as picked) as titles
                where length(word) > 3
                union select * from (select word from search_word order by hashtext(word) limit 150) as picked) as words
          where to_tsvector('english', word) <> '' and word ~ '^[a-z]{3,}$') as counted where talks > 0`)
  const random = randomFrom(11)
  const all = sampled.split(',').map((it) => it.split(' ') as [string, string])
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
  // Most words of a class ask the same; the others would need a script of their own.
  const shape = (statements: (typeof recorded)[number]) =>
    statements.map(({ text }) => text).join(';')
  const same = [...Map.groupBy(recorded, shape).values()].sort(
    (a, b) => b.length - a.length,
  )[0] as typeof recorded
  const path = join(environment.dir, file)
  writeFileSync(path, await writtenWith(environment, file.replaceAll(/\W/g, '_'), same))
  return path
}

const depthOf = (environment: BenchEnvironment) => Math.floor(environment.records * 0.9)

/** A page behind nine tenths of all records. */
async function deepPage(environment: BenchEnvironment): Promise<Sent[]> {
  const keys = await environment.ask(`
    select coalesce(recorded, '-infinity')::text || '|' || fold(title) || '|' || id from video where state = 1 and taken_down is null
    order by coalesce(recorded, '-infinity'::date) desc, fold(title) collate "C", id offset ${depthOf(environment)} limit 1`)
  const [recorded = '', ...rest] = keys.split('|')
  const id = rest.pop() as string
  const cursor = writeCursor({
    ordering: '-recorded,title',
    way: 'next',
    keys: [recorded, rest.join('|'), id],
  })
  return [{ path: `/api/v2/video?cursor=${cursor}` }]
}
