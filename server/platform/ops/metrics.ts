import cluster from 'node:cluster'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client'

// What an operator can watch, in Prometheus's format. With several processes the first one adds
// them up.

export interface Metrics {
  /**
   * A request was answered. `endpoint` is a name of the contract, never an address: addresses have
   * no end.
   */
  answered(endpoint: string, status: number, seconds: number): void
  /** A single record was read from memory, or from the database. */
  read(from: 'memory' | 'database'): void
  text(): Promise<{ type: string; body: string }>
}

interface PoolFigures {
  total: number
  idle: number
  waiting: number
}

export function createMetrics(pool: () => PoolFigures): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  // Counting costs a tenth of the shortest answer when it is done one by one, and next to nothing
  // many at a time.
  let answers: { labels: { endpoint: string; status: number }; seconds: number }[] = []
  function countAnswers() {
    const counted = answers
    answers = []
    for (const { labels, seconds } of counted) requests.observe(labels, seconds)
  }
  const requests = new Histogram({
    name: 'talkshelf_request_seconds',
    help: 'How long answers took, by endpoint and status',
    labelNames: ['endpoint', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
    collect: countAnswers,
  })
  const readFrom = { memory: 0, database: 0 }
  new Counter({
    name: 'talkshelf_record_reads_total',
    help: 'Single records read, by where from',
    labelNames: ['from'],
    registers,
    collect() {
      this.reset()
      for (const [from, count] of Object.entries(readFrom)) this.inc({ from }, count)
    },
  })
  new Gauge({
    name: 'talkshelf_database_connections',
    help: 'Connections of the pool that writes: all, idle, and requests that wait for one',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(pool())) this.set({ state }, count)
    },
  })
  AggregatorRegistry.setRegistries(registers)
  // Making one is what lets this process answer the first one.
  if (cluster.isWorker) new AggregatorRegistry()

  return {
    answered(endpoint, status, seconds) {
      answers.push({ labels: { endpoint, status }, seconds })
      if (answers.length === 200) countAnswers()
    },
    read(from) {
      readFrom[from]++
    },
    async text() {
      return {
        type: registry.contentType,
        body: cluster.isWorker ? await ofAllProcesses() : await registry.metrics(),
      }
    },
  }
}

/** To be called in the first process of several: it answers the others with the figures of all. */
export function collectFromProcesses(): void {
  const all = new AggregatorRegistry()
  cluster.on('message', async (worker, message: { want?: string; id?: number }) => {
    if (message.want !== 'metrics') return
    const text = await all.clusterMetrics().catch(() => '')
    if (worker.isConnected()) worker.send({ metrics: text, id: message.id })
  })
}

let last = 0

function ofAllProcesses(): Promise<string> {
  const id = ++last
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => done(() => reject(new Error('The first process does not answer'))),
      5000,
    )
    const listen = (message: { metrics?: string; id?: number }) => {
      if (message.id === id && message.metrics !== undefined)
        done(() => resolve(message.metrics as string))
    }
    function done(then: () => void) {
      clearTimeout(late)
      process.off('message', listen)
      then()
    }
    process.on('message', listen)
    process.send?.({ want: 'metrics', id })
  })
}
