import { hash } from 'node:crypto'
import type { Request } from '../changes/changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { applyBatch, batchSize } from './apply.ts'
import { analyzeGrown, failForgotten, type ImportRow, isAnyWaiting, lockSource, takeImport } from './queries.ts'
import { undoBatch } from './undo.ts'

// What is planned is written batch by batch, each in one transaction together with how far it is: a server that is killed half way has done its
// batches, the next one goes on from there, and no talk is ever written twice.

/** The records that changed; undefined when there is nothing to do, or others are at it. */
export async function nextBatch(pool: Pool): Promise<number[] | undefined> {
  // Nearly always there is nothing, and one lookup tells.
  if (!(await isAnyWaiting(pool.lookups))) return undefined
  await failForgotten(pool)
  const batch = await pool.transaction(async (tx) => {
    const it = await takeImport(tx)
    if (!it) return undefined
    await lockSource(tx, it.source)
    const changed = await (it.state === 'undoing' ? undoBatch(tx, it, requestOf(it)) : applyBatch(tx, it, requestOf(it)))
    return { changed, done: it.done + batchSize }
  })
  // Without it the next batches are slow, and no more than that.
  if (batch && nowAndThen.includes(batch.done / batchSize)) await analyzeGrown(pool, batch.done).catch(() => {})
  return batch?.changed
}

/** After so many batches; by then a minute has passed. */
const nowAndThen = [1, 5, 25, 125, 625]

/** Who did it: the history of a record says the same, whichever batch it was in. */
function requestOf(it: ImportRow): Request {
  const actor = { role: 'editor' as const, name: it.actor, token: it.token_id }
  const request = `import ${it.id}`
  return { origin: { actor, via: 'import', request }, ifMatch: undefined, hash: hash('sha256', request, 'buffer') }
}
