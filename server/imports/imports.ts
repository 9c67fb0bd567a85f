import { type Import, type ImportedTalk, Problem, states } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { formatOf } from './formats.ts'
import type { Input } from './input.ts'
import { type Counts, type Progress, plan } from './plan.ts'
import {
  countRows,
  type Decision,
  decideRow,
  findImport,
  type ImportRow,
  listImports as importsBefore,
  insertImport,
  listRows,
  moveImport,
  type Row,
  setFormat,
} from './queries.ts'

// The front door. An import is a stored thing with a life: a file is read and planned (plan.ts), the plan is applied (apply.ts) and can be undone
// (undo.ts), both batch by batch (batches.ts). What a talk is, and what shall become of it, is decided in identity.ts, decide.ts and merge.ts;
// formats are in formats/, one file each.
export { nextBatch } from './batches.ts'
export { Refused } from './draft.ts'
export { fetchFile } from './fetch.ts'
export { csvTemplate } from './formats/csv.ts'
export { writePyvideo } from './formats/pyvideo-record.ts'
export { formats } from './formats.ts'
export { type Input, openInput } from './input.ts'

export interface Given {
  /** What it is called, for people. */
  readonly name: string
  readonly open: () => Promise<Input>
  readonly format?: string | undefined
  readonly source?: string | undefined
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly draft?: boolean | undefined
}

/** Begins to read; `planned` is done when every talk has a verdict, and fails with `Refused` where the file can't be read. */
export async function beginImport(
  pool: Pool,
  given: Given,
  origin: Origin,
  progress: Progress = () => {},
): Promise<{ id: number; planned: Promise<Counts> }> {
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
  return { id: it.id, planned: planned(pool, it, given, progress) }
}

async function planned(pool: Pool, it: ImportRow, given: Given, progress: Progress): Promise<Counts> {
  try {
    const input = await given.open()
    const format = formatOf(given.format, input.begin, input.firstPath)
    // Keys in a table are whatever its author calls them: another table has others.
    const source = given.source ?? (format.name === 'csv' ? `csv ${input.name}`.slice(0, 100) : format.name)
    await setFormat(pool, it.id, format.name, source)
    const { category, language } = given
    return await plan(pool, { ...it, source }, format.read(input.files, { category, language }), progress)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    await moveImport(pool, it.id, ['reading'], 'failed', { problem: problem.slice(0, 2000) })
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

export async function listTalks(db: Db, id: number, options: Parameters<typeof listRows>[2]): Promise<ImportedTalk[]> {
  await found(db, id)
  return (await listRows(db, id, options)).map(sentTalk)
}

export async function decideTalk(db: Db, id: number, position: number, decision: Decision): Promise<ImportedTalk> {
  const it = await found(db, id)
  if ((await decideRow(db, id, position, decision)) === 0) {
    const [row] = await listRows(db, id, { after: position - 1, limit: 1 })
    if (row?.position !== position) throw new Problem('not-found', 'There is no such talk')
    throw new Problem('wrong-state', `The import is ${it.state}: this talk was applied already`)
  }
  const [row] = await listRows(db, id, { after: position - 1, limit: 1 })
  return sentTalk(row as Row)
}

/** It goes on by itself from now on, here or in another process. */
export async function applyImport(db: Db, id: number): Promise<Import> {
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

const begins = { apply: 'was planned', stop: 'is being applied', undo: 'was applied, or stopped on the way' } as const

async function move(
  db: Db,
  id: number,
  from: readonly ImportRow['state'][],
  to: ImportRow['state'],
  verb: keyof typeof begins,
): Promise<Import> {
  const { state } = await found(db, id)
  if (!(await moveImport(db, id, from, to)))
    throw new Problem('wrong-state', `Import ${id} is ${state}. To ${verb} it, it must be one that ${begins[verb]}`)
  return readImport(db, id)
}

async function found(db: Db, id: number): Promise<ImportRow> {
  const it = await findImport(db, id)
  if (!it) throw new Problem('not-found', 'There is no such import')
  return it
}

async function sent(db: Db, { id, state, name, format, source, created, actor, rows, done, problem }: ImportRow): Promise<Import> {
  const counts = await countRows(db, id)
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

function sentTalk({ position, place, verdict, draft, video_id, changes, notes, outcome, undone }: Row): ImportedTalk {
  const title = typeof draft?.fields.title === 'string' ? draft.fields.title : null
  return { position, place, verdict, title, video: video_id, changes, notes: [...notes], outcome, undone }
}
