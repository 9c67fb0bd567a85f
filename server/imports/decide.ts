import { hash } from 'node:crypto'
import { check, type FieldError, type Video, type VideoInput, VideoInput as VideoInputSchema, VideoPatch } from '@talkshelf/contract'
import { factsOf } from '../facts/facts.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBodies, type NewRecord, tidied } from '../videos/videos.ts'
import { type Book, lookUp, type Wanted } from '../vocabulary/vocabulary.ts'
import type { Draft, DraftFields } from './draft.ts'
import { type Asked, type Match, matchesOf, takenDown } from './identity.ts'
import { type FieldChange, type Fields, mergeFacts, mergeFields, remember, type Said, today } from './merge.ts'
import type { Options, PlannedRow, Verdict } from './queries.ts'

// What shall become of a talk: the plan shows it, and applying asks again, because people go on working in between.

export interface Decided {
  readonly asked: Asked
  readonly verdict: Verdict
  readonly videoId: number | null
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly notes: PlannedRow['notes']
  /** To be created. */
  readonly create?: NewRecord
  /** To be changed, as it was when it was looked at. */
  readonly change?: { readonly row: BodyRow; readonly patch: Fields }
  /** All facts that the record shall have, where they change. */
  readonly facts?: ReturnType<typeof mergeFacts>
  readonly factsBefore?: ReturnType<typeof mergeFacts>
  /** What the source says now, and what it said before. */
  readonly says?: Said
  readonly said: Said | undefined
}

export interface DecideOptions {
  readonly source: string
  readonly options: Options
  /** Reads records that were found: as they are, or locked. */
  readonly bodies?: (ids: readonly number[]) => Promise<Map<number, BodyRow>>
}

export async function decide(
  db: Db,
  all: readonly Asked[],
  { source, options, bodies = (ids) => findBodies(db, ids) }: DecideOptions,
): Promise<Decided[]> {
  const tidy = all.map(({ draft }) => tidied(draft.fields) as DraftFields)
  const book = await lookUp(db, namesIn(tidy))
  const matches = await matchesOf(db, source, all, tidy, book)
  const ids = [...new Set(matches.flatMap(({ id }) => id ?? []))]
  const rows = await bodies(ids)
  const facts = await factsOf(db, ids)
  // What the source said then may be called by other names today.
  const then = await lookUp(db, namesIn(matches.flatMap(({ said }) => (said ? [said.fields as DraftFields] : []))))
  return all.map((asked, place) => {
    const match = matches[place] as Match
    const fields = today(tidy[place] as DraftFields, book)
    const row = match.id === undefined ? undefined : rows.get(match.id)
    if (!row)
      return match.id === undefined
        ? asNew(asked, match, fields, options, book)
        : refused(asked, 'There is no record of this number any more')
    // A file that says nothing of states means the one that was asked for, where it made the record.
    const says = match.said?.fields.state === undefined ? fields : { state: options.state, ...fields }
    return asChanged(asked, match, says, row, facts.get(row.id)?.facts ?? [], { now: book, then })
  })
}

function asNew(asked: Asked, match: Match, fields: Fields, options: Options, book: Book): Decided {
  if (match.refusal) return refused(asked, match.refusal)
  const { draft } = asked
  const record = { state: options.state, ...fields } as VideoInput
  const errors = [...check(VideoInputSchema, record), ...unknownLanguage(fields, book)]
  if (errors.length > 0) return refused(asked, ...errors.map(said))
  const nothing = { asked, videoId: null, changes: {}, said: undefined }
  if (match.question && asked.decision?.same !== false) {
    const notes = [...draft.notes, { kind: 'question' as const, field: 'title', detail: match.question }]
    return { ...nothing, verdict: 'conflict', notes }
  }
  return {
    ...nothing,
    verdict: 'new',
    notes: [...draft.notes, ...match.notes],
    create: { record, id: match.isFree ? draft.id : undefined, kept: match.isFree ? draft.kept : undefined },
    // As they were, also where the archive has one twice.
    ...(draft.facts.length > 0 && { facts: draft.kept ? [...draft.facts] : mergeFacts([], draft.facts, undefined) }),
    says: remember({ state: options.state, ...fields }, draft.facts),
  }
}

function asChanged(
  asked: Asked,
  match: Match,
  fields: Fields,
  row: BodyRow,
  factsNow: ReturnType<typeof mergeFacts>,
  books: { now: Book; then: Book },
): Decided {
  if (row.taken_down) return refused(asked, takenDown(row.taken_down.taken_down))
  const errors = [...check(VideoPatch, fields), ...unknownLanguage(fields, books.now)]
  if (errors.length > 0) return refused(asked, ...errors.map(said))
  const mine = JSON.parse(row.body) as Video
  const { patch, changes, hasConflicts } = mergeFields(mine, fields, match.said, books.then, asked.decision?.take)
  const facts = mergeFacts(factsNow, asked.draft.facts, match.said)
  const hasFacts = JSON.stringify(facts) !== JSON.stringify(factsNow)
  const isChanged = Object.keys(patch).length > 0 || hasFacts
  return {
    asked,
    verdict: hasConflicts ? 'conflict' : isChanged ? 'changed' : 'unchanged',
    videoId: row.id,
    changes: hasFacts ? { ...changes, facts: { old: factsNow.length, new: facts.length } } : changes,
    notes: [...asked.draft.notes, ...match.notes],
    ...(isChanged && { change: { row, patch } }),
    ...(hasFacts && { facts, factsBefore: factsNow }),
    says: remember(fields, asked.draft.facts),
    said: match.said,
  }
}

export function refused(asked: Asked, ...reasons: string[]): Decided {
  const notes = [...asked.draft.notes, ...reasons.map((detail) => ({ kind: 'refused' as const, field: '', detail }))]
  return { asked, verdict: 'refused', videoId: null, changes: {}, notes, said: undefined }
}

function said({ pointer, code, detail }: FieldError): string {
  const field = pointer.slice(1)
  const isGiven = code === 'required' && (field === 'language' || field === 'category')
  return isGiven ? `${field} is required, and the file does not say it: give it for all talks with --${field}` : `${field} ${detail}`
}

// A category that is not there yet is made; a language can't be.
function unknownLanguage(fields: Fields, book: Book): FieldError[] {
  if (typeof fields.language !== 'string' || [...book.language.values()].some(({ name }) => name === fields.language)) return []
  return [{ pointer: '/language', code: 'unknown-language', detail: 'is not the English name or the code of a language' }]
}

export function namesIn(all: readonly DraftFields[]): Wanted {
  const texts = (values: readonly unknown[]) => [...new Set(values.filter((it): it is string => typeof it === 'string'))]
  return {
    category: texts(all.map(({ category }) => category)),
    language: texts(all.map(({ language }) => language)),
    speaker: texts(all.flatMap(({ speakers }) => speakers ?? [])),
    tag: texts(all.flatMap(({ tags }) => tags ?? [])),
  }
}

/** Of a talk for which its source has no key: the video itself, or what it is called. An export has both in several records, and each is one. */
export function keyOf({ key, id, kept, fields }: Draft, sourceKey: string | undefined): string {
  if (key !== undefined) return key
  if (kept) return `${id} ${kept.slug}`
  if (sourceKey !== undefined) return `source:${sourceKey}`
  return `talk:${hash('sha256', JSON.stringify([fields.category, fields.title, fields.speakers]), 'base64url').slice(0, 22)}`
}
