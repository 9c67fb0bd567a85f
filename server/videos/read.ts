import { mayAct, Problem } from '@talkshelf/contract'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBody } from './queries.ts'

/** The record for this reader; a draft is only there for editors. */
export async function readVideo(db: Db, actor: Actor, id: number): Promise<BodyRow> {
  const row = await findCurrent(db, id)
  if (!row.live && !mayAct(actor.role, 'editor')) notFound()
  return row
}

/** The record whoever asks, as long as it is there. */
export async function findCurrent(db: Db, id: number): Promise<BodyRow> {
  const row = (await findBody(db, id)) ?? notFound()
  if (row.taken_down) throw new Problem('taken-down', `This record was taken down on ${row.taken_down.taken_down}`, row.taken_down)
  return row
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such record')
}
