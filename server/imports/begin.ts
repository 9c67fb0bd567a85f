import { type FieldError, type Role, states } from '@talkshelf/contract'
import { lookUpNames, unknownLanguageError } from '../entities/entities.ts'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { ConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { type OnPlanProgress, planImport, type VerdictCounts } from './engine/plan.ts'
import { changeImportState, type ImportJob, insertImport, setFormat } from './engine/queries.ts'
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
  const job = await insertImport(pool, {
    name: input.name.slice(0, 500),
    format: input.format ?? '',
    source: input.source ?? '',
    options: { category, language, state: draft ? states.draft : states.live },
    actor: origin.actor.name,
    token_id: origin.actor.token,
    person_id: origin.actor.person ?? null,
    via: origin.via,
    request_id: origin.request,
  })
  const planned = readAndPlan(pool, job, input, origin.actor.role, { progress, schedule })
  return { id: job.id, planned }
}

async function readAndPlan(
  pool: Pool,
  job: ImportJob,
  input: ImportSource,
  role: Role,
  { progress, schedule }: Required<BeginImportOptions>,
): Promise<VerdictCounts> {
  try {
    return await schedule(async () => {
      const deadlineMs = input.maxMs && performance.now() + input.maxMs
      const opened = await input.open()
      const format = detectFormat(input.format, opened.head, opened.firstPath)
      const source = input.source ?? defaultSource(format.name, opened.name)
      await setFormat(pool, job.id, format.name, source)
      const { category, language, recorded, keepTitles } = input
      const items = format.read(opened.files, { category, language, recorded, keepTitles })
      return planImport(pool, { ...job, source }, withDefaults(items, recorded), {
        role,
        deadlineMs,
        progress,
      })
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const problem = message.slice(0, 2000)
    await changeImportState(pool, job.id, ['reading'], 'failed', { problem })
    throw error
  }
}

/**
 * Sets the day of talks that have none, and the language of new ones. Leaves the records of an
 * export as they are.
 */
async function* withDefaults(
  items: AsyncIterable<ParsedItem>,
  recorded: string | undefined,
): AsyncGenerator<ParsedItem> {
  for await (const item of items) {
    if (!('fields' in item) || item.kept) {
      yield item
      continue
    }
    const { fields } = item
    yield {
      ...item,
      ...(recorded && !fieldsOfNewRecord(item).recorded && { fields: { ...fields, recorded } }),
      ...(fields.language === undefined && {
        fallback: { language: 'Undetermined', ...item.fallback },
      }),
    }
  }
}

// The keys of a table are unique only within that table, so each file is a source of its own.
function defaultSource(format: string, file: string): string {
  return format === 'csv' ? `csv ${file}`.slice(0, 100) : format
}
