import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { FaultEnvironment } from '../environment.ts'
import { startBadNetwork } from '../proxy.ts'
import { type Machine, systemPath } from './machine.ts'

// A bad network inside a machine: a process of its own, because a process is in one network only.
// This file is also the program that runs there, with a port and an address as arguments.

interface Link {
  readonly port: number
  delay(ms: number): void
}

/** Starts a proxy on a machine that listens on its address, and connects to one of its ports. */
export async function startLink(
  environment: FaultEnvironment,
  machine: Machine,
  to: { host: string; port: number },
): Promise<Link> {
  const args = [import.meta.filename, to.host, String(to.port), machine.address]
  const [program, ...rest] = machine.inside(process.execPath, ...args) as [string, ...string[]]
  const child = spawn(program, rest, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    cwd: '/',
    env: { PATH: systemPath },
  })
  environment.atEnd(() => child.kill('SIGKILL'))
  const [port] = (await once(child, 'message')) as [number]
  return { port, delay: (ms) => child.send(ms) }
}

/** Opens a port of a machine that listens only there, and returns the port that is reachable. */
export async function startTunnel(
  environment: FaultEnvironment,
  machine: Machine,
  port: number,
): Promise<number> {
  return (await startLink(environment, machine, { host: '127.0.0.1', port })).port
}

if (process.argv[1] === import.meta.filename) {
  const [host = '', port, listen = ''] = process.argv.slice(2)
  const proxy = await startBadNetwork({ host, port: Number(port) }, listen)
  process.on('message', (ms) => proxy.delay(Number(ms)))
  process.send?.(proxy.port)
}
