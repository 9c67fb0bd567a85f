import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, execute, one } from './db.ts'

const Lock = Type.Object({ acquired: Type.Boolean() })

/**
 * Tries to take a lock of this name until the end of the transaction. Returns false if another
 * transaction has it. Read what it protects in a later statement: the snapshot of this one is older
 * than the lock.
 */
export async function tryLock(tx: Db, name: string): Promise<boolean> {
  const { acquired } = await one(
    tx,
    Lock,
    sql`select pg_try_advisory_xact_lock(hashtext(${name})) as acquired`,
  )
  return acquired
}

/** Takes a lock of this name until the end of the transaction. Waits for others that have it. */
export async function takeLock(tx: Db, name: string): Promise<void> {
  await execute(tx, sql`select pg_advisory_xact_lock(hashtext(${name}))`)
}
