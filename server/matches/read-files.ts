import { Problem } from '@talkshelf/contract'
import {
  findTakenDown,
  InputRefused,
  measure,
  type OpenedInput,
  type ParsedItem,
  prepareBatch,
  readTalks,
} from '../imports/imports.ts'
import type { Db } from '../platform/db/db.ts'
import type { ItemRow, MatchSide } from './queries.ts'

// Reads the two files of a match, as imports do.

/** An opened file and how to read it. */
export interface MatchFile {
  readonly opened: OpenedInput
  readonly format?: string | undefined
  readonly source?: string | undefined
}

/** What a file says. */
export interface ReadSide {
  readonly source: string
  readonly rows: readonly ItemRow[]
}

const limits = {
  talk: { count: 1000, what: 'talks' },
  recording: { count: 3000, what: 'recordings' },
} as const
/** Other entries of a file: its event, its people, and what can't be read. */
const maxOthers = 5000
const maxBytes = 32 << 20

/** Reads a file. Throws `InputRefused` if it can't be matched. */
export async function readSide(
  db: Db,
  side: MatchSide,
  { opened, ...file }: MatchFile,
  options: { readonly category?: string | undefined; readonly language?: string | undefined },
): Promise<ReadSide> {
  const { source, items } = await readTalks(db, opened, { ...file, ...options })
  const read: { readonly parsed: ParsedItem; readonly bytes: number }[] = []
  let talks = 0
  let bytes = 0
  for await (const item of items) {
    const { parsed, bytes: size } = measure(item)
    // Only the schedule describes the event and its people.
    const isDescription = !('fields' in parsed || 'unreadable' in parsed)
    if (side === 'recording' && isDescription) continue
    if ('fields' in parsed) talks++
    bytes += size
    const { count, what } = limits[side]
    if (talks > count || read.length - talks > maxOthers || bytes > maxBytes)
      throw new InputRefused(
        `${opened.name} is too large to be matched: at most ` +
          `${count.toLocaleString('en')} ${what} and 32 MB`,
      )
    read.push({ parsed, bytes: size })
  }
  if (talks === 0) throw new InputRefused(`${opened.name} has no ${limits[side].what}`)
  return { source, rows: await toRows(db, side, source, read) }
}

/**
 * Replaces former names and adds the keys of talks. Leaves out those that were taken down: nothing
 * of them is stored.
 */
async function toRows(
  db: Db,
  side: MatchSide,
  source: string,
  read: Parameters<typeof prepareBatch>[2],
): Promise<ItemRow[]> {
  const items = await prepareBatch(db, source, read)
  const talks = items.flatMap(({ parsed: item, key }) =>
    'fields' in item && key !== undefined ? [{ item, key }] : [],
  )
  const takenDown = await findTakenDown(db, source, talks)
  const hidden = new Set<ParsedItem>(
    talks.filter((_, index) => takenDown.has(index)).map(({ item }) => item),
  )
  return items
    .filter(({ parsed }) => !hidden.has(parsed))
    .map(({ parsed: item, key = null }) => ({ side, key, item }))
}

/** Throws if both files are the same source: a key would then belong to a talk and a recording. */
export function assertTwoSources(talks: ReadSide, recordings: ReadSide): void {
  if (talks.source === recordings.source)
    throw new Problem(
      'import-refused',
      `Both files belong to the source ${talks.source}. Choose another source for one of them`,
    )
}
