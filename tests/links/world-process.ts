import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startWorld } from './world.ts'

// node world-process.ts: a world in a process of its own, for several processes that share it.
// Prints its address as JSON. A POST to its control port calls it (see remote-world.ts).

let nowMs = Date.now()
const world = await startWorld(() => nowMs)

// biome-ignore lint/suspicious/noExplicitAny: the arguments are those of the functions of World
const calls: Record<string, (...args: any[]) => unknown> = {
  setNow: (ms: number) => {
    nowMs = ms
  },
  now: () => nowMs,
  script: world.script,
  hostDays: world.hostDays,
  robots: world.robots,
  resolve: world.resolve,
  requestsFrom: (index: number) => world.requests.slice(index),
}

const control = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    const { name, args } = JSON.parse(Buffer.concat(chunks).toString())
    response.end(JSON.stringify({ value: calls[name]?.(...args) ?? null }))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
control.listen(0, '127.0.0.1', () => {
  const { port } = control.address() as AddressInfo
  console.log(JSON.stringify({ ...world.address, control: port }))
})
// The parent closes the pipe, or ends.
process.stdin.resume().on('end', () => process.exit())
