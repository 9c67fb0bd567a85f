import { paths } from '@talkshelf/web'
import { joinCells } from '../imports/imports.ts'
import { listTalkRisks, type TalkRisk } from '../links/links.ts'
import type { Db } from '../platform/db/db.ts'

// Live talks as CSV, with who has their recordings.

const columns = ['id', 'url', 'event', 'operators', 'unavailable_operators', 'state']

/**
 * Streams a line for each live talk, in batches of lines. The first ones are read before it
 * returns, so that a response that cannot be made has not begun. `origin` is the start of all URLs.
 */
export async function atRiskCsv(
  db: Db,
  origin: string,
  batchSize?: number,
): Promise<AsyncIterable<string>> {
  const batches = listTalkRisks(db, batchSize)
  const first = await batches.next()
  const linesOf = (talks: readonly TalkRisk[]) =>
    talks.map((talk) => joinCells(cellsOf(talk, origin))).join('')
  return (async function* () {
    yield joinCells(columns)
    if (first.done) return
    yield linesOf(first.value)
    for await (const talks of batches) yield linesOf(talks)
  })()
}

function cellsOf(talk: TalkRisk, origin: string): string[] {
  const { id, event, available, unavailable } = talk
  return [
    String(id),
    origin + paths.talk(talk),
    event,
    available.join(' '),
    unavailable.filter((operator) => !available.includes(operator)).join(' '),
    stateOf(talk),
  ]
}

function stateOf({ available, unavailable }: TalkRisk): string {
  if (available.length > 1) return 'several-operators'
  if (available.length === 1) return 'one-operator'
  return unavailable.length > 0 ? 'unavailable' : 'no-source'
}
