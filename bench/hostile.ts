import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostileQueries } from '../tests/support/hostile-queries.ts'
import { type Measured, type MeasureOptions, ratioAtMost } from './measures.ts'

// How much hostile search queries slow down ordinary reads: readers send requests at a fixed rate,
// whether or not earlier ones were answered.

const readsPerSecond = 200
const askers = 8

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
      const begin = performance.now()
      request({ agent, host: '127.0.0.1', port: server.port, path }, (answer) => {
        if ((answer.statusCode ?? 500) >= 500)
          reject(new Error(`${path} was answered ${answer.statusCode}`))
        answer.resume().on('end', () => resolve(performance.now() - begin))
      })
        .on('error', reject)
        .end()
    })
  const read = () => get(`/api/v2/video/${1 + Math.floor(Math.random() * environment.records)}`)

  async function p99(): Promise<number> {
    const waits: Promise<number>[] = []
    for (let sent = 0; sent < readsPerSecond * seconds; sent++) {
      waits.push(read())
      await sleep(1000 / readsPerSecond)
    }
    const sorted = (await Promise.all(waits)).sort((a, b) => a - b)
    return sorted[Math.floor(sorted.length * 0.99)] as number
  }

  async function beside(): Promise<{ p99Ms: number; asked: number; slowestMs: number }> {
    let [isOver, asked, slowestMs] = [false, 0, 0]
    const all = Object.values(hostileQueries)
    const ask = async (first: number) => {
      for (let place = first; !isOver; place++, asked++) {
        const q = encodeURIComponent(all[place % all.length] as string)
        slowestMs = Math.max(slowestMs, await get(`/api/v2/video?include=facets,snippets&q=${q}`))
      }
    }
    const asking = Promise.all(Array.from({ length: askers }, (_, number) => ask(number * 5)))
    await sleep(500)
    const p99Ms = await p99()
    isOver = true
    await asking
    return { p99Ms, asked, slowestMs }
  }

  await p99()
  const found: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const alone = await p99()
    const { p99Ms, asked, slowestMs } = await beside()
    found.push(p99Ms / alone)
    say(
      `Hostile questions, round ${round} of ${rounds}: GET p99 ${alone.toFixed(1)} ms alone, ${p99Ms.toFixed(1)} ms beside ${asked} questions, of which the slowest took ${slowestMs.toFixed(0)} ms`,
    )
  }
  agent.destroy()
  await server.stop()
  return ratioAtMost('GET beside hostile questions', 'p99, against GET alone', found, {
    floor: 2,
    goal: 1.5,
  })
}
