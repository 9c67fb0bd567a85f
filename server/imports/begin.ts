import { type FieldError, type Role, states } from '@talkshelf/contract'
import { lookUpNames, openFormerNames, unknownLanguageError } from '../entities/entities.ts'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { ConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import {
  type OnPlanProgress,
  orFail,
  type PlanOptions,
  planImport,
  type VerdictCounts,
} from './engine/plan.ts'
import { findSourceName } from './engine/prepare-batch.ts'
import { type ImportJob, insertImport, setFormat } from './engine/queries.ts'
import { detectFormat } from './formats.ts'
import type { OpenedInput } from './input/input.ts'
import { fieldsOfNewRecord, type ParsedItem } from './item.ts'

// Creates an import, reads its file and plans it.

export interface ImportSource {
  /** The name shown to editors. */
  readonly name: string
  readonly open: () => Promise<OpenedInput>
  readonly format?: string | undefined
  readonly source?: string | undefined
  readonly category?: string | undefined
  readonly language?: string | undefined
  /** The day of talks that have none, YYYY-MM-DD. */
  readonly recorded?: string | undefined
  /** Whether not to look for speakers in the titles of a playlist. */
  readonly keepTitles?: boolean | undefined
  readonly draft?: boolean | undefined
  /** The time limit for reading the file. */
  readonly maxMs?: number | undefined
  /** The most talks that the file may have; default: that of the planner. */
  readonly maxRows?: number | undefined
  /** The followed source that the file comes from. */
  readonly followedSource?: number | undefined
  /** Aborts reading and planning. */
  readonly signal?: AbortSignal | undefined
  /** Receives each item before it is planned. */
  readonly onItem?: ((item: ParsedItem) => void) | undefined
  /** Ends the plan: see `PlanOptions`. */
  readonly onRead?: PlanOptions['onRead']
}

export interface BeginImportOptions {
  readonly progress?: OnPlanProgress
  /** Runs the planning when a slot is free. */
  readonly schedule?: ConcurrencyLimit['run']
}

/** Checks the language that an import is given for all talks. Returns undefined if it is known. */
export async function findLanguageError(
  db: Db,
  language: string | undefined,
): Promise<FieldError | undefined> {
  if (language === undefined) return undefined
  const names = { category: [], language: [language], speaker: [], tag: [] }
  const lookup = await lookUpNames(db, names)
  return lookup.language.has(language) ? undefined : unknownLanguageError(db, language)
}

/**
 * Creates an import and starts to read its file. `planned` resolves when every talk has a verdict,
 * and rejects with `InputRefused` if the file can't be read.
 */
export async function beginImport(
  pool: Pool,
  input: ImportSource,
  origin: Origin,
  { progress = () => {}, schedule = (work) => work() }: BeginImportOptions = {},
): Promise<{ id: number; planned: Promise<VerdictCounts> }> {
  const { category, language, draft = false } = input
  const names = await openFormerNames(pool)
  const label = (text: string) => names?.label(text) ?? text
  const options = { category, language, state: draft ? states.draft : states.live }
  const job = await insertImport(pool, {
    name: label(input.name).slice(0, 500),
    format: input.format ?? '',
    source: label(input.source ?? ''),
    options: names?.value(options) ?? options,
    actor: origin.actor.name,
    token_id: origin.actor.token,
    person_id: origin.actor.person ?? null,
    followed_source_id: input.followedSource ?? null,
    via: origin.via,
    request_id: origin.request,
  })
  const planned = readAndPlan(pool, job, input, origin.actor.role, { progress, schedule })
  return { id: job.id, planned }
}

/** Talks that were read before, to be planned as an import. */
export interface ReadTalks {
  readonly name: string
  readonly format: string
  readonly source: string
  /** The other sources of joined talks. */
  readonly otherSources: readonly string[]
  readonly items: readonly ParsedItem[]
}

/** Creates an import of talks that were read before, and starts to plan it. */
export async function beginImportOf(
  pool: Pool,
  { name, format, source, otherSources, items }: ReadTalks,
  origin: Origin,
): Promise<{ id: number; planned: Promise<VerdictCounts> }> {
  const { actor } = origin
  const job = await insertImport(pool, {
    name: name.slice(0, 500),
    format,
    source,
    options: { state: states.live, otherSources },
    actor: actor.name,
    token_id: actor.token,
    person_id: actor.person ?? null,
    via: origin.via,
    request_id: origin.request,
  })
  const plan = () => planImport(pool, job, toAsync(items), { role: actor.role, progress: () => {} })
  return { id: job.id, planned: orFail(pool, job, plan()) }
}

async function* toAsync<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

/** A file that was opened and whose format is known. */
export interface ReadFile {
  readonly format: string
  readonly source: string
  readonly items: AsyncIterable<ParsedItem>
}

/** Detects the format of an opened file and starts to read its talks. */
export async function readTalks(
  db: Db,
  opened: OpenedInput,
  options: Omit<ImportSource, 'name' | 'open'>,
): Promise<ReadFile> {
  const format = detectFormat(options.format, opened.head, opened.firstPath)
  const { source, category, language, recorded, keepTitles, followedSource, onItem } = options
  const items = format.read(opened.files, { category, language, recorded, keepTitles })
  const sourceName = source ?? defaultSource(format.name, opened.name, followedSource)
  return {
    format: format.name,
    source: await findSourceName(db, sourceName),
    items: withDefaults(items, recorded, onItem),
  }
}

function readAndPlan(
  pool: Pool,
  job: ImportJob,
  input: ImportSource,
  role: Role,
  { progress, schedule }: Required<BeginImportOptions>,
): Promise<VerdictCounts> {
  const plan = async () => {
    const deadlineMs = input.maxMs && performance.now() + input.maxMs
    const { format, source, items } = await readTalks(pool, await input.open(), input)
    await setFormat(pool, job.id, format, source)
    return planImport(pool, { ...job, source }, items, {
      role,
      deadlineMs,
      maxRows: input.maxRows,
      signal: input.signal,
      onRead: input.onRead,
      progress,
    })
  }
  return orFail(pool, job, schedule(plan))
}

/**
 * Sets the day of talks that have none, and the language of new ones. Leaves the records of an
 * export as they are.
 */
async function* withDefaults(
  items: AsyncIterable<ParsedItem>,
  recorded: string | undefined,
  onItem: ImportSource['onItem'] = () => {},
): AsyncGenerator<ParsedItem> {
  for await (const item of items) {
    const completed = withDefault(item, recorded)
    onItem(completed)
    yield completed
  }
}

function withDefault(item: ParsedItem, recorded: string | undefined): ParsedItem {
  if (!('fields' in item) || item.kept) return item
  const { fields } = item
  return {
    ...item,
    ...(recorded && !fieldsOfNewRecord(item).recorded && { fields: { ...fields, recorded } }),
    ...(fields.language === undefined && {
      fallback: { language: 'Undetermined', ...item.fallback },
    }),
  }
}

// The keys of a table are unique only within that table, so each file is a source of its own. The
// URL and the name of a followed source may change, and long ones may begin alike.
function defaultSource(format: string, file: string, followedSource: number | undefined): string {
  if (format !== 'csv') return format
  return followedSource === undefined
    ? `csv ${file}`.slice(0, 100)
    : `followed source ${followedSource}`
}
