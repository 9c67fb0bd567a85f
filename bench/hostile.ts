import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostileQueries } from '../tests/support/hostile-queries.ts'
import { type Measured, type MeasureOptions, ratioAtMost } from './measures.ts'

// Measures how much hostile search queries slow down ordinary reads. Reads are sent at a fixed
// rate, even if earlier ones have no response yet.

const readsPerSecond = 200
const attackers = 8

/** Measures the latency of reads with and without concurrent hostile searches. */
export async function measureHostile({
  environment,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured> {
  const server = await environment.serve({})
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const get = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const startedMs = performance.now()
      request({ agent, host: '127.0.0.1', port: server.port, path }, (response) => {
        if ((response.statusCode ?? 500) >= 500)
          reject(new Error(`${path}: status ${response.statusCode}`))
        response.resume().on('end', () => resolve(performance.now() - startedMs))
      })
        .on('error', reject)
        .end()
    })
  const read = () => get(`/api/v2/video/${1 + Math.floor(Math.random() * environment.records)}`)

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
    let [isOver, queries, slowestMs] = [false, 0, 0]
    const all = Object.values(hostileQueries)
    const attack = async (first: number) => {
      for (let index = first; !isOver; index++, queries++) {
        const q = encodeURIComponent(all[index % all.length] as string)
        slowestMs = Math.max(slowestMs, await get(`/api/v2/video?include=facets,snippets&q=${q}`))
      }
    }
    const attacks = Promise.all(Array.from({ length: attackers }, (_, n) => attack(n * 5)))
    await sleep(500)
    const p99Ms = await readP99()
    isOver = true
    await attacks
    return { p99Ms, queries, slowestMs }
  }

  await readP99()
  const ratios: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const aloneMs = await readP99()
    const { p99Ms, queries, slowestMs } = await readP99DuringAttack()
    ratios.push(p99Ms / aloneMs)
    say(
      `Hostile queries, round ${round} of ${rounds}: ` +
        `GET p99 ${aloneMs.toFixed(1)} ms alone, ` +
        `${p99Ms.toFixed(1)} ms with ${queries} concurrent queries, ` +
        `of which the slowest took ${slowestMs.toFixed(0)} ms`,
    )
  }
  agent.destroy()
  await server.stop()
  // The median ratio must not exceed `floor`, and should not exceed `goal`.
  return ratioAtMost('GET during hostile queries', 'p99, against GET alone', ratios, {
    floor: 2,
    goal: 1.5,
  })
}
