import type { Db } from '../platform/db/db.ts'
import type { Book } from '../vocabulary/vocabulary.ts'
import type { Draft, DraftFields, Note } from './draft.ts'
import type { Said } from './merge.ts'
import { type Decision, findById, findBySource, findByTitle, findSaid } from './queries.ts'

// Which record a talk is: by our number, by the key that its source has for it, by the video on its host; and where only the event, the title
// and the speakers are the same, that is a question.

/** A talk of an import. */
export interface Asked {
  readonly position: number
  readonly place: string
  readonly key: string
  readonly draft: Draft
  /** What an editor said about it. */
  readonly decision: Decision | null
}

export interface Match {
  /** The record that it is. */
  readonly id?: number
  /** What the source said of it before. */
  readonly said?: Said | undefined
  /** Whether the number that it brings may be its own here. */
  readonly isFree: boolean
  readonly notes: readonly Note[]
  readonly refusal?: string
  readonly question?: string
}

export async function matchesOf(
  db: Db,
  source: string,
  all: readonly Asked[],
  fields: readonly DraftFields[],
  book: Book,
): Promise<Match[]> {
  const numbered = new Map(
    (
      await findById(
        db,
        all.flatMap(({ draft }) => draft.id ?? []),
      )
    ).map((row) => [row.id, row]),
  )
  const known = new Map(
    (
      await findSaid(
        db,
        source,
        all.map(({ key }) => key),
      )
    ).map((row) => [row.key, row]),
  )
  const addresses = fields.map(({ source_url }) => (typeof source_url === 'string' ? source_url : ''))
  const videos = Map.groupBy(await findBySource(db, source, addresses), ({ place }) => place)
  const titles = fields.map(({ title }) => (typeof title === 'string' ? title : ''))
  const titled = Map.groupBy(await findByTitle(db, source, titles), ({ place }) => place)
  // Two talks of a file are two records, also where both are in one video.
  const claimed = new Set<number>()

  return all.map(({ key, draft, decision }, place): Match => {
    const one = numbered.get(draft.id ?? -1)
    const before = known.get(key)
    const same = (videos.get(place) ?? []).filter(({ id, keys }) => !claimed.has(id) && isHeldBy(keys, key))
    const claim = (id: number, more: Partial<Match> = {}): Match => {
      claimed.add(id)
      return { id, said: before?.video_id === id ? before.said : undefined, isFree: false, notes: [], ...more }
    }
    const isOne = one !== undefined && (isAlike(one, draft.kept?.slug, titles[place]) || same.some(({ id }) => id === one.id))
    // What is a record here already was not taken down, though another of the same video may have been; and so it may be in an export of ours.
    // For all others one is enough: a source that gives the talk another key does not bring it back.
    const gone = isOne ? one : before ? undefined : (draft.kept ? same : (videos.get(place) ?? [])).find((it) => it.taken_down)
    if (gone?.taken_down) return { isFree: false, notes: [], refusal: takenDown(gone.taken_down) }
    if (before) return claim(before.video_id)
    if (isOne) return claim(one.id)
    const [first] = same
    if (first) return claim(first.id)

    const isFar = (draft.id ?? 0) > mostNumber
    const why = one ? `${one.id} is another record here` : isFar ? `${draft.id} is too high a number for a record` : undefined
    const notes: Note[] = why === undefined ? [] : [{ kind: 'dropped', field: 'id', detail: why }]
    const like = (titled.get(place) ?? []).find(
      (it) =>
        !claimed.has(it.id) &&
        isHeldBy(it.keys, key) &&
        isOf(it.category_id, 'category', fields[place]?.category) &&
        areBy(it.speaker_ids, fields[place]?.speakers),
    )
    if (like && decision?.same === true) return claim(like.id)
    const question = like && `Record ${like.id} has the same title, speakers and category: is it this one?`
    return { isFree: !one && !isFar, notes, ...(question && { question }) }
  })

  function isOf(id: number, kind: keyof Book, name: unknown): boolean {
    return typeof name === 'string' && book[kind].get(name)?.id === id
  }

  function areBy(ids: readonly number[], names: readonly string[] = []): boolean {
    return ids.length === names.length && names.every((name) => ids.includes(book.speaker.get(name)?.id ?? -1))
  }
}

/** A number that is far away would take all numbers before it from later records. */
export const mostNumber = 1_000_000_000

export const takenDown = (day: string) => `The record was taken down on ${day}: it is never imported again`

/** Two keys of one source are two talks. */
const isHeldBy = (keys: readonly string[], key: string) => keys.every((other) => other === key)

/** Numbers are given out by every archive. The same number means the same record where more than the number is the same. */
function isAlike(one: { slug: string; title: string } | undefined, slug: string | undefined, title: string | undefined): boolean {
  return one !== undefined && (one.slug === slug || fold(one.title) === fold(title ?? ''))
}

const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()
