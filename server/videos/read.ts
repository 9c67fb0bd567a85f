import { mayAct, Problem } from '@talkshelf/contract'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Bodies, Body } from './bodies.ts'
import { type BodyRow, findBody, lockVideo } from './queries.ts'

/** The record for this reader. A draft is only there for editors, and editors always see what is there now. */
export function readVideo(bodies: Bodies, actor: Actor, id: number): Body | Promise<Body> {
  if (mayAct(actor.role, 'editor')) return bodies.read(id).then((row) => present(row))
  const found = bodies.readRecent(id)
  return found instanceof Promise ? found.then(published) : published(found)
}

function published(row: Body | undefined): Body {
  const it = present(row)
  if (!it.live) notFound()
  return it
}

/** The record whoever asks, as long as it is there. */
export async function findCurrent(db: Db, id: number): Promise<BodyRow> {
  return present(await findBody(db, id))
}

/** The same, and nobody changes it until the end of the transaction. */
export async function lockCurrent(tx: Db, id: number): Promise<BodyRow> {
  await lockVideo(tx, id)
  return findCurrent(tx, id)
}

function present<T extends BodyRow>(row: T | undefined): T {
  if (!row) notFound()
  if (row.taken_down) throw new Problem('taken-down', `This record was taken down on ${row.taken_down.taken_down}`, row.taken_down)
  return row
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such record')
}
