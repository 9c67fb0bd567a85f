// Run by `npm run relevance`: node tests/relevance/run.ts [--write]
// Imports the real talks into a new archive, sends the queries of search-queries.ts over HTTP, and
// fails if the results are worse than in docs/relevance.md. --write regenerates that report.

import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { refreshFrequencies } from '../../server/search/search.ts'
import { call } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { realTalks } from '../support/pyvideo.ts'
import { loadTalks } from '../support/talks.ts'
import { printQuestionSets } from './question-sets.ts'
import { type RelevanceQuery, relevanceQueries } from './search-queries.ts'

const document = fileURLToPath(new URL('../../docs/relevance.md', import.meta.url))

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  if (!realTalks) {
    console.log('Skipped: the talks (../shared/data/pyvideo.ndjson.gz) are missing')
    return 0
  }
  const talks = await loadTalks(realTalks)
  try {
    const pool = openPool({
      url: talks.url,
      connections: 4,
      applicationName: 'relevance',
      times: timeoutsFor(30),
    })
    const app = createApp(
      readConfig({ DATABASE_URL: talks.url, PORT: '0', ANSWER_SECONDS: '30' }),
      pool,
      false,
    )
    try {
      await checkInvariants(talks.url)
      await refreshFrequencies(pool, () => false)
      const files = await readSourceFiles(talks.url)
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      const queryResults: QueryResult[] = []
      for (const relevanceQuery of relevanceQueries)
        queryResults.push(await search(`http://127.0.0.1:${port}`, relevanceQuery, files))
      await printQuestionSets(`http://127.0.0.1:${port}`)
      return report(queryResults, values.write)
    } finally {
      await app.close()
      await pool.close()
    }
  } finally {
    await talks.stop()
  }
}

/** Maps the id of each record to the file it was imported from. */
async function readSourceFiles(url: string): Promise<Map<number, string>> {
  const rows = await withDatabase(url, (query) => query('select video_id, key from source_record'))
  return new Map(rows.map((row) => [Number(row.video_id), String(row.key)]))
}

interface QueryResult {
  readonly relevanceQuery: RelevanceQuery
  /** The rank of the first expected talk, from 1; undefined if it is not among the first twenty. */
  readonly rank: number | undefined
  readonly corrected: string
  readonly ms: number
}

async function search(
  url: string,
  relevanceQuery: RelevanceQuery,
  files: ReadonlyMap<number, string>,
): Promise<QueryResult> {
  const startedMs = performance.now()
  const reply = await call(
    url,
    'GET',
    `/api/v2/video?q=${encodeURIComponent(relevanceQuery.query)}`,
  )
  const ms = performance.now() - startedMs
  if (reply.status !== 200)
    throw new Error(`${relevanceQuery.query}: ${reply.status} ${reply.text}`)
  const { results, search } = reply.json as {
    results: { id: number }[]
    search: { corrected: { from: string; to: string }[] }
  }
  const index = results.findIndex(({ id }) => relevanceQuery.expected.includes(files.get(id) ?? ''))
  return {
    relevanceQuery,
    rank: index < 0 ? undefined : index + 1,
    corrected: search.corrected.map(({ from, to }) => `${from} → ${to}`).join(', '),
    ms,
  }
}

/** Prints the ranks. Returns 1 if they are worse than in docs/relevance.md. */
function report(queryResults: readonly QueryResult[], write: boolean): number {
  const passed = queryResults.filter(({ rank = 99 }) => rank <= 3).length
  const mrr =
    queryResults.reduce((sum, { rank }) => sum + (rank ? 1 / rank : 0), 0) / queryResults.length
  for (const { relevanceQuery, rank = 99, corrected, ms } of queryResults) {
    const mark = rank <= 3 ? ' ' : '✖'
    const position = (rank === 99 ? '-' : String(rank)).padStart(2)
    const note = corrected && `  (${corrected})`
    console.log(`${mark} ${position}  ${relevanceQuery.query}${note}  ${ms.toFixed(0)} ms`)
  }
  const line = `${passed} of ${queryResults.length} in the first 3, MRR ${mrr.toFixed(3)}`
  if (write) writeFileSync(document, markdown(queryResults, line))
  const [, before = '0', mrrBefore = '0'] =
    /^(\d+) of \d+ in the first 3, MRR ([\d.]+)$/m.exec(readFileSync(document, 'utf8')) ?? []
  const isWorse = passed < Number(before) || mrr < Number(mrrBefore) - 0.0005
  if (isWorse) console.log(`Worse than docs/relevance.md, which has ${before} and MRR ${mrrBefore}`)
  console.log(line)
  return isWorse ? 1 : 0
}

function markdown(queryResults: readonly QueryResult[], line: string): string {
  const rows = queryResults.map(
    ({ relevanceQuery: { query, kind, expected }, rank, corrected }) => {
      const result = rank && rank <= 3 ? rank : `**${rank ?? 'not found'}**`
      const talks = expected.map((file) => file.replace('/videos/', ': ').replace('.json', ''))
      const cells = [query.replaceAll('|', '\\|'), kind, result, corrected, talks.join('<br>')]
      return `| ${cells.join(' | ')} |`
    },
  )
  return `# Search relevance

Sixty search queries over 21,713 real talks, written before the search was implemented
(\`tests/relevance/search-queries.ts\`). A query passes if an expected talk is among the first three
results. \`npm run relevance -- --write\` regenerates this report; \`npm run relevance\` fails if the
number of passing queries or the mean reciprocal rank (MRR) is lower than here.

The run also asks questions that were written by others, and prints their results by class. Change
the search by causes, seen in a class, and never for a single question.

## How to judge

Decide which talks satisfy a question before you ask the search: those that a person would accept as
the answer, found by reading titles, speakers and descriptions, in any way but this search. List all
of them. A question whose answer is not in the archive, or that hundreds of talks answer, says
nothing. Type as people do: words in another order, typing errors, half a title.

## How to add a question

Add one line to \`tests/relevance/further-questions.ndjson\`, with the class, what is typed, and the
talks by title and event:

    {"class":"topical","q":"bee hive","accept":[{"title":"Honeybees","category":"PyCon US 2025"}]}

Questions are added, not changed to suit the search. Who changes the search does not write them.

## Results

${line}

| Query | Kind | Rank | Corrected | Expected |
|---|---|---|---|---|
${rows.join('\n')}
`
}
