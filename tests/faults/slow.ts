import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, category } from '../support/harness.ts'
import { until } from '../support/until.ts'
import {
  type Fault,
  type FaultEnvironment,
  launch,
  startDatabase,
  startFaultService,
} from './environment.ts'

// More than a thousand clients that are slow on purpose: they send the headers or the body of a
// request byte by byte, or read a response that way. Each attack has a service of its own; ordinary
// readers of the same service must not notice.

const slowhttptest = '/usr/bin/slowhttptest'
// More than REQUESTS_AT_ONCE: slow connections must not count against that limit.
const slowClients = 1100
/** The minimum of concurrent slow connections for a valid test. */
const minSlow = 900
/** The share of ordinary requests that must succeed within `maxGoodMs`. */
const minGoodShare = 0.99
const maxGoodMs = 3000
/**
 * The service checks its limits once a second; the rest is for a busy machine.
 * tests/api/edges.test.ts is strict about the limits.
 */
const toleranceS = 10

interface Attack {
  readonly name: string
  /** After how long the service must close the connections. */
  readonly limitS?: number
  readonly reads: 'ordinary' | 'big'
  options(token: string): string[]
}

const attacks: Attack[] = [
  {
    name: 'bodies',
    limitS: 10,
    reads: 'ordinary',
    // The content type is copied into the request as it is, so it can contain another header.
    // Without a token, the service would refuse the request without waiting for the body.
    options: (token) => [
      '-B',
      '-f',
      `application/json\r\nAuthorization: Token ${token}`,
      ...'-t PATCH -s 100000 -i 1 -x 10'.split(' '),
    ],
  },
  { name: 'heads', limitS: 5, reads: 'ordinary', options: () => '-H -i 1 -x 10'.split(' ') },
  // 5 bytes a second, through a small window.
  { name: 'readers', reads: 'big', options: () => '-X -n 1 -z 5 -w 1 -y 512'.split(' ') },
]

export const slowConnections: Fault = {
  name: 'slow connections (1,100 of each kind)',
  limitS: { quick: 240, full: 400 },
  missing() {
    if (!existsSync(slowhttptest)) return 'slowhttptest is not installed'
    const [, files = '0'] =
      /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(files) < slowClients * 2 ? `a process may open ${files} files only` : undefined
  },
  async run(environment) {
    shortenQueues(environment)
    const database = await startDatabase(environment)
    const slow = watchConnections(environment)
    let records: Records | undefined
    const summaries: string[] = []
    // One attack after the other: three thousand connections at once are too much for two cores.
    for (const attack of attacks) {
      const { url } = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
      records ??= await makeRecords(url, environment.token)
      summaries.push(await withstand(environment, url, attack, records, slow))
    }
    return summaries.join('; ')
  },
}

interface Records {
  readonly ordinary: readonly number[]
  readonly big: readonly number[]
}

/**
 * Shortens the send buffers of the kernel. On a loopback connection they hold megabytes, so that a
 * slow reader would not slow down the service; on a real network they hold very little.
 */
function shortenQueues(environment: FaultEnvironment): void {
  // Only in a network namespace of our own, and as root; otherwise less is tested.
  if (process.pid !== 1 || process.getuid?.() !== 0) return
  const setting = '/proc/sys/net/ipv4/tcp_wmem'
  const before = readFileSync(setting, 'utf8')
  writeFileSync(setting, '4096 16384 65536')
  environment.atEnd(() => writeFileSync(setting, before))
}

async function makeRecords(url: string, token: string): Promise<Records> {
  const make = async (path: string, body: object): Promise<number> => {
    const reply = await call(url, 'POST', path, { token, body })
    if (reply.status !== 201) throw new Error(reply.text)
    return reply.json.id
  }
  await make('/api/v2/category', { title: category })
  const record = { category, language: 'English', state: 1 }
  const ordinary: number[] = []
  while (ordinary.length < 20)
    ordinary.push(await make('/api/v2/video', { ...record, title: `Ordinary ${ordinary.length}` }))
  // In the JSON each of these letters has six bytes.
  return {
    ordinary,
    big: [
      await make('/api/v2/video', {
        ...record,
        title: 'Big',
        description: '\u00e9'.repeat(35_000),
      }),
    ],
  }
}

/** Repeats an attack, checks that ordinary readers do not notice, and returns the figures. */
async function withstand(
  environment: FaultEnvironment,
  url: string,
  attack: Attack,
  records: Records,
  slow: SlowCounter,
): Promise<string> {
  const readers = startReaders(url, records.ordinary)
  const end = performance.now() + (environment.quick ? 5000 : 55_000)
  const options = [
    ...attack.options(environment.token),
    '-u',
    `${url}/api/v2/video/${records[attack.reads][0]}`,
  ]
  const rounds: Round[] = []
  const maxOf = (figure: keyof Round) => Math.max(...rounds.map((round) => round[figure]))
  try {
    // On a busy machine the first connections may be cut before the last are open; then it is
    // repeated.
    while (
      rounds.length === 0 ||
      performance.now() < end ||
      (maxOf('peak') < minSlow && rounds.length < 3)
    ) {
      const countSlow = () => slow(Number(new URL(url).port))
      rounds.push(await playRound(environment, attack, options, countSlow, end))
    }
  } finally {
    await readers.stop()
  }
  const good = readers.attempts.filter(({ status, ms }) => status === 200 && ms <= maxGoodMs)
  const share = good.length / readers.attempts.length
  const seconds = (figure: 'heldMs' | 'closedMs') => `${(maxOf(figure) / 1000).toFixed(1)} s`
  const cut = attack.limitS === undefined ? '' : `, cut after ${seconds('heldMs')}`
  const repeated = rounds.length > 1 ? ` (${rounds.length} times)` : ''
  const figures =
    `${attack.name}: ${maxOf('peak')} connected at once${cut}${repeated}, ` +
    `all closed ${seconds('closedMs')} after the clients ended, ` +
    `${good.length} of ${readers.attempts.length} GETs succeeded ` +
    `(${(Math.floor(share * 10_000) / 100).toFixed(2)} %), ` +
    `slowest ${Math.max(...readers.attempts.map(({ ms }) => ms)).toFixed(0)} ms`
  if (maxOf('peak') < minSlow)
    throw new Error(
      `${figures}; fewer than ${minSlow} slow connections are not enough for the test`,
    )
  const statuses = Map.groupBy(readers.attempts, ({ status }) => status)
  if (!(share >= minGoodShare))
    throw new Error(
      `${figures}: ${[...statuses].map(([status, all]) => `${all.length} x ${status}`).join(', ')}`,
    )
  const written = await call(url, 'PATCH', `/api/v2/video/${records.ordinary[1]}`, {
    token: environment.token,
    body: { summary: attack.name },
  })
  if (written.status !== 200)
    throw new Error(`${figures}, but a write got status ${written.status}: ${written.text}`)
  return figures
}

interface Round {
  /** How many were connected at the same time. */
  readonly peak: number
  /** How long it took from then until the service had closed all of them, or the clients ended. */
  readonly heldMs: number
  /** How long it took from then until no connection was left. */
  readonly closedMs: number
}

async function playRound(
  environment: FaultEnvironment,
  { name, limitS }: Attack,
  options: string[],
  slow: () => number,
  end: number,
): Promise<Round> {
  // 600 s: it ends earlier only if all its connections are cut.
  const limits = ['-c', String(slowClients), '-r', String(slowClients), '-l', '600']
  const command = [slowhttptest, ...options, ...limits]
  const { child, exited } = launch(environment, command, {
    log: `slow-${name}.log`,
    variables: { PATH: process.env.PATH },
  })
  const startedAt = performance.now()
  let [peak, peakAt] = [0, startedAt]
  for (;;) {
    await sleep(100)
    const [count, now] = [slow(), performance.now()]
    if (count > peak) [peak, peakAt] = [count, now]
    const elapsedMs = now - startedAt
    if (limitS === undefined && elapsedMs > 5000 && (now > end || elapsedMs > 20_000)) break
    if (limitS === undefined || now - peakAt < 2000) continue
    if (count === 0) break
    if (now - peakAt > (limitS + toleranceS) * 1000)
      throw new Error(
        `${name}: ${count} of ${peak} are still connected ` +
          `after ${((now - peakAt) / 1000).toFixed(1)} s`,
      )
  }
  const endedAt = performance.now()
  child.kill('SIGKILL')
  await exited
  await until(`all ${name} connections to be closed`, () => slow() === 0, { limitMs: 20_000 })
  return { peak, heldMs: endedAt - peakAt, closedMs: performance.now() - endedAt }
}

interface Readers {
  readonly attempts: { status: number; ms: number }[]
  stop(): Promise<void>
}

/**
 * Starts ordinary readers: forty requests a second, even if earlier ones have no response yet, half
 * of them on new connections.
 */
function startReaders(url: string, ids: readonly number[]): Readers {
  const agents = [true, false].map(
    (keepAlive) => new Agent({ keepAlive, localAddress: readersAddress }),
  )
  const attempts: Readers['attempts'] = []
  const inFlight = new Set<Promise<unknown>>()
  async function read(agent: Agent, id: number): Promise<void> {
    const start = performance.now()
    const status = await call(url, 'GET', `/api/v2/video/${id}`, {}, agent).then(
      (reply) => reply.status,
      () => -1,
    )
    attempts.push({ status, ms: performance.now() - start })
  }
  let number = 0
  const timer = setInterval(() => {
    const request = read(agents[++number % 2] as Agent, ids[number % ids.length] as number)
    inFlight.add(request)
    request.finally(() => inFlight.delete(request))
  }, 25)
  return {
    attempts,
    async stop() {
      clearInterval(timer)
      await Promise.all(inFlight)
      for (const agent of agents) agent.destroy()
    },
  }
}

/** Tells the connections of ordinary readers from those of slow clients. */
const readersAddress = '127.0.0.2'

/** Counts the connections of slow clients to the service that listens on a port. */
type SlowCounter = (port: number) => number

/**
 * Reads the connections in the background, so that the readers in this process are not delayed:
 * with thousands of connections one read takes 40 ms.
 */
function watchConnections(environment: FaultEnvironment): SlowCounter {
  let counts = new Map<number, number>()
  let isOver = false
  environment.atEnd(() => {
    isOver = true
  })
  async function watch(): Promise<void> {
    for (; !isOver; await sleep(400)) counts = countSlow(await readFile('/proc/net/tcp', 'latin1'))
  }
  watch()
  return (port) => counts.get(port) ?? 0
}

/**
 * Counts, by port, the connections that the services have accepted and not closed. A connection
 * that only the kernel has accepted has the inode 0. While connections open and close, the table
 * may list one of them twice.
 */
function countSlow(table: string): Map<number, number> {
  const open = new Map<string, Set<string>>()
  for (const [, port = '', peer = '', state = '', inode] of table.matchAll(tcpLines)) {
    if (!['01', '08'].includes(state) || inode === '0' || peer.startsWith('0200007F')) continue
    open.set(port, (open.get(port) ?? new Set()).add(peer))
  }
  return new Map([...open].map(([port, peers]) => [Number.parseInt(port, 16), peers.size]))
}

/**
 * The local port, the peer, the state (01: established, 08: closed by the peer only) and the inode.
 */
const tcpLines = /: \w{8}:(\w{4}) (\w{8}:\w{4}) (\w\w) \S+ \S+ \S+ +\d+ +\d+ (\d+) /g
