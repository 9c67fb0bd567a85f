import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { GuardOptions } from '../../server/platform/net/guard.ts'
import { guardOf, type World, type WorldAddress, type WorldRequest } from './world.ts'

// A world in a process of its own (world-process.ts), which outlives the processes that ask it.

/** Where a remote world is. JSON, so that it can be passed to other processes. */
export interface RemoteAddress extends WorldAddress {
  readonly control: number
}

export interface RemoteWorld {
  readonly address: RemoteAddress
  readonly guard: GuardOptions
  setNow(ms: number): Promise<void>
  now(): Promise<number>
  script(...args: Parameters<World['script']>): Promise<string>
  hostDays(...args: Parameters<World['hostDays']>): Promise<void>
  robots(...args: Parameters<World['robots']>): Promise<void>
  /** Returns the requests from an index on, in the order in which they arrived. */
  requestsFrom(index: number): Promise<WorldRequest[]>
}

/** Starts a world in a process of its own. */
export async function startRemoteWorld(): Promise<RemoteWorld & { close(): Promise<void> }> {
  const file = fileURLToPath(new URL('./world-process.ts', import.meta.url))
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line')
  return {
    ...connectWorld(JSON.parse(line)),
    async close() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

/** Connects to a world that another process started. */
export function connectWorld(address: RemoteAddress): RemoteWorld {
  const call =
    <T>(name: string) =>
    async (...args: unknown[]): Promise<T> => {
      const response = await fetch(`http://127.0.0.1:${address.control}/`, {
        method: 'POST',
        body: JSON.stringify({ name, args }),
      })
      if (!response.ok) throw new Error(`The world answers ${await response.text()}`)
      return ((await response.json()) as { value: T }).value
    }
  const resolve = call<string[]>('resolve')
  return {
    address,
    guard: guardOf(address, (host) => resolve(host)),
    setNow: call('setNow'),
    now: call('now'),
    script: call('script'),
    hostDays: call('hostDays'),
    robots: call('robots'),
    requestsFrom: call('requestsFrom'),
  }
}
