import { maxImportedId } from '@talkshelf/contract'
import type { NameLookup } from '../../entities/entities.ts'
import type { Db } from '../../platform/db/db.ts'
import type { ImportItem, ImportNote, ItemFields } from '../item.ts'
import type { SourceState } from './merge.ts'
import { type Decision, findById, findBySource, findByTitle, findSourceStates } from './queries.ts'

// Which record a talk is: by our number, by the key that its source has for it, by the video on its
// host; and where only the event, the title and the speakers are the same, that is a question.

/** Records count from 1. */
const noNumber = 0

/** A talk of an import. */
export interface IncomingItem {
  readonly position: number
  readonly place: string
  readonly key: string
  readonly draft: ImportItem
  /** What an editor said about it. */
  readonly decision: Decision | null
}

export interface ItemMatch {
  /** The record that it is. */
  readonly id?: number
  /** What the source said of it before. */
  readonly said?: SourceState | undefined
  /** Whether the number that it brings may be its own here. */
  readonly isFree: boolean
  readonly notes: readonly ImportNote[]
  /** The day on which the record was taken down. */
  readonly takenDown?: string
  readonly question?: string | undefined
}

export async function matchItems(
  db: Db,
  source: string,
  all: readonly IncomingItem[],
  fields: readonly ItemFields[],
  lookup: NameLookup,
): Promise<ItemMatch[]> {
  const numbered = new Map(
    (
      await findById(
        db,
        all.map(({ draft: { id = noNumber } }) => id),
      )
    ).map((row) => [row.id, row]),
  )
  const known = new Map(
    (
      await findSourceStates(
        db,
        source,
        all.map(({ key }) => key),
      )
    ).map((row) => [row.key, row]),
  )
  const addresses = fields.map(sourceUrlOf)
  const videos = Map.groupBy(await findBySource(db, source, addresses), ({ place }) => place)
  const titles = fields.map(({ title }) =>
    typeof title === 'string' && title.length <= 255 ? title : '',
  )
  const titled = Map.groupBy(await findByTitle(db, source, titles), ({ place }) => place)
  // Two talks of a file are two records, also where both are in one video.
  const claimed = new Set<number>()

  return all.map(({ key, draft, decision }, index): ItemMatch => {
    const { id: number = noNumber } = draft
    const one = numbered.get(number)
    const before = known.get(key)
    const same = (videos.get(index) ?? []).filter(
      ({ id, keys }) => !claimed.has(id) && isHeldBy(keys, key),
    )
    const claim = (id: number, more: Partial<ItemMatch> = {}): ItemMatch => {
      claimed.add(id)
      return {
        id,
        said: before?.video_id === id ? before.said : undefined,
        isFree: false,
        notes: [],
        ...more,
      }
    }
    const isOne =
      one !== undefined &&
      (isAlike(one, draft.kept?.slug, titles[index] as string) ||
        same.some(({ id }) => id === one.id))
    // What is a record here already was not taken down, though another of the same video may have
    // been; and so it may be in an export of ours. For all others one is enough: a source that
    // gives the talk another key does not bring it back.
    const gone = isOne
      ? one
      : before
        ? undefined
        : (draft.kept ? same : (videos.get(index) ?? [])).find((it) => it.taken_down)
    if (gone?.taken_down) return { isFree: false, notes: [], takenDown: gone.taken_down }
    if (before) return claim(before.video_id)
    if (isOne) return claim(one.id)
    const [first] = same
    if (first) return claim(first.id)

    const isFar = number > maxImportedId
    const why = one
      ? `${one.id} is another record here`
      : isFar
        ? `${number} is too high a number for a record`
        : undefined
    const notes: ImportNote[] =
      why === undefined ? [] : [{ kind: 'dropped', field: 'id', detail: why }]
    const like = (titled.get(index) ?? []).find(
      (it) =>
        !claimed.has(it.id) &&
        isHeldBy(it.keys, key) &&
        isOf(it.category_id, 'category', fields[index]?.category) &&
        areBy(it.speaker_ids, fields[index]?.speakers),
    )
    if (like && decision?.same === true) return claim(like.id)
    const question =
      like && `Record ${like.id} has the same title, speakers and category: is it this one?`
    return { isFree: !one && !isFar, notes, question }
  })

  // Nothing was checked yet: a name may be no text, which no book has, and what stands for the
  // speakers may be no list.
  function isOf(id: number, kind: keyof NameLookup, name: unknown): boolean {
    return lookup[kind].get(name as string)?.id === id
  }

  function areBy(ids: readonly number[], names: unknown = []): boolean {
    return (
      Array.isArray(names) &&
      ids.length === names.length &&
      names.every((name) => ids.some((id) => isOf(id, 'speaker', name)))
    )
  }
}

/**
 * The address of the video, for looking it up: empty where there is none, or one that no record
 * takes.
 */
export function sourceUrlOf({ source_url: address }: ItemFields): string {
  return typeof address === 'string' && address.length <= 2048 ? address : ''
}

/** Two keys of one source are two talks. */
const isHeldBy = (keys: readonly string[], key: string) => keys.every((other) => other === key)

/**
 * Numbers are given out by every archive. The same number means the same record where more than the
 * number is the same.
 */
function isAlike(
  one: { slug: string; title: string },
  slug: string | undefined,
  title: string,
): boolean {
  return one.slug === slug || fold(one.title) === fold(title)
}

const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()
