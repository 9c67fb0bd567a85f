import {
  type Import,
  type ImportedTalk,
  mayAct,
  Problem,
  type Role,
  states,
} from '@talkshelf/contract'
import { lookUpNames } from '../entities/entities.ts'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { ConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { namesOfItems } from './engine/decide.ts'
import { withCurrentNames } from './engine/merge.ts'
import { type OnPlanProgress, planImport, type VerdictCounts } from './engine/plan.ts'
import {
  changeImportState,
  countRows,
  type Decision,
  decideRow,
  findImport,
  type ImportJob,
  type ImportRow,
  selectImports as importsBefore,
  insertImport,
  listRows,
  setFormat,
} from './engine/queries.ts'
import { detectFormat } from './formats.ts'
import type { OpenedInput } from './input/input.ts'
import type { ItemFields } from './item.ts'

// The front door. An import is a stored entity with a life: a file is read and planned (plan.ts),
// the plan is applied (apply.ts) and can be undone (undo.ts), both batch by batch (batches.ts).
// What a talk is, and what shall become of it, is decided in identity.ts, decide.ts and merge.ts;
// formats are in formats/, one file each.
export { nextImportBatch, type OnBatchFailure } from './engine/batches.ts'
export { removeOldRows } from './engine/retention.ts'
export { csvTemplate } from './formats/csv.ts'
export { writePyvideo } from './formats/pyvideo-record.ts'
export { formats } from './formats.ts'
export { fetchFile } from './input/fetch.ts'
export { inputLimits, type OpenedInput, openInput } from './input/input.ts'
export { InputRefused } from './item.ts'

export interface ImportSource {
  /** What it is called, for people. */
  readonly name: string
  readonly open: () => Promise<OpenedInput>
  readonly format?: string | undefined
  readonly source?: string | undefined
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly draft?: boolean | undefined
  /** How long reading it may take. */
  readonly maxMs?: number | undefined
}

export interface BeginImportOptions {
  readonly progress?: OnPlanProgress
  /** Runs the planning when it is its turn. */
  readonly schedule?: ConcurrencyLimit['run']
}

/**
 * Begins to read; `planned` is done when every talk has a verdict, and fails with `Refused` where
 * the file can't be read.
 */
export async function beginImport(
  pool: Pool,
  given: ImportSource,
  origin: Origin,
  { progress = () => {}, schedule = (work) => work() }: BeginImportOptions = {},
): Promise<{ id: number; planned: Promise<VerdictCounts> }> {
  const { category, language, draft = false } = given
  const it = await insertImport(pool, {
    name: given.name.slice(0, 500),
    format: given.format ?? '',
    source: given.source ?? '',
    options: { category, language, state: draft ? states.draft : states.live },
    actor: origin.actor.name,
    token_id: origin.actor.token,
    via: origin.via,
    request_id: origin.request,
  })
  return { id: it.id, planned: planned(pool, it, given, origin.actor.role, { progress, schedule }) }
}

async function planned(
  pool: Pool,
  it: ImportJob,
  given: ImportSource,
  role: Role,
  { progress, schedule }: Required<BeginImportOptions>,
): Promise<VerdictCounts> {
  try {
    return await schedule(async () => {
      const deadlineMs = given.maxMs && performance.now() + given.maxMs
      const input = await given.open()
      const format = detectFormat(given.format, input.begin, input.firstPath)
      // Keys in a table are whatever its author calls them: another table has others.
      const source =
        given.source ?? (format.name === 'csv' ? `csv ${input.name}`.slice(0, 100) : format.name)
      await setFormat(pool, it.id, format.name, source)
      const { category, language } = given
      const readings = format.read(input.files, { category, language })
      return planImport(pool, { ...it, source }, readings, { role, deadlineMs, progress })
    })
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    await changeImportState(pool, it.id, ['reading'], 'failed', { problem: problem.slice(0, 2000) })
    throw error
  }
}

export async function readImport(db: Db, id: number): Promise<Import> {
  return sent(db, await found(db, id))
}

export async function listImports(db: Db, before: number, limit: number): Promise<Import[]> {
  const all: Import[] = []
  for (const it of await importsBefore(db, before, limit)) all.push(await sent(db, it))
  return all
}

export async function listImportTalks(
  db: Db,
  id: number,
  options: Parameters<typeof listRows>[2],
): Promise<ImportedTalk[]> {
  await found(db, id)
  return sentTalks(db, await listRows(db, id, options))
}

export async function decideTalk(
  db: Db,
  id: number,
  position: number,
  decision: Decision,
): Promise<ImportedTalk> {
  const it = await found(db, id)
  if ((await decideRow(db, id, position, decision)) === 0) {
    const [row] = await listRows(db, id, { after: position - 1, limit: 1 })
    if (row?.position !== position) throw new Problem('not-found', 'There is no such talk')
    throw new Problem('wrong-state', `The import is ${it.state}: this talk was applied already`)
  }
  const [talk] = await sentTalks(db, await listRows(db, id, { after: position - 1, limit: 1 }))
  return talk as ImportedTalk
}

/**
 * It goes on by itself from now on, here or in another process. An import with takedowns needs an
 * administrator.
 */
export async function applyImport(db: Db, id: number, role: Role): Promise<Import> {
  const { apply_role } = await found(db, id)
  if (!mayAct(role, apply_role))
    throw new Problem('forbidden', 'This import has takedowns, which only administrators can apply')
  return move(db, id, ['planned', 'stopped', 'applying'], 'applying', 'apply')
}

export async function stopImport(db: Db, id: number): Promise<Import> {
  return move(db, id, ['applying', 'stopped'], 'stopped', 'stop')
}

export async function undoImport(db: Db, id: number): Promise<Import> {
  const { state } = await found(db, id)
  if (state === 'undoing') return readImport(db, id)
  return move(db, id, ['applied', 'stopped'], 'undoing', 'undo')
}

const begins = {
  apply: 'was planned',
  stop: 'is being applied',
  undo: 'was applied, or stopped on the way',
} as const

async function move(
  db: Db,
  id: number,
  from: readonly ImportJob['state'][],
  to: ImportJob['state'],
  verb: keyof typeof begins,
): Promise<Import> {
  const { state, counts } = await found(db, id)
  if (counts)
    throw new Problem(
      'wrong-state',
      `The rows of import ${id} were removed for their age: it can no longer be changed`,
    )
  if (!(await changeImportState(db, id, from, to)))
    throw new Problem(
      'wrong-state',
      `Import ${id} is ${state}. To ${verb} it, it must be one that ${begins[verb]}`,
    )
  return readImport(db, id)
}

async function found(db: Db, id: number): Promise<ImportJob> {
  const it = await findImport(db, id)
  if (!it) throw new Problem('not-found', 'There is no such import')
  return it
}

async function sent(
  db: Db,
  { id, state, name, format, source, created, actor, rows, done, problem, counts: kept }: ImportJob,
): Promise<Import> {
  const counts = kept ?? (await countRows(db, id))
  const sum = (column: 'verdict' | 'outcome' | 'undone', value: string) =>
    counts.reduce((total, row) => (row[column] === value ? total + row.count : total), 0)
  const all = <T extends string>(column: 'verdict' | 'outcome' | 'undone', values: readonly T[]) =>
    Object.fromEntries(values.map((value) => [value, sum(column, value)])) as Record<T, number>
  return {
    id,
    state,
    name,
    format,
    source,
    created,
    by: actor,
    rows,
    done,
    problem,
    planned: all('verdict', ['new', 'changed', 'unchanged', 'conflict', 'refused']),
    outcome: all('outcome', ['created', 'changed', 'unchanged', 'kept', 'refused']),
    undone: all('undone', ['undone', 'touched']),
  }
}

/**
 * Rows as the API shows them. Names are those of today: what was renamed since the plan is shown
 * under its new name.
 */
async function sentTalks(db: Db, rows: readonly ImportRow[]): Promise<ImportedTalk[]> {
  const sides = rows.flatMap(({ changes }) => [sideOf(changes, 'old'), sideOf(changes, 'new')])
  const book = await lookUpNames(db, namesOfItems(sides))
  return rows.map(
    ({ position, place, verdict, draft, video_id, changes, notes, outcome, undone }) => {
      const title = typeof draft?.fields.title === 'string' ? draft.fields.title : null
      const [before, after] = [
        withCurrentNames(sideOf(changes, 'old'), book),
        withCurrentNames(sideOf(changes, 'new'), book),
      ] as Record<string, unknown>[]
      const shown = Object.fromEntries(
        Object.entries(changes).map(([field, change]) => [
          field,
          { ...change, old: before?.[field], new: after?.[field] },
        ]),
      )
      return {
        position,
        place,
        verdict,
        title,
        video: video_id,
        changes: shown,
        notes: [...notes],
        outcome,
        undone,
      }
    },
  )
}

function sideOf(changes: ImportRow['changes'], side: 'old' | 'new'): ItemFields {
  return Object.fromEntries(
    Object.entries(changes).map(([field, change]) => [field, change[side]]),
  ) as ItemFields
}
