import {
  type FieldError,
  type Video,
  type VideoInput,
  VideoInput as VideoInputSchema,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import { lookUpNames, type NameLookup, type NamesToLookUp } from '../../entities/entities.ts'
import { findFactsById, hasTooManyFacts, maxFacts } from '../../facts/facts.ts'
import type { Db } from '../../platform/db/db.ts'
import {
  type BodyRow,
  findBodiesById,
  type NewRecord,
  normalizeVideoInput,
} from '../../videos/videos.ts'
import { findColumn } from '../formats/csv-columns.ts'
import { fieldsOfNewRecord, type ImportItem, type ImportNote, type ItemFields } from '../item.ts'
import { quote } from '../quote.ts'
import { readEmptyCells } from './empty-cells.ts'
import { type IncomingItem, type ItemMatch, matchItems } from './identity.ts'
import {
  fieldsOfSources,
  joinPreviousStates,
  type OtherState,
  otherStatesOf,
  ownStateOf,
} from './joined.ts'
import {
  type FieldChange,
  mergeFacts,
  mergeFields,
  type RecordFields,
  type SourceState,
  withCurrentNames,
} from './merge.ts'
import { findImportedFields, type ImportOptions, type PlannedRow, type Verdict } from './queries.ts'

// Decides what becomes of a talk. The plan shows the result, and applying decides again, because
// records change in between.

export interface PlannedItem {
  readonly incoming: IncomingItem
  readonly verdict: Verdict
  readonly videoId: number | null
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly notes: PlannedRow['notes']
  /** The record to create. */
  readonly create?: NewRecord
  /** The record to change, as it was read for the decision. */
  readonly change?: { readonly row: BodyRow; readonly patch: RecordFields }
  /** All facts of the record after the import, if they change. */
  readonly facts?: ReturnType<typeof mergeFacts>
  readonly factsBefore?: ReturnType<typeof mergeFacts>
  /** What the source says now. */
  readonly sourceState?: SourceState
  /** What the source said at its last import. */
  readonly previousState: SourceState | undefined
  /** The same for the other sources of a joined talk. */
  readonly otherStates?: readonly OtherState[]
  /** The empty cells that are ignored although the record has a value. */
  readonly ignoredCells?: number
  /** The record whose lost video the talk may be a copy of, if that is asked. */
  readonly lost?: ItemMatch['lost']
  /** Refused for a reason that no correction of the talk removes. */
  readonly isFinal?: boolean
  /** Refused because the record was taken down: nothing of the talk is stored. */
  readonly isTakenDown?: boolean
}

export interface DecisionContext {
  /** Id of the import. */
  readonly id?: number
  readonly source: string
  readonly options: ImportOptions
  /** Reads the matching records; may lock them. */
  readonly bodies?: (ids: readonly number[]) => Promise<Map<number, BodyRow>>
}

/** Matches items with records and decides what to do with each, in their order. Writes nothing. */
export async function planItems(
  db: Db,
  items: readonly IncomingItem[],
  { id, source, options, bodies = (ids) => findBodiesById(db, ids) }: DecisionContext,
): Promise<PlannedItem[]> {
  const normalized = items.map(({ item }) => normalizeVideoInput(item.fields) as ItemFields)
  const ofNewRecords = items.map(({ item }, index) =>
    item.fallback
      ? (normalizeVideoInput(fieldsOfNewRecord(item)) as ItemFields)
      : (normalized[index] as ItemFields),
  )
  const ofSources = items.flatMap(({ item }) => fieldsOfSources(item))
  const lookup = await lookUpNames(db, namesOfItems([...ofNewRecords, ...ofSources]))
  const matches = await matchItems(db, { id, source }, items, ofNewRecords, lookup)
  const ids = [...new Set(matches.flatMap(({ id }) => id ?? []))]
  const rows = await bodies(ids)
  const facts = await findFactsById(db, ids)
  const imported = new Map((await findImportedFields(db, ids)).map((row) => [row.id, row.fields]))
  // Names that the source used at its last import may have been renamed since.
  const previousStates = items.map(({ item }, index) => {
    const { id, previousState, others } = matches[index] as ItemMatch
    return joinPreviousStates(item, id, previousState, others)
  })
  const previousFields = previousStates.flatMap((state) =>
    state ? [state.fields as ItemFields] : [],
  )
  const previousLookup = await lookUpNames(db, namesOfItems(previousFields))
  return items.map((incoming, index) => {
    const match = matches[index] as ItemMatch
    if (match.mergedInto !== undefined) return planMerged(incoming, match.mergedInto)
    if (match.id === undefined) {
      const ofNewRecord = withCurrentNames(ofNewRecords[index] as ItemFields, lookup)
      return planNew(incoming, match, ofNewRecord, options, lookup)
    }
    const fields = withCurrentNames(normalized[index] as ItemFields, lookup)
    const row = rows.get(match.id)
    if (!row) return refusal(incoming, `Record ${match.id} no longer exists`)
    // It was merged after the item was matched.
    if (row.merged_into !== null) return planMerged(incoming, row.merged_into)
    // If the source created the record, a file without states means the requested one.
    const hasState = !match.exported && previousStates[index]?.fields.state !== undefined
    const record: CurrentRecord = {
      row,
      facts: facts.get(row.id)?.facts ?? [],
      imported: imported.get(row.id) ?? [],
    }
    return planChange(
      incoming,
      match,
      hasState ? { state: options.state, ...fields } : fields,
      record,
      { lookup, previousLookup, previousState: previousStates[index], state: options.state },
    )
  })
}

function planNew(
  incoming: IncomingItem,
  match: ItemMatch,
  fields: RecordFields,
  options: ImportOptions,
  lookup: NameLookup,
): PlannedItem {
  if (match.takenDown) return takenDownRefusal(incoming, match.takenDown)
  const { item } = incoming
  const record = { state: options.state, ...fields } as VideoInput
  const errors = [...validationErrors(VideoInputSchema, record), ...languageErrors(fields, lookup)]
  const reasons = [...(item.errors ?? []), ...errors.map((error) => reasonOf(error, record, item))]
  if (reasons.length > 0) return refusal(incoming, ...reasons)
  // The facts of an export are restored unchanged, duplicates included.
  const facts = item.kept ? [...item.facts] : mergeFacts([], item.facts, undefined)
  if (hasTooManyFacts(facts)) return refusal(incoming, tooManyFacts)
  const base = { incoming, videoId: null, changes: {}, previousState: undefined }
  if (match.question && incoming.decision?.same !== false) {
    const question = { kind: 'question' as const, field: 'title', detail: match.question }
    const notes = [...notesOfRecord(item), question]
    return { ...base, verdict: 'conflict', notes, lost: match.lost }
  }
  // A record that gets a new id is a new record, except that it stays taken down.
  const kept = match.canKeepId || item.kept?.takenDown ? item.kept : undefined
  return {
    ...base,
    verdict: 'new',
    notes: [...item.notes, ...fallbackNotes(item), ...match.notes],
    create: { record, id: match.canKeepId ? item.id : undefined, kept },
    ...(facts.length > 0 && { facts }),
    sourceState: ownStateOf(item, fields, lookup, { state: options.state }),
    ...(item.joined && {
      otherStates: otherStatesOf(item.joined, match.others, lookup, { state: options.state }),
    }),
  }
}

/** Leaves a talk alone because it was merged into a record that has another row in its source. */
function planMerged(incoming: IncomingItem, videoId: number): PlannedItem {
  const detail = `was merged into record ${videoId}, which this row does not change`
  return {
    incoming,
    verdict: 'unchanged',
    videoId,
    changes: {},
    notes: [{ kind: 'dropped', field: 'talk', detail }],
    previousState: undefined,
  }
}

/** Returns the notes without those about guesses, which an existing record does not get. */
function notesOfRecord({ fallback = {}, fields, notes }: ImportItem): ImportItem['notes'] {
  return notes.filter(({ field }) => !(field in fallback) || field in fields)
}

/** Notes the values that are not in the file, unless the format has said where they come from. */
function fallbackNotes({ fallback = {}, notes }: ImportItem): ImportNote[] {
  return Object.entries(fallback)
    .filter(([name]) => !notes.some(({ field }) => field === name))
    .map(([field, value]) => ({ kind: 'guessed', field, detail: `is missing: set to ${value}` }))
}

interface CurrentRecord {
  readonly row: BodyRow
  readonly facts: ReturnType<typeof mergeFacts>
  /** Fields whose value only imports have written. */
  readonly imported: readonly string[]
}

/** What a record is compared with: what its sources said before, and the names of today. */
interface MergeBase {
  readonly previousState: SourceState | undefined
  readonly lookup: NameLookup
  readonly previousLookup: NameLookup
  /** The state that the import gives to new records. */
  readonly state: ImportOptions['state']
}

function planChange(
  incoming: IncomingItem,
  { previousState: ownState, others, exported, notes, replacesVideo }: ItemMatch,
  fieldsOfFile: RecordFields,
  { row, facts: factsBefore, imported }: CurrentRecord,
  { lookup, previousLookup, previousState, state }: MergeBase,
): PlannedItem {
  const { item, decision } = incoming
  if (row.taken_down) return takenDownRefusal(incoming, row.taken_down.taken_down)
  if (item.kept?.takenDown)
    return refusal(incoming, `Taken down in the file, but not here. Take down record ${row.id}`)
  const record = JSON.parse(row.body) as Video
  const facts = mergeFacts(factsBefore, item.facts, previousState)
  const emptyCells = readEmptyCells(item, exported, record, facts)
  const fields = { ...fieldsOfFile, ...emptyCells.cleared }
  const errors = [...validationErrors(VideoPatch, fields), ...languageErrors(fields, lookup)]
  const reasons = [...(item.errors ?? []), ...errors.map((error) => reasonOf(error, fields, item))]
  if (reasons.length > 0) return refusal(incoming, ...reasons)
  const { patch, changes, hasConflicts } = mergeFields(
    record,
    fields,
    previousState,
    previousLookup,
    {
      take: [...(decision?.take ?? []), ...(replacesVideo ? ['source_url'] : [])],
      imported,
      replacesImports: item.replacesImports,
    },
  )
  const hasNewFacts = JSON.stringify(facts) !== JSON.stringify(factsBefore)
  if (hasNewFacts && hasTooManyFacts(facts)) return refusal(incoming, tooManyFacts)
  const isChanged = Object.keys(patch).length > 0 || hasNewFacts
  const factCounts = { old: factsBefore.length, new: facts.length }
  return {
    incoming,
    verdict: changeVerdict(hasConflicts, isChanged),
    videoId: row.id,
    changes: hasNewFacts ? { ...changes, facts: factCounts } : changes,
    notes: [...notesOfRecord(item), ...emptyCells.notes, ...notes],
    ...(emptyCells.ignored > 0 && { ignoredCells: emptyCells.ignored }),
    ...(isChanged && { change: { row, patch } }),
    ...(hasNewFacts && { facts, factsBefore }),
    sourceState: ownStateOf(item, fields, lookup, item.joined ? { state } : stateIn(fields)),
    previousState: ownState,
    ...(item.joined && { otherStates: otherStatesOf(item.joined, others, lookup, { state }) }),
  }
}

const stateIn = ({ state }: RecordFields) => (state === undefined ? {} : { state })

function changeVerdict(hasConflicts: boolean, isChanged: boolean): Verdict {
  if (hasConflicts) return 'conflict'
  return isChanged ? 'changed' : 'unchanged'
}

const tooManyFacts = `Has too many facts: a record can have ${maxFacts} facts, and 1 MB in total`

/** Builds the decision to leave a talk out, with the reasons. */
export function refusal(incoming: IncomingItem, ...reasons: string[]): PlannedItem {
  const notes = [
    // No value of it is imported, so none needs a warning.
    ...incoming.item.notes.filter(({ kind }) => kind !== 'warning'),
    ...reasons.map((detail) => ({ kind: 'refused' as const, field: '', detail })),
  ]
  return {
    incoming,
    verdict: 'refused',
    videoId: null,
    changes: {},
    notes,
    previousState: undefined,
  }
}

function takenDownRefusal(incoming: IncomingItem, day: string): PlannedItem {
  return {
    ...refusal(incoming, `The record was taken down on ${day} and cannot be imported again`),
    isTakenDown: true,
  }
}

function reasonOf(
  { pointer, code, detail }: FieldError,
  fields: object,
  { cells = [] }: ImportItem,
): string {
  const field = pointer.slice(1)
  const value = (fields as Record<string, unknown>)[field]
  const hasOption = code === 'required' && (field === 'language' || field === 'category')
  if (hasOption) return `${field} is missing from the file. Set it for all talks with --${field}`
  const quoted = typeof value === 'string' && value !== '' ? `: ${quote(value)}` : ''
  return `${columnOf(field, cells)} ${detail}${quoted}`
}

/** Returns the name that a field has in the header of a table, or else its own. */
function columnOf(field: string, cells: NonNullable<ImportItem['cells']>): string {
  const headers = cells.map(([header]) => header)
  return headers.find((header) => findColumn(header) === field) ?? field
}

// An unknown category is created; an unknown language cannot be.
function languageErrors(fields: RecordFields, lookup: NameLookup): FieldError[] {
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

/** Returns the fields that applying a talk writes: all of a new record, or those that change. */
export function writtenFields({ create, change }: PlannedItem): ItemFields[] {
  if (create) return [create.record as ItemFields]
  return change ? [change.patch as ItemFields] : []
}

/** A longer name is refused later, so it is not looked up. */
const maxNameLength = 255

/** Collects the names in these fields, each once. Skips values that cannot be a name. */
export function namesOfItems(items: readonly ItemFields[]): NamesToLookUp {
  const isName = (value: unknown): value is string =>
    typeof value === 'string' && value.length <= maxNameLength
  const unique = (values: readonly unknown[]) => [...new Set(values.filter(isName))]
  return {
    category: unique(items.map(({ category }) => category)),
    language: unique(items.map(({ language }) => language)),
    speaker: unique(items.flatMap(({ speakers }) => speakers)),
    tag: unique(items.flatMap(({ tags }) => tags)),
  }
}
