import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExportedEntity } from '@talkshelf/contract'
import { writePyvideo } from '../imports/imports.ts'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { numberedSlug, slugify } from '../platform/slug.ts'
import { type ExportOptions, exportedEntities, exportedTalks } from './lines.ts'
import type { ExportScope } from './queries.ts'

// Talks in the format of the pyvideo project, which has no drafts and no takedowns: only live talks
// are exported.

type IdRange = Pick<ExportOptions, 'after' | 'upTo'>

const liveOnly: ExportScope = { drafts: false, takenDown: false }

/** Yields a JSON line for each talk: its event and file name, then the fields of pyvideo. */
export async function* exportPyvideo(db: Snapshot, range: IdRange): AsyncGenerator<string> {
  for await (const { record, facts } of exportedTalks(db, { ...range, ...liveOnly })) {
    const { event, category_title, file, record: fields } = writePyvideo(record, facts)
    yield `${JSON.stringify({ event, category_title, file, ...fields })}\n`
  }
}

/**
 * Writes `<event>/category.json` and `<event>/videos/*.json` to FOLDER.part, and renames it to
 * FOLDER when it is complete. Calls `onTalk` for each talk.
 */
export async function writePyvideoFolder(
  db: Snapshot,
  folder: string,
  range: IdRange,
  onTalk: () => void,
): Promise<void> {
  if ((await readdir(folder).catch(() => [])).length > 0)
    throw new FolderExistsError(
      `${folder} is not empty. Choose another folder, or remove it first.`,
    )
  const part = `${folder}.part`
  await mkdir(part).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new FolderExistsError(
      `${part} exists: another export is running or was interrupted. ` +
        'Remove the folder if no export is running.',
    )
  })
  try {
    const titleByEvent: TitleByEvent = new Map()
    for await (const { record, facts } of exportedTalks(db, { ...range, ...liveOnly })) {
      const talk = writePyvideo(record, facts)
      const { folder: eventFolder, name = record.slug } = safePath(talk.file, talk.event)
      const event = await makeEventFolder(part, eventFolder, talk.category_title, titleByEvent)
      await writeNewFile(join(part, event, 'videos'), [name, `${name}-${record.id}`], talk.record)
      onTalk()
    }
    await writeCategories(db, part, titleByEvent)
    await rename(part, folder)
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  }
}

/** The target of an export is not empty, or another export is writing it. */
export class FolderExistsError extends Error {}

/** The titles of the events by the names of their folders. */
type TitleByEvent = Map<string, string>

/**
 * Returns the event folder and file name of a talk. They come from facts, which any editor can
 * write, so that only harmless names become part of a path.
 */
function safePath(file: string, event: string): { folder: string; name: string | undefined } {
  const [, folder = event, name] = /^([^/]+)\/videos\/([^/]+)\.json$/.exec(file) ?? []
  return {
    folder: isSafeName(folder) ? folder : slugify(folder) || 'talks',
    name: name !== undefined && isSafeName(name) ? name : undefined,
  }
}

const isSafeName = (name: string) =>
  /^[\p{L}\p{N}_][\p{L}\p{M}\p{N} _.,'()+-]*$/u.test(name) && Buffer.byteLength(name) <= 200

/** Makes the folder of an event unless it exists. Numbers it if another title has the folder. */
async function makeEventFolder(
  part: string,
  preferred: string,
  title: string,
  titleByEvent: TitleByEvent,
): Promise<string> {
  const isTaken = (name: string) => titleByEvent.has(name) && titleByEvent.get(name) !== title
  let event = preferred
  for (let number = 2; isTaken(event); number++)
    event = numberedSlug(slugify(preferred) || 'talks', number)
  if (!titleByEvent.has(event)) await mkdir(join(part, event, 'videos'), { recursive: true })
  titleByEvent.set(event, title)
  return event
}

async function writeCategories(
  db: Snapshot,
  part: string,
  titleByEvent: TitleByEvent,
): Promise<void> {
  const eventsByTitle = Map.groupBy(titleByEvent.keys(), (event) =>
    normalizeTitle(titleByEvent.get(event) as string),
  )
  for await (const entity of exportedEntities(db, 'category', liveOnly)) {
    const category = entity as ExportedCategory
    const events = eventsByTitle.get(normalizeTitle(category.name)) ?? [
      await makeEventFolder(part, category.slug, category.name, titleByEvent),
    ]
    for (const event of events)
      await writeNewFile(join(part, event), ['category'], {
        ...categoryFields(category),
        title: titleByEvent.get(event),
      })
  }
}

type ExportedCategory = ExportedEntity & { kind: 'category' }

const normalizeTitle = (title: string) => title.normalize('NFC').replaceAll(/\s+/g, ' ').trim()

function categoryFields({
  description,
  url,
  start_date,
  end_date,
}: ExportedCategory): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ description, url, start_date, end_date }).filter(
      (field): field is [string, string] => !!field[1],
    ),
  )
}

/**
 * Writes a file under the first free name. Lets the file system decide which names are equal: it
 * may ignore case.
 */
async function writeNewFile(
  folder: string,
  names: readonly string[],
  value: object,
): Promise<void> {
  for (const name of names) {
    try {
      return await writeFile(
        join(folder, `${name}.json`),
        `${JSON.stringify(value, undefined, 2)}\n`,
        { flag: 'wx' },
      )
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || name === names.at(-1)) throw error
    }
  }
}
