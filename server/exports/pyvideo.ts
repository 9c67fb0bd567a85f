import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExportedEntity } from '@talkshelf/contract'
import { writePyvideo } from '../imports/imports.ts'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { numberedSlug, slugify } from '../platform/slug.ts'
import { type ExportOptions, exportedEntities, exportedTalks } from './lines.ts'

// Talks as the pyvideo project keeps them. Its records can't say that one is a draft or was taken
// down, so it gets live ones only.

type Range = Pick<ExportOptions, 'after' | 'upTo'>

const live = { drafts: false, takenDown: false }

/** One record a line, with its place in front. */
export async function* exportPyvideo(db: Snapshot, range: Range): AsyncGenerator<string> {
  for await (const { record, facts } of exportedTalks(db, { ...range, ...live })) {
    const { event, category_title, file, record: own } = writePyvideo(record, facts)
    yield `${JSON.stringify({ event, category_title, file, ...own })}\n`
  }
}

/**
 * `<event>/category.json` and `<event>/videos/*.json`. Until all is there the folder is called
 * FOLDER.part. Tells each time a talk is written.
 */
export async function writePyvideoFolder(
  db: Snapshot,
  folder: string,
  range: Range,
  onTalk: () => void,
): Promise<void> {
  if ((await readdir(folder).catch(() => [])).length > 0)
    throw new FolderTaken(`${folder} is not empty. Name another folder, or remove it first.`)
  const part = `${folder}.part`
  await mkdir(part).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new FolderTaken(
      `${part} is there: another export is writing it, or one was killed. If none is running, remove it.`,
    )
  })
  try {
    /** The titles of the events, by their folders. */
    const events = new Map<string, string>()
    for await (const { record, facts } of exportedTalks(db, { ...range, ...live })) {
      const written = writePyvideo(record, facts)
      const event = await eventFor(
        part,
        placeIn(written.file, written.event).event,
        written.category_title,
        events,
      )
      const { name = record.slug } = placeIn(written.file, written.event)
      await writeNew(join(part, event, 'videos'), [name, `${name}-${record.id}`], written.record)
      onTalk()
    }
    await writeCategories(db, part, events)
    await rename(part, folder)
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  }
}

export class FolderTaken extends Error {}

/**
 * Facts tell where a record stood, and anybody who edits can write them: nothing but a plain name
 * becomes a part of a path.
 */
function placeIn(file: string, given: string): { event: string; name: string | undefined } {
  const [, event = given, name] = /^([^/]+)\/videos\/([^/]+)\.json$/.exec(file) ?? []
  return {
    event: isPlain(event) ? event : slugify(event) || 'talks',
    name: name !== undefined && isPlain(name) ? name : undefined,
  }
}

const isPlain = (name: string) =>
  /^[\p{L}\p{N}_][\p{L}\p{M}\p{N} _.,'()+-]*$/u.test(name) && Buffer.byteLength(name) <= 200

/** A folder has one title: another event of the same name gets a number. */
async function eventFor(
  part: string,
  wanted: string,
  title: string,
  events: Map<string, string>,
): Promise<string> {
  let event = wanted
  for (let number = 2; events.has(event) && events.get(event) !== title; number++)
    event = numberedSlug(slugify(wanted) || 'talks', number)
  if (!events.has(event)) await mkdir(join(part, event, 'videos'), { recursive: true })
  events.set(event, title)
  return event
}

async function writeCategories(
  db: Snapshot,
  part: string,
  events: Map<string, string>,
): Promise<void> {
  const folders = Map.groupBy(events.keys(), (event) => tidy(events.get(event) as string))
  for await (const entity of exportedEntities(db, 'category', live)) {
    const category = entity as ExportedEntity & { kind: 'category' }
    const own = folders.get(tidy(category.name)) ?? [
      await eventFor(part, category.slug, category.name, events),
    ]
    for (const event of own)
      await writeNew(join(part, event), ['category'], {
        ...aboutOf(category),
        title: events.get(event),
      })
  }
}

const tidy = (title: string) => title.normalize('NFC').replaceAll(/\s+/g, ' ').trim()

function aboutOf({
  description,
  url,
  start_date,
  end_date,
}: ExportedEntity & { kind: 'category' }): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ description, url, start_date, end_date }).filter(
      (it): it is [string, string] => !!it[1],
    ),
  )
}

/** Under the first name that no other file has, in whichever way the disk tells names apart. */
async function writeNew(folder: string, names: readonly string[], value: object): Promise<void> {
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
