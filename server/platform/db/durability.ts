import { AsyncLocalStorage } from 'node:async_hooks'
import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, Unavailable, writeReturning } from './db.ts'

// A commit whose wait for a synchronous standby was cancelled can be read by others, although a
// failover may still undo it. Its request gets the outcome `unknown` and is sent again. Then there is
// nothing left to write, but that does not make the first commit durable.

interface WriteRequest {
  hasCommitted: boolean
}

const requests = new AsyncLocalStorage<WriteRequest>()

/** Notes that the current request has committed a change. What it read before is durable with it. */
export function noteCommit(): void {
  const request = requests.getStore()
  if (request) request.hasCommitted = true
}

/**
 * Runs the work of a request that may write. If it has nothing to write, waits until what it has
 * read is as durable as a commit, and throws Unavailable (`unknown`) if that fails.
 */
export async function withDurableResult<T>(db: Db, work: () => T | Promise<T>): Promise<T> {
  const request: WriteRequest = { hasCommitted: false }
  const result = await requests.run(request, async () => work())
  if (!request.hasCommitted) await waitForDurability(db)
  return result
}

const Position = Type.Object({ position: Type.Union([Type.String(), Type.Null()]) })

/** Commits a message in the log, which waits for everything before it. */
async function waitForDurability(db: Db): Promise<void> {
  const [row] = await writeReturning(
    db,
    Position,
    sql`select case when not pg_is_in_recovery()
                    then pg_logical_emit_message(true, 'talkshelf', '')::text end as position`,
  )
  if (!row?.position)
    throw new Unavailable('unknown', new Error('The server is no longer the primary'))
}
