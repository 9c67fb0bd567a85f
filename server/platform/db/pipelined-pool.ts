import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import sql from 'sql-template-tag'
import type { PoolFigures } from '../ops/metrics.ts'
import type { Timeouts } from '../timeouts.ts'
import { sessionOptions } from './clients.ts'
import { type Db, getTypeParser, statementName, translateError } from './db.ts'
import { driverUrl } from './driver-url.ts'

// A few connections with pipelining: a statement is sent before the previous ones have returned.
// Four of them read faster than a pool of sixteen, at half the cost for PostgreSQL. A slow
// statement delays all behind it and a timeout fails them all: use it only for short key lookups.

export interface PipelinedPool extends Db {
  /** Tells whether the database answers a query within 2 s, whatever ANSWER_SECONDS is. */
  isAnswering(): Promise<boolean>
  /** Connection counts, for metrics. `waiting` are statements that were sent behind others. */
  figures(): PoolFigures
  close(): Promise<void>
}

export interface PipelinedPoolOptions {
  url: string
  connections: number
  applicationName: string
  times: Timeouts
}

/** Opens a pool of pipelined connections, each of them at its first use. */
export function openPipelinedPool({
  url,
  connections,
  applicationName,
  times,
}: PipelinedPoolOptions): PipelinedPool {
  const slots: (Promise<pg.Client> | undefined)[] = Array.from({ length: connections })
  let nextSlot = 0
  let pending = 0
  let closed = false

  function open(slot: number): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: driverUrl(url),
      application_name: applicationName,
      connectionTimeoutMillis: times.waitMs,
      query_timeout: times.readMs + 500,
      statement_timeout: times.readMs,
      keepAlive: true,
      types: { getTypeParser },
      options: sessionOptions(),
      pipeline: true,
    } as pg.ClientConfig)
    const opening = client.connect().then(() => client)
    // The next lookup opens a new connection. The driver rejects the pending statements.
    const clearSlot = () => {
      if (slots[slot] === opening) slots[slot] = undefined
    }
    client.on('error', clearSlot)
    client.on('end', clearSlot)
    opening.catch(clearSlot)
    slots[slot] = opening
    return opening
  }

  const lookups: PipelinedPool = {
    async run({ text, values }) {
      nextSlot = (nextSlot + 1) % connections
      pending++
      try {
        if (closed) throw new Error('The server is stopping')
        const client = await (slots[nextSlot] ?? open(nextSlot))
        const { rows, rowCount } = await client.query({
          name: statementName(text),
          text,
          values: values as unknown[],
        })
        return { rows, count: rowCount ?? 0 }
      } catch (error) {
        throw translateError(error, 'not-applied')
      } finally {
        pending--
      }
    },
    figures() {
      const total = slots.filter((slot) => slot !== undefined).length
      const [idle, waiting] = [Math.max(0, total - pending), Math.max(0, pending - total)]
      return { total, idle, waiting, max: connections }
    },
    isAnswering: () =>
      Promise.race([
        lookups.run(sql`select 1`).then(
          () => true,
          () => false,
        ),
        sleep(2000, false, { ref: false }),
      ]),
    async close() {
      closed = true
      await Promise.allSettled(slots.map(async (slot) => (await slot)?.end()))
    },
  }
  return lookups
}
