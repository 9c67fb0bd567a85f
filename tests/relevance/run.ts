// What `npm run relevance` runs: node tests/relevance/run.ts [--write]
// Loads the real talks into an archive of their own, asks the questions of questions.ts over HTTP, and compares with docs/relevance.md: it may not
// get worse. --write writes that table anew.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CategoryInput, VideoInput, valid } from '@talkshelf/contract'
import { createApp } from '../../server/app.ts'
import type { Request } from '../../server/changes/changes.ts'
import { readConfig } from '../../server/config.ts'
import { Unavailable } from '../../server/platform/db/db.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import { timesFor } from '../../server/platform/times.ts'
import { createVideo } from '../../server/videos/videos.ts'
import { createCategory } from '../../server/vocabulary/vocabulary.ts'
import { call } from '../harness.ts'
import { checkInvariants } from '../invariants.ts'
import { migratedDatabase, startPostgres } from '../postgres.ts'
import { inputOf, readTalks, type Talk } from '../pyvideo.ts'
import { type Question, questions } from './questions.ts'

const document = fileURLToPath(new URL('../../docs/relevance.md', import.meta.url))

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  const talks = readTalks()
  if (!talks) {
    console.log('Skipped: the talks (../shared/data/pyvideo.ndjson.gz) are not at hand')
    return 0
  }
  const postgres = await startPostgres({ version: 15 })
  try {
    const url = await migratedDatabase(postgres, 'talkshelf')
    const pool = openPool({ url, connections: 4, applicationName: 'relevance', times: timesFor(30) })
    const app = createApp(readConfig({ DATABASE_URL: url, PORT: '0', ANSWER_SECONDS: '30' }), pool, false)
    try {
      const began = performance.now()
      const files = await load(pool, talks)
      console.log(`${talks.length} talks loaded in ${((performance.now() - began) / 1000).toFixed(0)} s`)
      await checkInvariants(url)
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
    await postgres.stop()
  }
}

/** Through the front doors. Tells which record became of which file. */
async function load(pool: Pool, talks: readonly Talk[]): Promise<Map<number, string>> {
  for (const title of new Set(talks.map((talk) => inputOf(talk).category)))
    await createCategory(pool, valid(CategoryInput, { title }), requestFor(title))
  const files = new Map<number, string>()
  const waiting = talks.entries()
  const work = async () => {
    for (const [place, talk] of waiting) {
      const { id } = await patiently(() => createVideo(pool, valid(VideoInput, inputOf(talk)), requestFor(talk.file), undefined))
      files.set(id, talk.file)
      if ((place + 1) % 5000 === 0) console.log(`${place + 1} of ${talks.length}`)
    }
  }
  await Promise.all([work(), work(), work(), work()])
  return files
}

/** A machine that stands still for a moment lets a lock wait too long; nothing was written then, and it may be done again. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let times = 1; ; times++)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable && error.outcome === 'not-applied') || times === 5) throw error
    }
}

function requestFor(key: string): Request {
  return {
    origin: { actor: { role: 'editor', name: 'relevance', token: null }, via: 'command', request: key.slice(0, 100) },
    ifMatch: undefined,
    hash: createHash('sha256').update(key).digest(),
  }
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
