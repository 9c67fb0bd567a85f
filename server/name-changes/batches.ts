import { randomBytes, randomUUID } from 'node:crypto'
import type { WriteContext } from '../changes/changes.ts'
import { nextRenameBatch } from '../directory/directory.ts'
import { addSlugsOfMerged, type NameReplacer } from '../entities/entities.ts'
import { type Db, Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { forgetWords } from '../search/search.ts'
import { changeDirectly } from './direct.ts'
import { rewriteOwned } from './owned.ts'
import {
  claimNameChange,
  countBlocks,
  endNameChange,
  type FoundRow,
  findRows,
  hasRunningChange,
  insertPlaces,
  listSelection,
  listTextColumns,
  type NameChange,
  type Place,
  renewLease,
  saveProblem,
  saveProgress,
  startState,
} from './queries.ts'
import {
  type ColumnChange,
  changesOf,
  excerptsOf,
  type KeptFields,
  replacerFor,
  searchedWords,
  settingsWithName,
} from './replace.ts'
import { inSearchOrder, type SearchedTable, tableRules } from './tables.ts'

// Plans and applies name changes: searches one table after the other, some blocks at a time. A batch
// that was interrupted is repeated, which changes nothing twice. Tables are searched again until no
// row changes, because rows move while others write.

const maxBlocks = 64
const maxPasses = 10
/** How many single places a plan lists. What it does not list is changed too. */
const maxPlaces = 2000
const leaseSeconds = 60
const renewAfterMs = 15_000

type NewPlace = Omit<Place, 'position'>

const noTexts: NewPlace = {
  subject: '',
  subject_id: 0,
  field: '',
  title: '',
  before: '',
  after: '',
  rows: 1,
  is_kept: false,
  refusal: null,
}

/** What an editor has selected in the plan. */
interface Selection {
  readonly kept: KeptFields
  /** The subjects that the plan lists by themselves, such as `video:17`. */
  readonly listed: ReadonlySet<string>
}

interface Batch {
  readonly pool: Pool
  readonly change: NameChange
  readonly lease: string
  readonly replacer: NameReplacer
  /** Replaces the names in links too. */
  readonly linkReplacer: NameReplacer
  readonly selection: Selection
  /** Receives the ids of changed records. */
  onChanged(ids: readonly number[]): void
}

/** Ends a batch of which another process has taken over, or that was discarded. */
class LeaseLost extends Error {}

/**
 * Runs the next batch of a name change and returns the ids of the records that changed. Returns
 * undefined if there is none, or other processes work on all of them. `onChanged` receives the ids
 * also if the batch fails later.
 */
export async function nextNameChangeBatch(
  pool: Pool,
  ownUrl: string,
  onChanged: (ids: readonly number[]) => void = () => {},
): Promise<number[] | undefined> {
  if (!(await hasRunningChange(pool.lookups))) return undefined
  const lease = randomUUID()
  const change = await claimNameChange(pool, lease, leaseSeconds)
  if (!change?.names) return undefined
  try {
    const batch = {
      pool,
      change,
      lease,
      replacer: replacerFor(change, ownUrl),
      linkReplacer: replacerFor({ ...change, in_links: true }, ownUrl),
      selection: await readSelection(pool, change),
      onChanged,
    }
    return await runBatch(batch)
  } catch (error) {
    if (error instanceof LeaseLost) return []
    const isTooSlow = error instanceof Unavailable && error.isTooSlow
    await saveProblem(pool, change.id, lease, isTooSlow ? 'too-slow' : 'failed')
    throw error
  }
}

async function runBatch(batch: Batch): Promise<number[]> {
  const { pool, change, lease } = batch
  const tables = inSearchOrder(await listTextColumns(pool.lists))
  const index = Math.max(0, tables.findIndex(isNamed(change.table_name)))
  const table = tables[index] as SearchedTable
  // The names in records must be new before the records themselves and their history are changed.
  if (change.state === 'applying' && table.name === 'video' && change.block === 0) {
    const renamed = await nextRenameBatch(pool)
    if (renamed) {
      await saveProgress(pool, change, lease)
      return renamed
    }
  }
  const { rows, blocks, nextBlock } = await searchBlocks(batch, table)
  const result =
    change.state === 'planning'
      ? planRows(batch, table, rows)
      : await changeRows(batch, table, rows)
  await pool.transaction(async (tx) => {
    await advance(tx, batch, result, { table, blocks, nextBlock, next: tables[index + 1] })
    if (result.places.length > 0) await insertPlaces(tx, change.id, uniquePlaces(result.places))
    // After the last places were added.
    if (isLast(batch, result, nextBlock, tables[index + 1])) await finish(tx, batch)
  })
  return result.records
}

const isNamed = (name: string) => (table: SearchedTable) => table.name === name

async function readSelection(pool: Pool, { id }: NameChange): Promise<Selection> {
  const kept = new Map<string, Set<string>>()
  const listed = new Set<string>()
  for (const { subject, subject_id, field, is_kept } of await listSelection(pool.lookups, id)) {
    const key = `${subject}:${subject_id}`
    listed.add(key)
    if (is_kept) kept.set(key, (kept.get(key) ?? new Set()).add(field))
  }
  return { kept, listed }
}

/**
 * Returns the context of a write. Its request is the fixed text that marks the changes of a name
 * change in the history.
 */
function contextOf({ id, actor: name, person_id: person }: NameChange): WriteContext {
  const actor = { role: 'editor' as const, name, token: null, person }
  return {
    origin: { actor, via: 'page', request: `name change ${id}` },
    ifMatch: undefined,
    // No write is the repetition of another one.
    hash: randomBytes(32),
  }
}

/** Finds the rows in the next blocks. Takes fewer blocks if the statement takes too long. */
async function searchBlocks(
  { pool, change, lease }: Batch,
  table: SearchedTable,
): Promise<{ rows: FoundRow[]; blocks: number; nextBlock: number | undefined }> {
  const total = await countBlocks(pool, table)
  const words = searchedWords(change.names ?? [])
  for (let { blocks } = change; ; blocks = Math.max(1, Math.floor(blocks / 4))) {
    const [from, to] = [change.block, change.block + blocks]
    try {
      const rows = table.columns.length > 0 ? await findRows(pool, table, { from, to }, words) : []
      return { rows, blocks, nextBlock: to < total ? to : undefined }
    } catch (error) {
      if (blocks === 1 || !(error instanceof Unavailable) || !error.isTooSlow) throw error
      if (!(await renewLease(pool, change.id, lease, leaseSeconds))) throw new LeaseLost()
    }
  }
}

interface BatchResult {
  /** How many rows were found or changed. */
  readonly count: number
  /** How many rows were changed by others meanwhile, so that they have to be searched again. */
  readonly missed: number
  readonly records: number[]
  readonly places: readonly NewPlace[]
}

/** Returns the places of rows for the plan. */
function planRows(batch: Batch, table: SearchedTable, rows: readonly FoundRow[]): BatchResult {
  const { change, linkReplacer } = batch
  const places: NewPlace[] = []
  for (const row of rows) {
    const isListed = !row.is_direct && change.total + places.length <= maxPlaces
    places.push(...(isListed ? placesOf(batch, table, row) : placeOfTable(batch, table, row)))
    for (const field of settingsWithName(table, row, linkReplacer))
      places.push({ ...noTexts, subject: table.name, field, refusal: 'account' })
  }
  return { count: places.length, missed: 0, records: [], places }
}

function placeOfTable(
  { replacer, selection }: Batch,
  table: SearchedTable,
  row: FoundRow,
): NewPlace[] {
  const [first] = changesOf(table, row, replacer, selection.kept)
  if (!first) return []
  const isPrivate = tableRules[table.name]?.isPrivate ?? false
  return [{ ...noTexts, subject: table.name, ...(!isPrivate && excerptsOf(first)) }]
}

function placesOf(
  { replacer, linkReplacer, selection }: Batch,
  table: SearchedTable,
  row: FoundRow,
): NewPlace[] {
  const isListed = ({ column }: ColumnChange) => column !== 'slug' || table.name === 'video'
  const fieldsWith = (used: NameReplacer) =>
    changesOf(table, row, used, selection.kept).flatMap(fieldsOf).filter(isListed)
  const fields = fieldsWith(replacer)
  const changed = new Set(fields.map(({ column }) => column))
  const links = fieldsWith(linkReplacer).filter(({ column }) => !changed.has(column))
  const place = { ...noTexts, ...subjectOf(row), title: titleOf(row) }
  return [
    ...fields.map((field) => ({ ...place, field: field.column, ...excerptsOf(field) })),
    ...links.map((link) => ({
      ...{ ...place, field: link.column, ...excerptsOf(link) },
      refusal: 'link',
    })),
  ]
}

/** Splits the change of a profile into its fields. */
function fieldsOf(change: ColumnChange): ColumnChange[] {
  if (change.column === 'profile') {
    const [before, after] = [change.before, change.after] as Record<string, unknown>[]
    return Object.keys(after ?? {})
      .filter((key) => before?.[key] !== after?.[key])
      .map((key) => ({ column: key, before: before?.[key], after: after?.[key] }))
  }
  return [change]
}

function subjectOf({ subject }: FoundRow): { subject: string; subject_id: number } {
  const [kind = '', id = '0'] = (subject ?? '').split(':')
  return { subject: kind, subject_id: Number(id) }
}

/** Adds up places with the same subject and field: synonyms have several rows. */
function uniquePlaces(places: readonly NewPlace[]): NewPlace[] {
  const groups = Map.groupBy(places, ({ subject, subject_id, field }) =>
    [subject, subject_id, field].join(':'),
  )
  return [...groups.values()].map((group) => ({
    ...(group[0] as NewPlace),
    rows: group.reduce((sum, { rows }) => sum + rows, 0),
  }))
}

const titleOf = ({ data }: FoundRow) => String(data.title ?? data.name ?? '').slice(0, 255)

/** Changes rows. */
async function changeRows(
  batch: Batch,
  table: SearchedTable,
  rows: readonly FoundRow[],
): Promise<BatchResult> {
  const { pool, change, lease, replacer, selection, onChanged } = batch
  const { kept, listed } = selection
  const isKeptTable = kept.has(`${table.name}:0`)
  const records: number[] = []
  const places: NewPlace[] = []
  let [count, missed, renewed] = [0, 0, Date.now()]
  for (const row of rows) {
    // What the plan does not list by itself follows the table.
    const isListed = !row.is_direct && listed.has(row.subject ?? '')
    if (isKeptTable && !isListed) continue
    const changes = changesOf(table, row, replacer, kept)
    if (changes.length === 0) continue
    if (Date.now() - renewed > renewAfterMs) {
      if (!(await renewLease(pool, change.id, lease, leaseSeconds))) throw new LeaseLost()
      renewed = Date.now()
    }
    const result = row.is_direct
      ? await changeDirectly(pool, table, row, changes)
      : await rewriteOwned(pool, table.name, row, { replacer, kept, context: contextOf(change) })
    if (result.isChanged) count++
    onChanged(result.records)
    records.push(...result.records)
    const place = { ...noTexts, ...(row.is_direct ? { subject: table.name } : subjectOf(row)) }
    for (const field of result.refused) places.push({ ...place, field, refusal: 'invalid' })
    if (result.isChanged || result.refused.length > 0) continue
    // Another writer changed the row, so it is searched again; at the end it is listed.
    missed++
    if (change.pass === maxPasses) places.push({ ...place, refusal: 'missed' })
  }
  return { count, missed, records, places }
}

interface Step {
  readonly table: SearchedTable
  readonly blocks: number
  readonly nextBlock: number | undefined
  readonly next: SearchedTable | undefined
}

/** Saves the progress, after the last table that of the next pass. */
async function advance(
  tx: Db,
  { change, lease }: Batch,
  { count, missed }: BatchResult,
  { table, blocks, nextBlock, next }: Step,
): Promise<void> {
  const changed = change.changed + count + missed
  const progress = { ...change, changed, total: change.total + count, blocks }
  const isSaved = await saveProgress(tx, positionAfter(), lease)
  if (!isSaved) throw new LeaseLost()

  function positionAfter(): NameChange {
    if (nextBlock !== undefined) return { ...progress, table_name: table.name, block: nextBlock }
    const start = { block: 0, blocks: maxBlocks }
    if (next) return { ...progress, table_name: next.name, ...start }
    return { ...progress, pass: change.pass + 1, table_name: '', changed: 0, ...start }
  }
}

/** Tells whether nothing is left to search: rows are searched again until none changes. */
function isLast(
  { change }: Batch,
  { count, missed }: BatchResult,
  nextBlock: Step['nextBlock'],
  next: Step['next'],
): boolean {
  if (nextBlock !== undefined || next) return false
  if (change.state === 'planning' || change.pass >= maxPasses) return true
  return change.changed + count + missed === 0
}

/** Ends the plan or the change. */
async function finish(tx: Db, { pool, change }: Batch): Promise<void> {
  if (change.state === 'planning') return void (await startState(tx, change.id, 'planned'))
  await forgetWords(pool, searchedWords(change.names ?? []).flat())
  await addSlugsOfMerged(tx)
  await endNameChange(tx, change.id, 'applied')
}
