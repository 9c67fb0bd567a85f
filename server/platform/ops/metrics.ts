import cluster from 'node:cluster'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client'

// Metrics in the Prometheus format. With several processes, the primary process aggregates them.

export interface Metrics {
  /**
   * Records a response. `endpoint` is a name in the contract, never a URL, to bound the number of
   * labels.
   */
  answered(endpoint: string, status: number, seconds: number): void
  /** Records that a record was read from the cache or from the database. */
  read(from: 'memory' | 'database'): void
  /** Adds a figure that is read whenever the metrics are. `name` is without the prefix. */
  watch(name: string, help: string, read: () => number): void
  /**
   * Adds a figure for each of several subjects, read whenever the metrics are. There must be few
   * subjects. Without figures while they cannot be read.
   */
  watchEach(
    name: string,
    help: string,
    label: string,
    read: () => Promise<ReadonlyMap<string, number>>,
  ): void
  /** Adds a counter and returns a function that counts an event by its label. */
  counter(name: string, help: string, label: string): (value: string) => void
  /** Adds a counter that is read whenever the metrics are. `name` is without the prefix. */
  watchTotal(name: string, help: string, read: () => number): void
  /** Returns all metrics of all processes. */
  text(): Promise<{ type: string; body: string }>
}

interface PoolFigures {
  total: number
  idle: number
  waiting: number
}

/** Creates the metrics of this process. */
export function createMetrics(pool: () => PoolFigures): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  // Observing each response alone costs a tenth of the fastest one; batches cost next to nothing.
  let pending: { labels: { endpoint: string; status: number }; seconds: number }[] = []
  function flush() {
    const responses = pending
    pending = []
    for (const { labels, seconds } of responses) requests.observe(labels, seconds)
  }
  const requests = new Histogram({
    name: 'talkshelf_request_seconds',
    help: 'Duration of requests by endpoint and status',
    labelNames: ['endpoint', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
    collect: flush,
  })
  const readFrom = { memory: 0, database: 0 }
  new Counter({
    name: 'talkshelf_record_reads_total',
    help: 'Single records read, by source',
    labelNames: ['from'],
    registers,
    collect() {
      this.reset()
      for (const [from, count] of Object.entries(readFrom)) this.inc({ from }, count)
    },
  })
  new Gauge({
    name: 'talkshelf_database_connections',
    help: 'Connections of the main pool (total, idle) and requests waiting for one',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(pool())) this.set({ state }, count)
    },
  })
  AggregatorRegistry.setRegistries(registers)
  // The constructor adds the listener that sends the metrics of this process to the primary one.
  if (cluster.isWorker) new AggregatorRegistry()

  return {
    answered(endpoint, status, seconds) {
      pending.push({ labels: { endpoint, status }, seconds })
      if (pending.length === 200) flush()
    },
    read(from) {
      readFrom[from]++
    },
    watch(name, help, read) {
      new Gauge({
        name: `talkshelf_${name}`,
        help,
        registers,
        // Each process has its own figure; the highest one counts.
        aggregator: 'max',
        collect() {
          this.set(read())
        },
      })
    },
    watchEach(name, help, label, read) {
      new Gauge({
        name: `talkshelf_${name}`,
        help,
        labelNames: [label],
        registers,
        aggregator: 'max',
        async collect() {
          const figures = await read().catch(() => new Map<string, number>())
          this.reset()
          for (const [value, figure] of figures) this.set({ [label]: value }, figure)
        },
      })
    },
    counter(name, help, label) {
      const options = { name: `talkshelf_${name}`, help, labelNames: [label], registers }
      const counter = new Counter(options)
      return (value) => counter.inc({ [label]: value })
    },
    watchTotal(name, help, read) {
      new Counter({
        name: `talkshelf_${name}_total`,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    },
    async text() {
      return {
        type: registry.contentType,
        body: cluster.isWorker ? await aggregatedMetrics() : await registry.metrics(),
      }
    },
  }
}

/** Makes the primary process answer requests of the others for the metrics of all processes. */
export function collectFromProcesses(): void {
  const aggregator = new AggregatorRegistry()
  cluster.on('message', async (worker, message: { request?: string; id?: number }) => {
    if (message.request !== 'metrics') return
    const text = await aggregator.clusterMetrics().catch(() => '')
    if (worker.isConnected()) worker.send({ metrics: text, id: message.id })
  })
}

let lastId = 0

/** Requests the metrics of all processes from the primary one. */
function aggregatedMetrics(): Promise<string> {
  const id = ++lastId
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      process.off('message', onMessage)
      reject(new Error('The primary process did not send the metrics within 5 s'))
    }, 5000)
    const onMessage = (message: { metrics?: string; id?: number }) => {
      if (message.id !== id || message.metrics === undefined) return
      clearTimeout(timer)
      process.off('message', onMessage)
      resolve(message.metrics)
    }
    process.on('message', onMessage)
    process.send?.({ request: 'metrics', id })
  })
}
