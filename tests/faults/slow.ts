import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, category } from '../support/harness.ts'
import {
  type Fault,
  type FaultEnvironment,
  launch,
  startDatabase,
  startFaultService,
} from './stage.ts'

// A thousand callers and more that are slow on purpose, to keep the service busy with waiting: they
// send the head or the body of a request drop by drop, or read an answer so. Each kind has a
// service of its own; ordinary readers of the same service must not notice.

const slowhttptest = '/usr/bin/slowhttptest'
// More than a process works on at once (REQUESTS_AT_ONCE): they must not take the places of others.
const slowCallers = 1100
/** With fewer of them at the same time nothing was tried. */
const leastSlow = 900
/** Of the ordinary requests. */
const leastGood = 0.99
const goodMs = 3000
/**
 * The service looks once a second who is over its limits; the rest is for a busy machine.
 * tests/api/edges.test.ts is strict about the limits.
 */
const patienceS = 10

interface Attack {
  readonly name: string
  /** After how long the service must hang up by itself. */
  readonly limitS?: number
  readonly reads: 'ordinary' | 'big'
  options(token: string): string[]
}

const attacks: Attack[] = [
  {
    name: 'bodies',
    limitS: 10,
    reads: 'ordinary',
    // The type of the body goes into the request as it is: a header more. Without the token there
    // is nothing to try: the refusal does not wait for the body, and ends the connection.
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
  limitS: { quick: 120, full: 400 },
  missing() {
    if (!existsSync(slowhttptest)) return 'slowhttptest is not installed'
    const [, files = '0'] =
      /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(files) < slowCallers * 2 ? `a process may open ${files} files only` : undefined
  },
  async run(stage) {
    shortenQueues(stage)
    const database = await startDatabase(stage)
    const slow = watchConnections(stage)
    let records: Records | undefined
    const told: string[] = []
    // One kind after the other: three thousand connections at the same moment are too much for two
    // cores, and not what is tried here.
    for (const attack of attacks) {
      const { url } = await startFaultService(stage, { DATABASE_URL: database.serviceUrl })
      records ??= await makeRecords(url, stage.token)
      told.push(await withstand(stage, url, attack, records, slow))
    }
    return told.join('; ')
  },
}

interface Records {
  readonly ordinary: readonly number[]
  readonly big: readonly number[]
}

/**
 * Between two programs of one machine the system takes megabytes off the service's hands, and
 * nobody reads slowly from the service. With a slow reader far away it takes next to nothing: so it
 * shall be here.
 */
function shortenQueues(stage: FaultEnvironment): void {
  // Else there is no network of our own, or we may not change it: then less is tried.
  if (process.pid !== 1 || process.getuid?.() !== 0) return
  const setting = '/proc/sys/net/ipv4/tcp_wmem'
  const before = readFileSync(setting, 'utf8')
  writeFileSync(setting, '4096 16384 65536')
  stage.atEnd(() => writeFileSync(setting, before))
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
  // On the wire each of these letters has six bytes.
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

/** Round after round; tells the figures. */
async function withstand(
  stage: FaultEnvironment,
  url: string,
  attack: Attack,
  records: Records,
  slow: SlowAt,
): Promise<string> {
  const readers = startReaders(url, records.ordinary)
  const end = performance.now() + (stage.quick ? 5000 : 55_000)
  const options = [
    ...attack.options(stage.token),
    '-u',
    `${url}/api/v2/video/${records[attack.reads][0]}`,
  ]
  let [rounds, max, longestMs, closedMs] = [0, 0, 0, 0]
  try {
    // On a busy machine the first ones may be cut before the last ones are there. Then it is tried
    // again.
    while (rounds === 0 || performance.now() < end || (max < leastSlow && rounds < 3)) {
      const round = await playRound(
        stage,
        attack,
        options,
        () => slow(Number(new URL(url).port)),
        end,
      )
      rounds++
      max = Math.max(max, round.peak)
      longestMs = Math.max(longestMs, round.heldMs)
      closedMs = Math.max(closedMs, round.closedMs)
    }
  } finally {
    await readers.stop()
  }
  const good = readers.tries.filter(({ status, ms }) => status === 200 && ms <= goodMs).length
  const share = good / readers.tries.length
  const worstMs = Math.max(...readers.tries.map(({ ms }) => ms))
  const ordinary = `${good} of ${readers.tries.length} GETs fine (${(Math.floor(share * 10_000) / 100).toFixed(2)} %), slowest ${worstMs.toFixed(0)} ms`
  const cut = attack.limitS === undefined ? '' : `, cut after ${(longestMs / 1000).toFixed(1)} s`
  const figures =
    `${attack.name}: ${max} connected at once${cut}${rounds > 1 ? ` (${rounds} times)` : ''}, ` +
    `all closed ${(closedMs / 1000).toFixed(1)} s after they went, ${ordinary}`
  if (max < leastSlow)
    throw new Error(`${figures}; fewer than ${leastSlow} slow connections prove nothing`)
  const statuses = Map.groupBy(readers.tries, ({ status }) => status)
  if (!(share >= leastGood))
    throw new Error(
      `${figures}: ${[...statuses].map(([status, all]) => `${all.length} x ${status}`).join(', ')}`,
    )
  const written = await call(url, 'PATCH', `/api/v2/video/${records.ordinary[1]}`, {
    token: stage.token,
    body: { summary: attack.name },
  })
  if (written.status !== 200)
    throw new Error(`${figures}, but a write is answered ${written.status} now: ${written.text}`)
  return figures
}

interface Round {
  /** How many were connected at the same time. */
  readonly peak: number
  /** How long after that the service had hung up on all of them, or they went themselves. */
  readonly heldMs: number
  /** How long it took then until none of their connections was left. */
  readonly closedMs: number
}

async function playRound(
  stage: FaultEnvironment,
  { name, limitS }: Attack,
  options: string[],
  slow: () => number,
  end: number,
): Promise<Round> {
  // It would not end by itself before we are done with it, unless all its connections were cut.
  const command = [
    slowhttptest,
    ...options,
    '-c',
    String(slowCallers),
    '-r',
    String(slowCallers),
    '-l',
    '600',
  ]
  const { child, exited } = launch(stage, command, {
    log: `slow-${name}.log`,
    environment: { PATH: process.env.PATH },
  })
  const began = performance.now()
  let [peak, peakAt] = [0, began]
  for (;;) {
    await sleep(100)
    const [count, now] = [slow(), performance.now()]
    if (count > peak) [peak, peakAt] = [count, now]
    if (limitS === undefined && now - began > 5000 && (now > end || now - began > 20_000)) break
    if (limitS === undefined || now - peakAt < 2000) continue
    if (count === 0) break
    if (now - peakAt > (limitS + patienceS) * 1000)
      throw new Error(
        `${name}: ${count} of ${peak} are still connected after ${((now - peakAt) / 1000).toFixed(1)} s`,
      )
  }
  const gone = performance.now()
  child.kill('SIGKILL')
  await exited
  while (slow() > 0) {
    if (performance.now() - gone > 20_000)
      throw new Error(`${name}: they are gone, and ${slow()} connections are still open after 20 s`)
    await sleep(100)
  }
  return { peak, heldMs: gone - peakAt, closedMs: performance.now() - gone }
}

interface Readers {
  readonly tries: { status: number; ms: number }[]
  stop(): Promise<void>
}

/**
 * Ordinary readers: forty requests a second, whether or not those before were answered; half of
 * them on new connections.
 */
function startReaders(url: string, ids: readonly number[]): Readers {
  const agents = [true, false].map(
    (keepAlive) => new Agent({ keepAlive, localAddress: readersAddress }),
  )
  const tries: Readers['tries'] = []
  const underWay = new Set<Promise<unknown>>()
  async function read(agent: Agent, id: number): Promise<void> {
    const start = performance.now()
    const status = await call(url, 'GET', `/api/v2/video/${id}`, {}, agent).then(
      (reply) => reply.status,
      () => -1,
    )
    tries.push({ status, ms: performance.now() - start })
  }
  let number = 0
  const timer = setInterval(() => {
    const one = read(agents[++number % 2] as Agent, ids[number % ids.length] as number)
    underWay.add(one)
    one.finally(() => underWay.delete(one))
  }, 25)
  return {
    tries,
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      for (const agent of agents) agent.destroy()
    },
  }
}

/** They call from another address than the slow ones. */
const readersAddress = '127.0.0.2'

/** How many connections of slow callers a service has that listens on this port. */
type SlowAt = (port: number) => number

/**
 * Looks again and again, and never holds up the readers in this process: with thousands of
 * connections one look takes 40 ms.
 */
function watchConnections(stage: FaultEnvironment): SlowAt {
  let counts = new Map<number, number>()
  let isOver = false
  stage.atEnd(() => {
    isOver = true
  })
  async function watch(): Promise<void> {
    for (; !isOver; await sleep(400)) counts = countSlow(await readFile('/proc/net/tcp', 'latin1'))
  }
  watch()
  return (port) => counts.get(port) ?? 0
}

/**
 * By port, what the services have taken and not closed. What only the system has taken yet belongs
 * to no file: 0. While connections come and go, the table may show one of them twice.
 */
function countSlow(table: string): Map<number, number> {
  const open = new Map<string, Set<string>>()
  for (const [, port = '', peer = '', state = '', file] of table.matchAll(lines)) {
    if (!['01', '08'].includes(state) || file === '0' || peer.startsWith('0200007F')) continue
    open.set(port, (open.get(port) ?? new Set()).add(peer))
  }
  return new Map([...open].map(([port, peers]) => [Number.parseInt(port, 16), peers.size]))
}

/**
 * The local port, the peer, the state (01 is open, 08 is open on our side only) and the number of
 * the file.
 */
const lines = /: \w{8}:(\w{4}) (\w{8}:\w{4}) (\w\w) \S+ \S+ \S+ +\d+ +\d+ (\d+) /g
