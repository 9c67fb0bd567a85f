import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostileQueries } from '../tests/support/hostile-queries.ts'
import { type Measured, type MeasureOptions, ratioAtMost } from './measures.ts'

// Measures how much hostile search queries slow down ordinary reads. Reads are sent at a fixed
// rate, even if earlier ones have no response yet.

const readsPerSecond = 200
const attackers = 8

/** Prepares reads at a fixed rate, and hostile searches beside them. */
export function openAttack(port: number, records: number, seconds: number) {
  const paths = expensivePaths()
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const get = (path: string) =>
    new Promise<{ ms: number; status: number }>((resolve, reject) => {
      const startedMs = performance.now()
      request({ agent, host: '127.0.0.1', port, path }, (response) => {
        const { statusCode: status = 500 } = response
        response.resume().on('end', () => resolve({ ms: performance.now() - startedMs, status }))
      })
        .on('error', reject)
        .end()
    })
  const read = async () => {
    const id = 1 + Math.floor(Math.random() * records)
    const { ms, status } = await get(`/api/v2/video/${id}`)
    if (status >= 500) throw new Error(`Record ${id}: status ${status}`)
    return ms
  }

  async function readP99(): Promise<number> {
    const latencies: Promise<number>[] = []
    for (let sent = 0; sent < readsPerSecond * seconds; sent++) {
      latencies.push(read())
      await sleep(1000 / readsPerSecond)
    }
    const sorted = (await Promise.all(latencies)).sort((a, b) => a - b)
    return sorted[Math.floor(sorted.length * 0.99)] as number
  }

  async function readP99DuringAttack() {
    let [isOver, queries, refused, slowestMs] = [false, 0, 0, 0]
    const attack = async (first: number) => {
      for (let index = first; !isOver; index++, queries++) {
        const path = paths[index % paths.length] as string
        const { ms, status } = await get(path)
        // A server may refuse searches that it has no time for.
        if (status === 503) refused++
        else if (status >= 500) throw new Error(`${path}: status ${status}`)
        slowestMs = Math.max(slowestMs, ms)
      }
    }
    const attacks = Promise.all(Array.from({ length: attackers }, (_, n) => attack(n * 17)))
    await sleep(500)
    const p99Ms = await readP99()
    isOver = true
    await attacks
    return { p99Ms, queries, refused, slowestMs }
  }

  return { readP99, readP99DuringAttack, close: () => agent.destroy() }
}

/** Measures the latency of reads with and without concurrent hostile searches. */
export async function measureHostile({
  environment,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured> {
  const server = await environment.serve({})
  const { readP99, readP99DuringAttack, close } = openAttack(
    server.port,
    environment.records,
    seconds,
  )
  await readP99()
  const ratios: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const aloneMs = await readP99()
    const { p99Ms, queries, refused, slowestMs } = await readP99DuringAttack()
    ratios.push(p99Ms / aloneMs)
    say(
      `Hostile queries, round ${round} of ${rounds}: ` +
        `GET p99 ${aloneMs.toFixed(1)} ms alone, ` +
        `${p99Ms.toFixed(1)} ms with ${queries} concurrent queries, ` +
        `of which ${refused} were refused and the slowest took ${slowestMs.toFixed(0)} ms`,
    )
  }
  close()
  await server.stop()
  // The median ratio must not exceed `floor`, and should not exceed `goal`.
  return ratioAtMost('GET during hostile queries', 'p99, against GET alone', ratios, {
    floor: 3,
    goal: 2,
  })
}

const commonWords = 'python data web test introduction build how learn use talk code project'.split(
  ' ',
)

/** Returns requests that cost as much as one request can: each client sends them in this order. */
function expensivePaths(): string[] {
  const expensive = [
    commonWords.join(' or '),
    '"how to build" or "introduction to" or "the web" or "data with python" or "we use"',
    '"how to use python" "to learn"',
    commonWords.join(' '),
    'python -zzzz -yyyy -xxxx',
    ...Object.values(hostileQueries),
  ].map((q) => `q=${encodeURIComponent(q)}`)
  const parameters = [
    'include=facets,snippets&page_size=100',
    'page=90&page_size=100',
    'ordering=title&page=90&page_size=100',
    'include=facets&year=2014,2015,2016,2017,2018,2019',
  ]
  return [
    ...expensive.flatMap((q) => parameters.map((parameter) => `/api/v2/video?${parameter}&${q}`)),
    '/api/v2/video?include=facets&language=english',
    '/api/v2/video?page=100&page_size=100&ordering=-duration',
    '/search?q=python+or+data+or+web',
  ]
}
