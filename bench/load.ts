import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Generates load with wrk and pgbench for some seconds, and measures the throughput, the 99th
// percentile of the latency, the CPU time per request, and the share of the CPU that other
// processes used in this time.

export interface LoadResult {
  readonly perSecond: number
  readonly p99Ms: number
  /** CPU time of the server for one request. */
  readonly cpuUs: number
  /** The share of the CPU time that was neither idle nor used by the server or the client. */
  readonly othersShare: number
}

export interface BenchRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends requests in turn with wrk, again and again. Throws if a response is not 2xx or 3xx. */
export async function runWrk(
  dir: string,
  port: number,
  requests: readonly BenchRequest[],
  seconds: number,
  connections: number,
  pids: readonly number[],
): Promise<LoadResult> {
  const script = join(dir, 'wrk.lua')
  writeFileSync(script, wrkScript(requests))
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
  const { output, cpuMs, othersShare } = await runMeasured('wrk', args, pids)
  const count = Number(/(\d+) requests in/.exec(output)?.[1])
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
  if (!(count > 0) || /Non-2xx|Socket errors/.test(output))
    throw new Error(`wrk received errors:\n${output}`)
  return {
    perSecond,
    p99Ms: parseMilliseconds(/99%\s+(\S+)/.exec(output)?.[1] ?? ''),
    cpuUs: (cpuMs * 1000) / count,
    othersShare,
  }
}

/** Runs the transaction of a script with pgbench, prepared once per connection. */
export async function runPgbench(
  bin: string,
  url: string,
  file: string,
  seconds: number,
  connections: number,
  pids: readonly number[],
  options = '',
): Promise<LoadResult> {
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
  const { output, cpuMs, othersShare } = await runMeasured(join(bin, 'pgbench'), args, pids, {
    ...process.env,
    PGOPTIONS: options,
  })
  const count = Number(/actually processed: (\d+)/.exec(output)?.[1])
  const failed = Number(/failed transactions: (\d+)/.exec(output)?.[1] ?? 0)
  if (!(count > 0) || failed > 0) throw new Error(`pgbench failed:\n${output}`)
  return {
    perSecond: Number(/tps = ([\d.]+)/.exec(output)?.[1]),
    p99Ms: Number.NaN,
    cpuUs: (cpuMs * 1000) / count,
    othersShare,
  }
}

/** Returns a script for wrk, in Lua, that sends the requests in turn. */
function wrkScript(requests: readonly BenchRequest[]): string {
  const rawRequests = requests.map(({ method = 'GET', path, headers = {}, body }) => {
    const allHeaders = {
      ...headers,
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    }
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'host: 127.0.0.1',
      ...Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}`),
    ]
    return luaString(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
  })
  return [
    `local requests = {${rawRequests.join(',\n')}}`,
    'local index = 0',
    'function request()',
    '  index = index % #requests + 1',
    '  return requests[index]',
    'end\n',
  ].join('\n')
}

const luaEscapes: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r' }
const luaString = (text: string) =>
  `"${text.replaceAll(/[\\"\n\r]/g, (character) => luaEscapes[character] as string)}"`

/** Runs a program, and measures the CPU time of these processes and of all others meanwhile. */
async function runMeasured(
  program: string,
  args: readonly string[],
  pids: readonly number[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const [cpuBefore, serverBefore, childrenBefore] = [readCpu(), cpuOf(pids), cpuOfEndedChildren()]
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${output}`)
  const [cpuAfter, cpuMs] = [readCpu(), cpuOf(pids) - serverBefore]
  const clientMs = cpuOfEndedChildren() - childrenBefore
  const total = cpuAfter.total - cpuBefore.total
  const idle = cpuAfter.idle - cpuBefore.idle
  const others = total - idle - (cpuMs + clientMs) / tickMs
  return { output, cpuMs, othersShare: Math.max(0, others / total) }
}

const tickMs = 1000 / Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout)

/** Reads the CPU time of the machine since it was started, in ticks. */
function readCpu(): { total: number; idle: number } {
  const line = /^cpu .*/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0] ?? ''
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return { total: user + nice + system + idle + wait + irq + soft + steal, idle: idle + wait }
}

/** Returns the CPU time of processes and all of their descendants, in ms. */
function cpuOf(pids: readonly number[]): number {
  const processes = new Map<number, { parent: number; ticks: number }>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = statFields(readFileSync(`/proc/${name}/stat`, 'utf8'))
      processes.set(Number(name), {
        parent: Number(fields[1]),
        // utime, stime, and both for the children that have ended.
        ticks: [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0),
      })
    } catch {
      // The process has ended.
    }
  }
  const isIncluded = (pid: number): boolean =>
    pids.includes(pid) || isParentIncluded(processes.get(pid)?.parent ?? 0)
  const isParentIncluded = (pid: number) => pid > 1 && isIncluded(pid)
  let sum = 0
  for (const [pid, { ticks }] of processes) if (isIncluded(pid)) sum += ticks
  return sum * tickMs
}

/** Returns the CPU time of the children of this process that have ended, in ms. */
function cpuOfEndedChildren(): number {
  const fields = statFields(readFileSync('/proc/self/stat', 'utf8'))
  return (Number(fields[13]) + Number(fields[14])) * tickMs
}

// The second field is a name in parentheses, which can contain any character.
const statFields = (stat: string) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')

/** Parses a duration of wrk, such as 1.25ms. */
function parseMilliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? []
  return Number(number) * ({ us: 0.001, ms: 1, s: 1000 }[unit ?? ''] ?? Number.NaN)
}
