import cluster from 'node:cluster'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from '@prometheus-io/client'

// Metrics in the Prometheus format. With several processes, the primary process aggregates them.

export interface Metrics {
  /**
   * Records a response. `route` is a path with the names of its parameters, such as
   * `/api/v2/video/{id}`, never a URL, to bound the number of labels.
   */
  answered(method: string, route: string, status: number, seconds: number): void
  /** Records that a record was read from the cache or from the database. */
  read(from: 'memory' | 'database'): void
  /**
   * Adds a figure that is read whenever the metrics are. `name` is without the prefix. Without a
   * figure while it cannot be read.
   */
  watch(name: string, help: string, read: () => number | Promise<number>): void
  /**
   * Adds a figure that is 1 while something holds, and 0 if it does not hold in one of the
   * processes.
   */
  watchState(name: string, help: string, read: () => Promise<boolean>): void
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
  /**
   * Adds a counter and returns a function that counts an event by its label. Starts at 0 for each
   * of the values: Prometheus does not see the first event of a counter that starts at 1.
   */
  counter<Value extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly Value[],
  ): (value: Value) => void
  /** Adds a counter that is read whenever the metrics are. `name` is without the prefix. */
  watchTotal(name: string, help: string, read: () => number): void
  /** Returns all metrics of all processes. */
  text(): Promise<{ type: string; body: string }>
}

/**
 * Metrics of the library whose names break the rules of Prometheus: a gauge that ends with `_total`,
 * or a name that ends with the type. Utilization is also the rate of `process_cpu_seconds_total`.
 */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
]

/** Connection counts of a pool. */
export interface PoolFigures {
  readonly total: number
  readonly idle: number
  /** The number of connections that the pool may open. */
  readonly max: number
  /** Requests that wait for a connection. */
  readonly waiting: number
}

/** Creates the metrics of this process. `pools` returns the figures of each connection pool. */
export function createMetrics(
  version: string,
  pools: () => Readonly<Record<string, PoolFigures>>,
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedMetrics) registry.removeSingleMetric(name)
  // Observing each response alone costs a tenth of the fastest one; batches cost next to nothing.
  let pending: { labels: Record<'method' | 'route' | 'status', string>; seconds: number }[] = []
  function flush() {
    const responses = pending
    pending = []
    for (const { labels, seconds } of responses) requests.observe(labels, seconds)
  }
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests by method, route and status',
    labelNames: ['method', 'route', 'status'],
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
    help: 'Connections to the database by pool and state',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { total, idle }] of Object.entries(pools())) {
        this.set({ pool, state: 'idle' }, idle)
        this.set({ pool, state: 'busy' }, total - idle)
      }
    },
  })
  new Gauge({
    name: 'talkshelf_database_connections_max',
    help: 'Connections to the database that may be open, by pool',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { max }] of Object.entries(pools())) this.set({ pool }, max)
    },
  })
  new Gauge({
    name: 'talkshelf_database_requests_waiting',
    help: 'Requests that wait for a connection to the database, by pool',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waiting }] of Object.entries(pools())) this.set({ pool }, waiting)
    },
  })
  new Gauge({
    name: 'talkshelf_build_info',
    help: 'Version of the program; the value is always 1',
    labelNames: ['version'],
    registers,
    aggregator: 'first',
  }).set({ version }, 1)
  AggregatorRegistry.setRegistries(registers)
  // The constructor adds the listener that sends the metrics of this process to the primary one.
  if (cluster.isWorker) new AggregatorRegistry()

  return {
    answered(method, route, status, seconds) {
      pending.push({ labels: { method, route, status: String(status) }, seconds })
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
        async collect() {
          try {
            this.set(await read())
          } catch {
            this.remove()
          }
        },
      })
    },
    watchState(name, help, read) {
      new Gauge({
        name: `talkshelf_${name}`,
        help,
        registers,
        aggregator: 'min',
        async collect() {
          this.set((await read()) ? 1 : 0)
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
    counter(name, help, label, values) {
      const options = { name: `talkshelf_${name}`, help, labelNames: [label], registers }
      const counter = new Counter(options)
      for (const value of values) counter.inc({ [label]: value }, 0)
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
