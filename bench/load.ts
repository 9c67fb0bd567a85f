import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Puts load on something for some seconds, and tells what came of it: how many a second, how slow
// the slowest were, how much processor time each took, and how much of the machine others took
// meanwhile.

export interface Window {
  readonly perSecond: number
  readonly p99Ms: number
  /** Processor time of the side that answers, for one request. */
  readonly cpuUs: number
  /** The share of the machine that was neither ours nor idle. */
  readonly othersShare: number
}

export interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * HTTP by wrk: these requests, over and over, in this order. Any answer that is not the expected
 * one is a failure of the whole run.
 */
export async function http(
  dir: string,
  port: number,
  requests: readonly Sent[],
  seconds: number,
  connections: number,
  pids: readonly number[],
): Promise<Window> {
  const script = join(dir, 'wrk.lua')
  writeFileSync(script, lua(requests))
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '5s',
    '--latency',
    '-s',
    script,
    `http://127.0.0.1:${port}`,
  ]
  const { said, cpuMs, othersShare } = await watched('wrk', args, pids)
  const count = Number(/(\d+) requests in/.exec(said)?.[1])
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1])
  if (!(count > 0) || /Non-2xx|Socket errors/.test(said))
    throw new Error(`wrk was not answered as it should be:\n${said}`)
  return {
    perSecond,
    p99Ms: milliseconds(/99%\s+(\S+)/.exec(said)?.[1] ?? ''),
    cpuUs: (cpuMs * 1000) / count,
    othersShare,
  }
}

/** PostgreSQL alone, by pgbench: the script's transaction, prepared once a connection. */
export async function database(
  bin: string,
  url: string,
  file: string,
  seconds: number,
  connections: number,
  pids: readonly number[],
  options = '',
): Promise<Window> {
  const args = [
    '-n',
    '-M',
    'prepared',
    '-f',
    file,
    '-c',
    String(connections),
    '-j',
    '1',
    '-T',
    String(seconds),
    url,
  ]
  const { said, cpuMs, othersShare } = await watched(join(bin, 'pgbench'), args, pids, {
    ...process.env,
    PGOPTIONS: options,
  })
  const count = Number(/actually processed: (\d+)/.exec(said)?.[1])
  const failed = Number(/failed transactions: (\d+)/.exec(said)?.[1] ?? 0)
  if (!(count > 0) || failed > 0) throw new Error(`pgbench failed:\n${said}`)
  return {
    perSecond: Number(/tps = ([\d.]+)/.exec(said)?.[1]),
    p99Ms: Number.NaN,
    cpuUs: (cpuMs * 1000) / count,
    othersShare,
  }
}

function lua(requests: readonly Sent[]): string {
  const quoted = (text: string) =>
    `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`
  const made = requests.map(({ method = 'GET', path, headers = {}, body }) => {
    const all = {
      ...headers,
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    }
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'host: 127.0.0.1',
      ...Object.entries(all).map(([name, value]) => `${name}: ${value}`),
    ]
    return quoted(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
  })
  return `local made = {${made.join(',\n')}}\nlocal at = 0\nfunction request()\n  at = at % #made + 1\n  return made[at]\nend\n`
}

async function watched(
  program: string,
  args: readonly string[],
  pids: readonly number[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const [before, begun, own] = [machine(), cpuOf(pids), ownChildren()]
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${said}`)
  const [after, cpuMs] = [machine(), cpuOf(pids) - begun]
  const total = after.total - before.total
  const others = total - (after.idle - before.idle) - (cpuMs + ownChildren() - own) / tickMs
  return { said, cpuMs, othersShare: Math.max(0, others / total) }
}

const tickMs = 1000 / Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout)

function machine(): { total: number; idle: number } {
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] =
    numbers(/^cpu .*/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0])
  return { total: user + nice + system + idle + wait + irq + soft + steal, idle: idle + wait }
}

/** Processor time of these processes and all below them, in ms. */
function cpuOf(pids: readonly number[]): number {
  const parents = new Map<number, { parent: number; ticks: number }>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = afterName(readFileSync(`/proc/${name}/stat`, 'utf8'))
      // With what its children used that have ended.
      parents.set(Number(name), {
        parent: Number(fields[1]),
        ticks: [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0),
      })
    } catch {
      // Gone while we looked.
    }
  }
  const isBelow = (pid: number): boolean =>
    pids.includes(pid) || isBelowParent(parents.get(pid)?.parent ?? 0)
  const isBelowParent = (pid: number) => pid > 1 && isBelow(pid)
  let ticks = 0
  for (const [pid, it] of parents) if (isBelow(pid)) ticks += it.ticks
  return ticks * tickMs
}

/** What the programs used that we started and that have ended, in ms. */
function ownChildren(): number {
  const fields = afterName(readFileSync('/proc/self/stat', 'utf8'))
  return (Number(fields[13]) + Number(fields[14])) * tickMs
}

// The second field is a name in brackets, which may hold anything.
const afterName = (stat: string) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')
const numbers = (line = '') => line.split(/\s+/).slice(1).map(Number)

function milliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? []
  return Number(number) * ({ us: 0.001, ms: 1, s: 1000 }[unit ?? ''] ?? Number.NaN)
}
