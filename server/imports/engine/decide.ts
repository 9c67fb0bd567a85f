import { hash } from 'node:crypto'
import {
  type FieldError,
  type Video,
  type VideoInput,
  VideoInput as VideoInputSchema,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import { lookUpNames, type NameLookup, type NamesToLookUp } from '../../entities/entities.ts'
import { findFactsById } from '../../facts/facts.ts'
import type { Db } from '../../platform/db/db.ts'
import {
  type BodyRow,
  findBodiesById,
  type NewRecord,
  normalizeVideoInput,
} from '../../videos/videos.ts'
import type { ImportItem, ItemFields } from '../item.ts'
import { type IncomingItem, type ItemMatch, matchItems } from './identity.ts'
import {
  type FieldChange,
  mergeFacts,
  mergeFields,
  type RecordFields,
  type SourceState,
  sourceStateOf,
  withCurrentNames,
} from './merge.ts'
import type { ImportOptions, PlannedRow, Verdict } from './queries.ts'

// What shall become of a talk: the plan shows it, and applying asks again, because people go on
// working in between.

export interface PlannedItem {
  readonly asked: IncomingItem
  readonly verdict: Verdict
  readonly videoId: number | null
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly notes: PlannedRow['notes']
  /** To be created. */
  readonly create?: NewRecord
  /** To be changed, as it was when it was looked at. */
  readonly change?: { readonly row: BodyRow; readonly patch: RecordFields }
  /** All facts that the record shall have, where they change. */
  readonly facts?: ReturnType<typeof mergeFacts>
  readonly factsBefore?: ReturnType<typeof mergeFacts>
  /** What the source says now, and what it said before. */
  readonly says?: SourceState
  readonly said: SourceState | undefined
  /** Refused because the record was taken down: nothing of the talk is kept. */
  readonly isTakenDown?: boolean
}

export interface DecisionContext {
  readonly source: string
  readonly options: ImportOptions
  /** Reads records that were found: as they are, or locked. */
  readonly bodies?: (ids: readonly number[]) => Promise<Map<number, BodyRow>>
}

export async function planItems(
  db: Db,
  all: readonly IncomingItem[],
  { source, options, bodies = (ids) => findBodiesById(db, ids) }: DecisionContext,
): Promise<PlannedItem[]> {
  const tidy = all.map(({ draft }) => normalizeVideoInput(draft.fields) as ItemFields)
  const book = await lookUpNames(db, namesOfItems(tidy))
  const matches = await matchItems(db, source, all, tidy, book)
  const ids = [...new Set(matches.flatMap(({ id }) => id ?? []))]
  const rows = await bodies(ids)
  const facts = await findFactsById(db, ids)
  // What the source said then may be called by other names today.
  const then = await lookUpNames(
    db,
    namesOfItems(matches.flatMap(({ said }) => (said ? [said.fields as ItemFields] : []))),
  )
  return all.map((asked, index) => {
    const match = matches[index] as ItemMatch
    const fields = withCurrentNames(tidy[index] as ItemFields, book)
    if (match.id === undefined) return asNew(asked, match, fields, options, book)
    const row = rows.get(match.id)
    if (!row) return refusal(asked, 'There is no record of this number any more')
    // A file that says nothing of states means the one that was asked for, where it made the
    // record.
    const says =
      match.said?.fields.state === undefined ? fields : { state: options.state, ...fields }
    return asChanged(asked, match, says, row, facts.get(row.id)?.facts ?? [], { now: book, then })
  })
}

function asNew(
  asked: IncomingItem,
  match: ItemMatch,
  fields: RecordFields,
  options: ImportOptions,
  lookup: NameLookup,
): PlannedItem {
  if (match.takenDown) return refusedAsTakenDown(asked, match.takenDown)
  const { draft } = asked
  const record = { state: options.state, ...fields } as VideoInput
  const errors = [...validationErrors(VideoInputSchema, record), ...unknownLanguage(fields, lookup)]
  if (errors.length > 0) return refusal(asked, ...errors.map(said))
  // As they were, also where the archive has one twice.
  const facts = draft.kept ? [...draft.facts] : mergeFacts([], draft.facts, undefined)
  if (areTooLarge(facts)) return refusal(asked, tooLarge)
  const nothing = { asked, videoId: null, changes: {}, said: undefined }
  if (match.question && asked.decision?.same !== false) {
    const notes = [
      ...draft.notes,
      { kind: 'question' as const, field: 'title', detail: match.question },
    ]
    return { ...nothing, verdict: 'conflict', notes }
  }
  return {
    ...nothing,
    verdict: 'new',
    notes: [...draft.notes, ...match.notes],
    create: { record, id: match.isFree ? draft.id : undefined, kept: keptFor(match, draft) },
    ...(facts.length > 0 && { facts }),
    says: sourceStateOf({ state: options.state, ...fields }, draft.facts),
  }
}

/**
 * What an archive gave the record is kept where the record keeps its id; that it was taken down,
 * under any id.
 */
function keptFor({ isFree }: ItemMatch, { kept }: ImportItem): ImportItem['kept'] {
  return isFree || kept?.takenDown ? kept : undefined
}

function asChanged(
  asked: IncomingItem,
  match: ItemMatch,
  fields: RecordFields,
  row: BodyRow,
  factsNow: ReturnType<typeof mergeFacts>,
  books: { now: NameLookup; then: NameLookup },
): PlannedItem {
  if (row.taken_down) return refusedAsTakenDown(asked, row.taken_down.taken_down)
  if (asked.draft.kept?.takenDown)
    return refusal(
      asked,
      `It was taken down in the file, and is record ${row.id} here: take that one down`,
    )
  const errors = [...validationErrors(VideoPatch, fields), ...unknownLanguage(fields, books.now)]
  if (errors.length > 0) return refusal(asked, ...errors.map(said))
  const mine = JSON.parse(row.body) as Video
  const { patch, changes, hasConflicts } = mergeFields(
    mine,
    fields,
    match.said,
    books.then,
    asked.decision?.take,
  )
  const facts = mergeFacts(factsNow, asked.draft.facts, match.said)
  const hasFacts = JSON.stringify(facts) !== JSON.stringify(factsNow)
  if (hasFacts && areTooLarge(facts)) return refusal(asked, tooLarge)
  const isChanged = Object.keys(patch).length > 0 || hasFacts
  return {
    asked,
    verdict: hasConflicts ? 'conflict' : isChanged ? 'changed' : 'unchanged',
    videoId: row.id,
    changes: hasFacts
      ? { ...changes, facts: { old: factsNow.length, new: facts.length } }
      : changes,
    notes: [...asked.draft.notes, ...match.notes],
    ...(isChanged && { change: { row, patch } }),
    ...(hasFacts && { facts, factsBefore: factsNow }),
    says: sourceStateOf(fields, asked.draft.facts),
    said: match.said,
  }
}

/**
 * More than the API takes (`facts/facts.ts`): an import attaches the raw values of its source as
 * well.
 */
const [maxFacts, maxFactsBytes] = [1000, 1 << 20]
const tooLarge = `More is attached to it than a record takes: ${maxFacts} facts, and 1 MB`

function areTooLarge(facts: readonly unknown[]): boolean {
  return facts.length > maxFacts || Buffer.byteLength(JSON.stringify(facts)) > maxFactsBytes
}

export function refusal(asked: IncomingItem, ...reasons: string[]): PlannedItem {
  const notes = [
    ...asked.draft.notes,
    ...reasons.map((detail) => ({ kind: 'refused' as const, field: '', detail })),
  ]
  return { asked, verdict: 'refused', videoId: null, changes: {}, notes, said: undefined }
}

function refusedAsTakenDown(asked: IncomingItem, day: string): PlannedItem {
  return {
    ...refusal(asked, `The record was taken down on ${day}: it is never imported again`),
    isTakenDown: true,
  }
}

function said({ pointer, code, detail }: FieldError): string {
  const field = pointer.slice(1)
  const isGiven = code === 'required' && (field === 'language' || field === 'category')
  return isGiven
    ? `${field} is required, and the file does not say it: give it for all talks with --${field}`
    : `${field} ${detail}`
}

// A category that is not there yet is made; a language can't be.
function unknownLanguage(fields: RecordFields, lookup: NameLookup): FieldError[] {
  if (
    typeof fields.language !== 'string' ||
    [...lookup.language.values()].some(({ name }) => name === fields.language)
  )
    return []
  return [
    {
      pointer: '/language',
      code: 'unknown-language',
      detail: 'is not the English name or the code of a language',
    },
  ]
}

/** The longest name that a record takes: a longer one is refused later, and not looked up. */
const maxNameLength = 255

export function namesOfItems(all: readonly ItemFields[]): NamesToLookUp {
  const isName = (it: unknown): it is string => typeof it === 'string' && it.length <= maxNameLength
  const texts = (values: readonly unknown[]) => [...new Set(values.filter(isName))]
  return {
    category: texts(all.map(({ category }) => category)),
    language: texts(all.map(({ language }) => language)),
    speaker: texts(all.flatMap(({ speakers }) => speakers)),
    tag: texts(all.flatMap(({ tags }) => tags)),
  }
}

/** Keys are in indexes, which take no longer values than this. */
const maxKeyLength = 500

/** What a source calls a talk. Without a key of its own: the video itself, or what it is called. */
export function itemKey({ key, fields }: ImportItem, sourceKey: string | undefined): string {
  if (key !== undefined) return key.length <= maxKeyLength ? key : `sha256:${digestOf(key)}`
  if (sourceKey !== undefined)
    return sourceKey.length <= maxKeyLength
      ? `source:${sourceKey}`
      : `source:${digestOf(sourceKey)}`
  return `talk:${digestOf(JSON.stringify([fields.category, fields.title, fields.speakers]))}`
}

const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, 22)
