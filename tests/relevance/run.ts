// What `npm run relevance` runs: node tests/relevance/run.ts [--write]
// Imports the real talks into an archive of their own, asks the questions of questions.ts over HTTP, and compares with docs/relevance.md: it may not
// get worse. --write writes that table anew.

import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timesFor } from '../../server/platform/times.ts'
import { call } from '../harness.ts'
import { checkInvariants, withDatabase } from '../invariants.ts'
import { realTalks } from '../pyvideo.ts'
import { loadTalks } from '../talks.ts'
import { type Question, questions } from './questions.ts'

const document = fileURLToPath(new URL('../../docs/relevance.md', import.meta.url))

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  if (!realTalks) {
    console.log('Skipped: the talks (../shared/data/pyvideo.ndjson.gz) are not at hand')
    return 0
  }
  const talks = await loadTalks(realTalks)
  try {
    const pool = openPool({ url: talks.url, connections: 4, applicationName: 'relevance', times: timesFor(30) })
    const app = createApp(readConfig({ DATABASE_URL: talks.url, PORT: '0', ANSWER_SECONDS: '30' }), pool, false)
    try {
      await checkInvariants(talks.url)
      const files = await filesOf(talks.url)
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      const answers: Answer[] = []
      for (const question of questions) answers.push(await ask(`http://127.0.0.1:${port}`, question, files))
      return judge(answers, values.write)
    } finally {
      await app.close()
      await pool.close()
    }
  } finally {
    await talks.stop()
  }
}

/** Which record became of which file. */
async function filesOf(url: string): Promise<Map<number, string>> {
  const rows = await withDatabase(url, (query) => query('select video_id, key from imported'))
  return new Map(rows.map((row) => [Number(row.video_id), String(row.key)]))
}

interface Answer {
  readonly question: Question
  /** The place of the first talk that is meant, from 1 on; undefined where it is not among the first twenty. */
  readonly place: number | undefined
  readonly corrected: string
  readonly ms: number
}

async function ask(url: string, question: Question, files: ReadonlyMap<number, string>): Promise<Answer> {
  const began = performance.now()
  const reply = await call(url, 'GET', `/api/v2/video?q=${encodeURIComponent(question.asked)}`)
  const ms = performance.now() - began
  if (reply.status !== 200) throw new Error(`${question.asked}: ${reply.status} ${reply.text}`)
  const { results, search } = reply.json as { results: { id: number }[]; search: { corrected: { from: string; to: string }[] } }
  const at = results.findIndex(({ id }) => question.expected.includes(files.get(id) ?? ''))
  return {
    question,
    place: at < 0 ? undefined : at + 1,
    corrected: search.corrected.map(({ from, to }) => `${from} → ${to}`).join(', '),
    ms,
  }
}

function judge(answers: readonly Answer[], write: boolean): number {
  const hold = answers.filter(({ place = 99 }) => place <= 3).length
  const mrr = answers.reduce((sum, { place }) => sum + (place ? 1 / place : 0), 0) / answers.length
  for (const { question, place, corrected, ms } of answers)
    console.log(
      `${place && place <= 3 ? ' ' : '✖'} ${String(place ?? '-').padStart(2)}  ${question.asked}${corrected && `  (${corrected})`}  ${ms.toFixed(0)} ms`,
    )
  const line = `${hold} of ${answers.length} in the first 3, MRR ${mrr.toFixed(3)}`
  if (write) writeFileSync(document, written(answers, line))
  const [, before = '0', mrrBefore = '0'] = /^(\d+) of \d+ in the first 3, MRR ([\d.]+)$/m.exec(readFileSync(document, 'utf8')) ?? []
  const isWorse = hold < Number(before) || mrr < Number(mrrBefore) - 0.0005
  if (isWorse) console.log(`Worse than docs/relevance.md, which says ${before} and ${mrrBefore}`)
  console.log(line)
  return isWorse ? 1 : 0
}

function written(answers: readonly Answer[], line: string): string {
  const rows = answers.map(
    ({ question: { asked, kind, expected }, place, corrected }) =>
      `| ${asked.replaceAll('|', '\\|')} | ${kind} | ${place && place <= 3 ? place : `**${place ?? 'not found'}**`} | ${corrected} | ${expected.map((file) => file.replace('/videos/', ': ').replace('.json', '')).join('<br>')} |`,
  )
  return `# Does the search find what people mean?

Sixty questions over 21,713 real talks, written down before the search was built (\`tests/relevance/questions.ts\`). A question holds where a talk
that is meant is among the first three results. \`npm run relevance -- --write\` writes this table; \`npm run relevance\` fails where it got worse.

${line}

| Asked | Kind | Place | Corrected | Meant |
|---|---|---|---|---|
${rows.join('\n')}
`
}
