import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Fact, Import, Role, Video, VideoInput } from '@talkshelf/contract'
import pg from 'pg'
import type { WriteContext } from '../../server/changes/changes.ts'
import { createCategory } from '../../server/entities/entities.ts'
import { replaceFacts } from '../../server/facts/facts.ts'
import { planImport } from '../../server/imports/engine/plan.ts'
import { type ImportRow, insertImport } from '../../server/imports/engine/queries.ts'
import {
  applyImport,
  nextImportBatch,
  redoImport,
  undoImport,
} from '../../server/imports/imports.ts'
import type { ImportItem, OriginalRecord, ParsedItem } from '../../server/imports/item.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import {
  changeVideo,
  createVideo,
  findBodiesById,
  takeDownVideo,
} from '../../server/videos/videos.ts'
import { freshDatabase } from './database.ts'
import { category } from './harness.ts'
import type { Query } from './invariants.ts'
import { context } from './writer.ts'

// Imports without a server and without a file: tests plan parsed items, and run the batches one by
// one.

/** The origin of manual edits. */
const byHand: WriteContext = { ...context, origin: { ...context.origin, via: 'api' } }

/** Creates an item as a format parses it. */
export function importItem(fields: object, more: Partial<ImportItem> = {}): ImportItem {
  const defaults = { title: 'A talk', category, language: 'English', speakers: [] }
  return { place: 'row 1', fields: { ...defaults, ...fields }, facts: [], notes: [], ...more }
}

/** Creates the values that an archive assigned to a record, as in an export. */
export const kept = (slug: string, more: Partial<OriginalRecord> = {}): OriginalRecord => ({
  slug,
  added: '2026-01-01T00:00:00.000',
  updated: '2026-01-02T00:00:00.000',
  revision: 3,
  ...more,
})

/** Creates a fact with a link to slides. */
export const related = (word: string): Fact => ({
  kind: 'related',
  url: `https://slides.example.org/${word}`,
  label: null,
})

export interface InProcessPlanOptions {
  readonly source: string
  readonly role?: Role
  /** New records are drafts. */
  readonly draft?: boolean
  /** How many rows the first batch has. */
  readonly batchSize?: number
}

/** An import row as it is in the database. */
export type ImportedRow = ImportRow & { readonly facts_revision: number | null }

/** Opens a database for imports. To be called once, at the top of a test file. */
export async function startImports() {
  const { url } = await freshDatabase()
  const pool = openPool({ url, connections: 4, applicationName: 'tests', times: timeoutsFor(30) })
  after(() => pool.close())
  await createCategory(pool, { title: category }, context)
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  after(() => client.end())
  const sql: Query = async (text, values) => (await client.query(text, values)).rows

  async function planned(
    items: readonly ParsedItem[],
    options: InProcessPlanOptions,
  ): Promise<number> {
    const { source, role = 'admin', draft: isDraft = false, batchSize = 100 } = options
    const job = await insertImport(pool, {
      name: 'test',
      format: 'v2',
      source,
      options: { state: isDraft ? 2 : 1 },
      actor: 'Edith',
      token_id: null,
      person_id: null,
      via: 'import',
      request_id: 'test',
    })
    const input = (async function* () {
      for (const [index, item] of items.entries())
        yield 'place' in item ? { ...item, place: `line ${index + 1}` } : item
    })()
    await planImport(pool, job, input, { role, progress: () => {} })
    await sql('update import set batch_size = $1 where id = $2', [batchSize, job.id])
    return job.id
  }

  /** Runs batches until none is left. Returns the ids of the records that changed, in order. */
  async function run(): Promise<number[]> {
    const changed: number[] = []
    for (let batches = 0; batches < 30; batches++) {
      const ids = await nextImportBatch(pool, (error) => {
        throw error
      })
      if (!ids) return changed
      changed.push(...ids)
    }
    return assert.fail('The import does not end')
  }

  async function apply(id: number): Promise<number[]> {
    await applyImport(pool, id, 'admin')
    return run()
  }

  async function undo(id: number): Promise<number[]> {
    await undoImport(pool, id)
    return run()
  }

  async function redo(id: number): Promise<number[]> {
    await redoImport(pool, id, 'admin')
    return run()
  }

  /** Reads the rows without the warnings of the plan, which tests/api/import-plan.test.ts covers. */
  const rows = async (id: number): Promise<ImportedRow[]> => {
    const all = (await sql(
      `select position, place, key, item, verdict, video_id::int, changes, notes, decision,
              outcome, revision, facts_revision, before, undone
       from import_row where import_id = $1 order by position`,
      [id],
    )) as unknown as ImportedRow[]
    return all.map((row) => ({
      ...row,
      notes: row.notes.filter(({ kind }) => kind !== 'warning'),
    }))
  }

  const record = async (id: number): Promise<Video> =>
    JSON.parse((await findBodiesById(pool, [id])).get(id)?.body as string)

  return {
    url,
    pool,
    sql,
    planned,
    run,
    apply,
    undo,
    redo,
    rows,
    record,
    async state(id: number): Promise<Import['state']> {
      const [row] = await sql('select state from import where id = $1', [id])
      return row?.state as unknown as Import['state']
    },
    /** Plans and applies items; returns their rows. */
    async imported(items: readonly ParsedItem[], options: InProcessPlanOptions) {
      const id = await planned(items, options)
      const changed = await apply(id)
      return { id, changed, rows: await rows(id) }
    },
    async facts(id: number): Promise<Fact[]> {
      const [row] = await sql('select facts from video_facts where id = $1', [id])
      return (row?.facts ?? []) as unknown as Fact[]
    },
    async sourceState(source: string, key: string) {
      const [row] = await sql('select state from source_record where source = $1 and key = $2', [
        source,
        key,
      ])
      return row?.state as unknown as { fields: Record<string, unknown> } | undefined
    },
    /** Creates a live record without an import. */
    async make(fields: Partial<Video> = {}): Promise<number> {
      const input = { title: 'A talk', category, language: 'English', state: 1, ...fields }
      return (await createVideo(pool, input as VideoInput, context, undefined)).id
    },
    edit: (id: number, fields: Partial<Video>) =>
      changeVideo(pool, id, byHand, (before) => ({ ...before, ...fields })),
    takeDown: (id: number) => takeDownVideo(pool, id, 'asked for', context),
    attach: (id: number, ...all: Fact[]) => replaceFacts(pool, id, all, byHand),
  }
}
