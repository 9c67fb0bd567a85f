import { randomUUID } from 'node:crypto'
import {
  type EntryRow,
  type FeedFollower,
  findPosition,
  listEntries,
  listRemoved,
  type Position,
  readHead,
} from '../change-feed/change-feed.ts'
import type { Pool } from '../platform/db/pool.ts'
import { edgeKey } from '../platform/http/edge-policy.ts'
import type { EdgeAdapter, Purge } from './adapters.ts'
import {
  announceRelease,
  changeCanary,
  clearKeys,
  type Lease,
  releaseLease,
  saveBeginning,
  savePosition,
  takeLease,
} from './queries.ts'

// Follows the change feed and purges what has changed. Each purge is repeated: a response that the
// edge requested before a change may arrive there after the purge. The stored position is that of
// the last repetition, so a process that takes over repeats what may be missing.

export interface PurgerOptions {
  readonly pool: Pool
  readonly follower: FeedFollower
  readonly adapter: EdgeAdapter
  /** The value of EDGE. */
  readonly target: string
  readonly release: string
  /** Reads the canary through the edge; undefined if its URL is unknown. */
  readonly readCanary?: (() => Promise<string>) | undefined
  readonly timing?: Partial<PurgeTiming>
  /** Reports that purges fail, and later that they work again. */
  onState(state: 'failing' | 'behind' | 'working', error?: unknown): void
}

export interface PurgeTiming {
  /** When a purge is repeated, after it was sent for the first time. */
  readonly repeatMs: readonly number[]
  readonly leaseSeconds: number
  readonly canaryMs: number
  readonly maxBackoffMs: number
  readonly behindMs: number
}

/** Returns when purges are repeated: until no response can arrive that was begun before. */
export function repetitionsFor(answerSeconds: number): number[] {
  const lastMs = answerSeconds * 1000 + 2000
  return [500, 1500, 5000, ...(lastMs > 5000 ? [lastMs] : [])]
}

const defaultTiming: PurgeTiming = {
  repeatMs: repetitionsFor(3),
  leaseSeconds: 3,
  canaryMs: 10_000,
  maxBackoffMs: 10_000,
  behindMs: 30_000,
}

/** Further behind than this, everything is purged. */
export const maxBehind = 5000
const entriesAtOnce = 1000
const idleMs = 1000
/** Between two purges of everything on a server that has missed purges. */
const recoveryIntervalMs = 500

export interface PurgerFigures {
  /** For how many seconds changes have not been purged. */
  readonly behindSeconds: number
  readonly purgedKeys: number
  readonly repeatedKeys: number
  readonly failures: number
  /** How old the canary was when it was last read through the edge; 0 if it was current. */
  readonly canaryAgeSeconds: number
}

export interface Purger {
  figures(): PurgerFigures
  isBehind(): boolean
  stop(): Promise<void>
}

/** Keys that are purged together, and again. */
interface Batch {
  readonly soft: ReadonlySet<string>
  readonly hard: ReadonlySet<string>
  /** The last entry of the batch, if it is of the feed. */
  readonly end?: Position
  /** Keys of the table that are cleared afterwards. */
  readonly stored?: Pick<Lease, 'soft_keys' | 'hard_keys'>
  /** How often it was sent. */
  sent: number
  firstMs: number
  dueMs: number
}

/** Starts to purge, as soon as this process gets the lease. */
export function startPurger(options: PurgerOptions): Purger {
  const { pool, follower, adapter, target, release, onState } = options
  const timing = { ...defaultTiming, ...options.timing }
  const holder = randomUUID()
  const stopping = new AbortController()
  let batches: Batch[] = []
  let position: Position | undefined
  let [renewMs, retryMs, allowedMs, savedMs, canaryMs] = [0, 0, 0, 0, 0]
  let caughtUpMs = performance.now()
  let failedInRow = 0
  let state: 'failing' | 'behind' | 'working' = 'working'
  const counts = { purgedKeys: 0, repeatedKeys: 0, failures: 0, canaryAgeSeconds: 0 }

  /** Takes the lease. Renews it in the background: a slow disk must not delay purges. */
  async function holdLease(): Promise<boolean> {
    if (!position) return renewLease()
    if (performance.now() >= renewMs) inBackground('lease', async () => void (await renewLease()))
    return true
  }

  /** Takes or renews the lease. Without it, all that is pending is left to the next holder. */
  async function renewLease(): Promise<boolean> {
    const lease = await takeLease(pool, holder, timing.leaseSeconds)
    if (!lease) {
      position = undefined
      batches = []
      caughtUpMs = performance.now()
      return false
    }
    renewMs = performance.now() + (timing.leaseSeconds * 1000) / 4
    if (!position || !lease.isSameDatabase || !lease.isSameTimeline) return begin(lease)
    addStored(lease)
    return true
  }

  const background = new Map<string, Promise<void>>()

  /** Runs work of a kind, one at a time. If it fails, it runs again in the next cycle. */
  function inBackground(kind: string, work: () => Promise<void>): void {
    if (background.has(kind)) return
    const running = work()
      .catch((error: unknown) => report('failing', error))
      .finally(() => background.delete(kind))
    background.set(kind, running)
  }

  /** Finds where to begin. Returns false while that is unknown. */
  async function begin(lease: Lease): Promise<boolean> {
    const head = await readHead(pool)
    // While a copied database is compared, its entries are not complete.
    if (!head.isReady) return false
    const isNew = lease.target === ''
    const known = lease.seq === 0 ? undefined : await findPosition(pool, lease.seq)
    const isOtherHistory = lease.seq > 0 && known?.digest !== lease.digest
    const mustPurgeAll =
      !isNew && (lease.target !== target || !lease.isSameDatabase || isOtherHistory)
    if (isNew || mustPurgeAll || !lease.isSameTimeline) {
      const start = isNew || mustPurgeAll ? head : lease
      await saveBeginning(pool, holder, {
        target,
        release,
        seq: start.seq,
        digest: start.digest,
        // After a failover, the last changes may be lost. At the first start, the edge may have
        // stored what changed before.
        softKeys: mustPurgeAll ? [] : ['all'],
        hardKeys: mustPurgeAll ? ['all'] : lease.hard_keys,
      })
      renewMs = 0
      position = { seq: start.seq, digest: start.digest }
      batches = []
      return true
    }
    position = { seq: lease.seq, digest: lease.digest }
    addStored(lease)
    return true
  }

  /** Adds the keys of the table, unless they are pending already. */
  function addStored({ soft_keys, hard_keys }: Lease): void {
    if (soft_keys.length + hard_keys.length === 0 || batches.some(({ stored }) => stored)) return
    add({ soft: soft_keys, hard: hard_keys, stored: { soft_keys, hard_keys } })
  }

  function add({
    soft = [],
    hard = [],
    ...more
  }: { soft?: Iterable<string>; hard?: Iterable<string> } & Pick<Batch, 'end' | 'stored'>): void {
    const nowMs = performance.now()
    batches.push({
      soft: new Set(soft),
      hard: new Set(hard),
      ...more,
      sent: 0,
      firstMs: nowMs,
      dueMs: nowMs,
    })
  }

  /** Reads the next entries, unless others have not been sent yet: their number stays bounded. */
  async function readNext(from: Position): Promise<void> {
    const head = follower.head()
    if (!head?.isReady || batches.some(({ sent, end }) => sent === 0 && end)) return
    if (head.seq === from.seq && head.digest === from.digest) return
    const known = from.seq === 0 ? undefined : await findPosition(pool.lookups, from.seq)
    const isOther = from.seq > 0 && known?.digest !== from.digest
    const end: Position = { seq: head.seq, digest: head.digest }
    if (isOther || head.seq < from.seq) add({ hard: ['all'], end })
    else if (head.seq - from.seq > maxBehind) add({ ...(await skippedKeys(from)), end })
    else {
      const rows = await listEntries(pool.lookups, from.seq, entriesAtOnce)
      const last = rows.at(-1)
      if (!last) return
      add({ ...keysOf(rows), end: { seq: last.seq, digest: last.digest } })
    }
    position = batches.at(-1)?.end
  }

  /** Returns what replaces the purges of too many entries. */
  async function skippedKeys(from: Position): Promise<{ soft: string[]; hard: string[] }> {
    const removed = await listRemoved(pool.lookups, from.seq, maxBehind + 1)
    return removed.length > maxBehind
      ? { soft: [], hard: ['all'] }
      : { soft: ['all'], hard: removed.map(({ kind, id }) => edgeKey(kind, id)) }
  }

  /** Purges everything on servers that have missed purges. */
  async function recover(): Promise<void> {
    if (!adapter.hasMissed?.() || performance.now() < recoverMs) return
    recoverMs = performance.now() + recoveryIntervalMs
    try {
      await adapter.recover?.()
    } catch (error) {
      counts.failures++
      report('failing', error)
    }
  }
  let recoverMs = 0

  function noteFailure(error: unknown): void {
    counts.failures++
    retryMs = performance.now() + Math.min(timing.maxBackoffMs, 250 * 2 ** failedInRow++)
    report('failing', error)
  }

  /** Sends all batches that are due, in as few requests as possible. */
  async function sendDue(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs < Math.max(retryMs, allowedMs)) return
    const due = batches.filter(({ dueMs }) => dueMs <= nowMs)
    if (due.length === 0) return
    const requests = requestsFor(due, adapter)
    try {
      for (const purge of requests) {
        // Set first: a request that fails counts too.
        allowedMs = performance.now() + adapter.minIntervalMs
        await adapter.purge(purge)
      }
    } catch (error) {
      noteFailure(error)
      return
    }
    failedInRow = 0
    const sentMs = performance.now()
    const isFirst = due.some(({ sent }) => sent === 0)
    const keyCount = requests.reduce((sum, { keys }) => sum + keys.length, 0)
    counts[isFirst ? 'purgedKeys' : 'repeatedKeys'] += keyCount
    for (const batch of due) {
      if (batch.sent++ === 0) batch.firstMs = sentMs
      batch.dueMs = batch.firstMs + (timing.repeatMs[batch.sent - 1] ?? Number.POSITIVE_INFINITY)
    }
  }

  /** Stores the position up to which nothing will be repeated. */
  async function settle(): Promise<void> {
    const isDone = ({ sent }: Batch) => sent > timing.repeatMs.length
    for (const { stored } of batches.filter((batch) => batch.stored && isDone(batch)))
      if (stored) await clearKeys(pool, holder, stored.soft_keys, stored.hard_keys)
    const firstPending = batches.findIndex((batch) => batch.end && !isDone(batch))
    const settled = batches
      .slice(0, firstPending < 0 ? batches.length : firstPending)
      .findLast(({ end }) => end)?.end
    const isLast = firstPending < 0
    if (!settled || (!isLast && performance.now() < savedMs + 1000)) {
      batches = batches.filter((batch) => batch.end || !isDone(batch))
      return
    }
    savedMs = performance.now()
    // A process that takes over must know what a server may have missed.
    if (!adapter.hasMissed?.()) await savePosition(pool, holder, settled.seq, settled.digest)
    batches = batches.filter(
      (batch) => !isDone(batch) || (batch.end !== undefined && batch.end.seq > settled.seq),
    )
  }

  /** Reads the canary through the edge, and changes it. */
  async function checkCanary(): Promise<void> {
    if (!options.readCanary || performance.now() < canaryMs) return
    const isFirst = canaryMs === 0
    canaryMs = performance.now() + timing.canaryMs
    // Not awaited: an edge that does not respond must not delay purges.
    if (!isFirst) void readThroughEdge(options.readCanary, lastCanary)
    const changed = await changeCanary(pool, holder)
    if (!changed) return
    lastCanary = changed.canary
    add({ soft: ['canary'] })
  }
  let lastCanary = ''

  async function readThroughEdge(read: () => Promise<string>, current: string): Promise<void> {
    try {
      const seen = await read()
      if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(seen)) throw new Error('This is not the canary')
      // Another process may have changed it since.
      const isCurrent = seen >= current
      counts.canaryAgeSeconds = isCurrent ? 0 : (Date.parse(current) - Date.parse(seen)) / 1000
    } catch {
      // What cannot be read gets older.
      counts.canaryAgeSeconds += timing.canaryMs / 1000
    }
  }

  function report(next: typeof state, error?: unknown): void {
    // It stays behind until it works again.
    if (next === state || (next === 'failing' && state === 'behind')) return
    state = next
    onState(next, error)
  }

  function noteProgress(): void {
    const head = follower.head()
    const isRead = !position || !head || head.seq <= position.seq
    if (isRead && batches.every(({ sent }) => sent > 0)) {
      caughtUpMs = performance.now()
      if (failedInRow === 0) report('working')
    } else if (isBehind()) report('behind')
  }

  const behindMs = () => performance.now() - caughtUpMs
  const isBehind = () => behindMs() > timing.behindMs

  async function cycle(): Promise<void> {
    if (!(await holdLease())) return
    await checkCanary()
    if (position) await readNext(position)
    await sendDue()
    inBackground('recovery', recover)
    inBackground('position', settle)
  }

  /** Returns after how long the next batch is due. */
  function pauseMs(): number {
    const nowMs = performance.now()
    const dueMs = Math.min(...batches.map((batch) => batch.dueMs))
    const nextMs = Math.max(dueMs, retryMs, allowedMs)
    const longestMs = adapter.hasMissed?.() ? recoveryIntervalMs : idleMs
    return Math.max(5, Math.min(longestMs, nextMs - nowMs))
  }

  let wake = () => {}
  /** Entries may come while a cycle runs. */
  let isWoken = false
  async function run(): Promise<void> {
    let isAnnounced = false
    while (!stopping.signal.aborted) {
      let hasFailed = false
      isWoken = false
      try {
        if (!isAnnounced) await announceRelease(pool, release)
        isAnnounced = true
        await cycle()
      } catch (error) {
        if (!stopping.signal.aborted) report('failing', error)
        retryMs = performance.now() + 500
        hasFailed = true
      }
      if (!hasFailed) noteProgress()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs())
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        if (stopping.signal.aborted || isWoken) wake()
      })
    }
    await Promise.all(background.values())
    await releaseLease(pool, holder).catch(() => {})
  }
  const stopListening = follower.onEntries(() => {
    isWoken = true
    wake()
  })
  const running = run()

  return {
    figures: () => ({ ...counts, behindSeconds: behindMs() / 1000 }),
    isBehind,
    async stop() {
      stopListening()
      stopping.abort()
      wake()
      await running
    },
  }
}

/**
 * Returns the keys that entries purge. What changed can be seen in the lists of all entities that
 * it belongs to, or did.
 */
function keysOf(rows: readonly EntryRow[]): { soft: Set<string>; hard: Set<string> } {
  const [soft, hard] = [new Set<string>(), new Set<string>()]
  for (const { kind, id, state, belongs_to, belonged_to } of rows) {
    if (state === 'live') soft.add(edgeKey(kind, id))
    else hard.add(edgeKey(kind, id))
    for (const owner of [...belongs_to, ...belonged_to]) {
      const [ownerKind = '', ownerId = ''] = owner.split(':')
      const key = edgeKey(ownerKind as 'category' | 'language', ownerId)
      // The list of an event names its speakers, also one whose only talk was removed.
      if (state === 'live') soft.add(key)
      else hard.add(key)
    }
  }
  return { soft, hard }
}

/** Joins the keys of batches into requests. */
function requestsFor(due: readonly Batch[], adapter: EdgeAdapter): Purge[] {
  const hard = new Set(due.flatMap((batch) => [...batch.hard]))
  const soft = new Set(due.flatMap((batch) => [...batch.soft]).filter((key) => !hard.has(key)))
  if (!adapter.hasSoft) for (const key of soft) hard.add(key)
  if (hard.has('all')) return [{ keys: ['all'], isHard: true }]
  const softKeys = adapter.hasSoft ? [...soft] : []
  const requests = [
    ...inChunks([...hard], adapter.maxKeys).map((keys) => ({ keys, isHard: true })),
    ...inChunks(soft.has('all') ? ['all'] : softKeys, adapter.maxKeys).map((keys) => ({
      keys,
      isHard: false,
    })),
  ]
  return requests.length > adapter.maxRequests ? [{ keys: ['all'], isHard: true }] : requests
}

function inChunks(keys: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(keys.length / size) }, (_, index) =>
    keys.slice(index * size, (index + 1) * size),
  )
}
