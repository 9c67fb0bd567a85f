import assert from 'node:assert/strict'
import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { type ImportedTalk, videoDefaults } from '@talkshelf/contract'
import pg from 'pg'
import { type SeededRandom, seededRandom } from '../../server/pictures/seeded-random.ts'
import { exportLines } from './exported-lines.ts'
import { call, type OpenArchive, openArchive, startServer } from './harness.ts'
import { csvOf, exportAll, type ImportClient, importClient } from './import-client.ts'
import { checkInvariants } from './invariants.ts'
import { fillArchive } from './random-archive.ts'
import { openSavedStates, type SavedStates } from './saved-states.ts'

// Random sequences of imports, stops, undos, restarts and manual edits, on an archive that is not
// empty, compared with a simple model after each command. Each sequence has records, names and
// sources of its own.

type Kind = 'speaker' | 'tag' | 'category'
interface Entity {
  name: string
  slug: string
  mergedInto?: Entity
}
type Fields = Record<string, unknown>
/** The values that a source had for a record. */
interface SourceState {
  readonly fields: Fields
  readonly facts: readonly string[]
}

interface Video {
  id: number
  readonly url: string
  /** Fields without names. */
  plain: Fields
  speakers: Entity[]
  tags: Entity[]
  category: Entity
  facts: string[]
  isGone: boolean
  /** All changes of its fields and its facts, in order. */
  readonly changes: Change[]
}

/** A change of a field; the facts count as one. */
interface Change {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
  /** Whether a person made it, and not an import or its undo. */
  readonly isEdit: boolean
}

interface Row {
  readonly key: string
  readonly url: string
  /** The values in the file. */
  readonly fields: Fields
  readonly facts: readonly string[]
  /** Set by the plan, if applying the row does nothing. */
  settled?: 'refused' | 'unchanged'
  /** The record that the plan found unchanged. */
  unchanged?: Video
  take: string[]
  outcome?: string
  video?: Video
  /** The state that an undo restores. */
  before?: {
    sourceBefore: SourceState | undefined
    sourceAfter: SourceState
    fields: Snapshot
    facts: string[]
  }
  /** The fields that it wrote, with `facts` if it wrote those. */
  written: string[]
  /** The number of changes of the record when it was written. */
  changesThen: number
  undone: 'undone' | 'touched' | null
}

interface PlannedImport {
  readonly id: number
  readonly source: string
  readonly rows: readonly Row[]
  state: 'planned' | 'stopped' | 'applied' | 'undone'
}

type Snapshot = Pick<Video, 'plain' | 'speakers' | 'tags' | 'category'>

/** One step; the numbers choose among the options that the step has. */
interface Command {
  readonly name: string
  readonly dice: readonly number[]
}

const weights: readonly [string, number][] = [
  ['import csv', 5],
  ['import v2', 4],
  ['import export', 2],
  ['apply', 3],
  ['apply and stop', 3],
  ['apply and restart', 1],
  ['undo', 5],
  ['undo and restart', 1],
  ['decide', 2],
  ['edit', 6],
  ['attach', 1],
  ['rename', 2],
  ['merge', 1],
  ['take down', 2],
  ['keep an export', 1],
]

function randomCommands(random: SeededRandom): Command[] {
  const names = weights.flatMap(([name, weight]) => Array<string>(weight).fill(name))
  // Both sources have been imported before anything else happens.
  const chosen = ['import csv', 'apply', 'import v2', 'apply']
  while (chosen.length < 14) {
    const name = random.pick(names)
    chosen.push(name)
    // Most plans are applied; some get decisions, or stay open while other commands run.
    if (name.startsWith('import') && random.next() < 0.3) chosen.push('decide')
    if (name.startsWith('import') && random.next() < 0.7)
      chosen.push(random.next() < 0.8 ? 'apply' : 'apply and stop')
  }
  return chosen.map((name) => ({ name, dice: Array.from({ length: 24 }, random.next) }))
}

export interface ModelEnvironment {
  /** Runs one sequence; fails with its commands if the archive differs from the model. */
  run(seed: number, number: number): Promise<void>
  /** Checks the invariants of the database, and restores its first state. */
  finishRound(): Promise<void>
  close(): Promise<void>
}

export interface ModelOptions {
  /** The share of imports that another process starts and is killed at once. */
  readonly kills?: number
}

/** Opens an archive with content for the sequences. */
export async function openModelEnvironment(
  databaseUrl: string,
  options: ModelOptions = {},
): Promise<ModelEnvironment> {
  const environment = { CACHE_MB: '0', RESUME_SECONDS: '1' }
  const states = await openSavedStates(databaseUrl)
  let archive = await openArchive(databaseUrl, environment)
  const database = new pg.Client({ connectionString: databaseUrl })
  database.on('error', () => {})
  await database.connect()
  await fillArchive(archive, seededRandom('model'), { word: 'base', videos: 8 })
  await states.save('base')

  const world: World = {
    archive: () => archive,
    query: async (text, values) => (await database.query(text, values)).rows,
    async restart() {
      // The new server creates its own tokens; the old ones stay valid.
      await archive.close()
      archive = await openArchive(databaseUrl, environment)
    },
    options,
  }
  return {
    async run(seed, number) {
      const commands = randomCommands(seededRandom('model', String(seed), String(number)))
      try {
        await runSequence(world, `s${number}`, commands)
      } catch (error) {
        await states.restore('base')
        const { smallest, cause } = await shrink(world, states, commands, error, number)
        const names = smallest.map(({ name }) => name).join(', ')
        throw new Error(`Sequence ${number} of --seed ${seed} fails: ${names}`, { cause })
      }
    },
    async finishRound() {
      await checkInvariants(databaseUrl)
      await states.restore('base')
    },
    async close() {
      await database.end()
      await archive.close()
      await states.close()
    },
  }
}

interface World {
  archive(): OpenArchive
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  restart(): Promise<void>
  readonly options: ModelOptions
}

/** Removes commands one by one as long as the sequence still fails. */
async function shrink(
  world: World,
  states: SavedStates,
  all: readonly Command[],
  first: unknown,
  number: number,
) {
  let [smallest, cause] = [all, first]
  for (let index = all.length - 1; index >= 0; index--) {
    const fewer = smallest.toSpliced(index, 1)
    try {
      await states.restore('base')
      await runSequence(world, `s${number}x${index}`, fewer)
    } catch (error) {
      ;[smallest, cause] = [fewer, error]
    }
  }
  await states.restore('base')
  return { smallest, cause }
}

async function runSequence(
  world: World,
  name: string,
  commands: readonly Command[],
): Promise<void> {
  const sequence = new Sequence(world, name)
  await sequence.createCategories()
  const done: string[] = []
  for (const command of commands) {
    done.push(command.name)
    try {
      await sequence.do(command)
      await sequence.check()
    } catch (error) {
      throw new Error(`${sequence.log.join('\n')}\nafter ${done.join(', ')}`, { cause: error })
    }
  }
}

const nameFields = { speakers: 'speaker', tags: 'tag', category: 'category' } as const
const isNameField = (field: string): field is keyof typeof nameFields => field in nameFields
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
const unique = <T>(all: readonly T[]) => [...new Set(all)]

const unapplied = () => ({ take: [], written: [], changesThen: 0, undone: null })

class Sequence {
  readonly log: string[] = []
  private readonly world: World
  private readonly name: string
  private readonly names: Record<Kind, Map<string, Entity>> = {
    speaker: new Map(),
    tag: new Map(),
    category: new Map(),
  }
  private readonly videos: Video[] = []
  private readonly imports: PlannedImport[] = []
  /** The last state of each source record, by source and key. */
  private readonly sources = new Map<string, { state: SourceState; video: Video }>()
  private exported: string | undefined
  private counter = 0
  private dice: number[] = []

  constructor(world: World, name: string) {
    this.world = world
    this.name = name
  }

  private get client(): ImportClient {
    const archive = this.world.archive()
    return importClient(archive, archive.admin)
  }

  private roll(): number {
    return this.dice.shift() ?? 0.5
  }

  private pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.roll() * from.length)]
  }

  async createCategories(): Promise<void> {
    for (const word of ['Days', 'Nights']) {
      const title = `${this.name} ${word}`
      const { json } = await this.client.send('POST', 'category', { title })
      this.names.category.set(title, { name: title, slug: json.slug })
    }
  }

  async do({ name, dice }: Command): Promise<void> {
    this.dice = [...dice]
    const [verb = '', ...rest] = name.split(' ')
    const detail = rest.join(' ')
    if (verb === 'import') return this.plan(detail)
    if (verb === 'apply') return this.apply(detail)
    if (verb === 'undo') return this.undo(detail)
    if (verb === 'decide') return this.decide()
    if (verb === 'edit') return this.edit()
    if (verb === 'attach') return this.attach()
    if (verb === 'rename') return this.rename()
    if (verb === 'merge') return this.merge()
    if (verb === 'take') return this.takeDown()
    this.exported = await exportAll(this.world.archive().databaseUrl)
  }

  // --- Random values

  private randomNames(kind: Kind, limit: number): string[] {
    const words = ['Ann', 'Bob', 'Cy'].map((word) => `${word} ${kind} ${this.name}`)
    // Includes current and former names of renamed entities.
    const all = unique([...words, ...this.names[kind].keys()])
    return unique(
      Array.from({ length: 1 + Math.floor(this.roll() * limit) }, () => this.pick(all) as string),
    )
  }

  /** Returns random values. The title contains the key, so that no two records are duplicates. */
  private randomFields(key: string): Fields {
    return {
      title: `${this.name} ${key} ${this.pick(['One', 'Two', 'Three'])}`,
      summary: this.pick(['Red', 'Green', 'Blue']),
      duration: this.pick([10, 20, 30]),
      quality_notes: this.pick(['loud', 'quiet']),
      speakers: this.randomNames('speaker', 2),
      tags: this.randomNames('tag', 2),
      category: this.pick([...this.names.category.keys()]),
    }
  }

  private async plan(format: string): Promise<void> {
    if (format === 'export') return this.planExport()
    const source = `${this.name} ${format}`
    const keys = ['a', 'b', 'c'].filter(() => this.roll() < 0.7)
    if (keys.length === 0) keys.push('a')
    const rows = keys.map((key): Row => {
      // Both sources have the talk with the key a.
      const talk = key === 'a' ? key : `${format}/${key}`
      const url = `https://media.example.org/${this.name}/${talk}`
      const facts = this.roll() < 0.3 ? [`https://slides.example.org/${this.pick([1, 2, 3])}`] : []
      const dice = this.dice
      this.dice = dice.slice(Math.floor(dice.length / 2)).concat(dice)
      return {
        key: format === 'csv' ? key : this.uniqueId(key),
        url,
        fields: this.randomFields(talk),
        facts,
        ...unapplied(),
      }
    })
    const records = rows.map(({ key, url, fields, facts }) => ({
      key,
      ...fields,
      source_url: url,
      related: facts,
    }))
    const text =
      format === 'csv'
        ? csvOf(records.map(({ related, ...talk }) => ({ ...talk, related: related[0] ?? '' })))
        : records
            .map(({ key, related, ...talk }) =>
              JSON.stringify({
                id: Number(key),
                ...talk,
                ...(related.length > 0 && { related_urls: related }),
              }),
            )
            .join('\n')
    const { id } = await this.client.plan({
      text,
      format: format as 'csv' | 'v2',
      source,
      language: 'en',
    })
    this.addPlan({ id, source, rows, state: 'planned' })
    this.log.push(`import ${id} of ${source}: ${text}`)
  }

  /** Returns an id that no other sequence uses. */
  private uniqueId(key: string): string {
    const own = Number.parseInt(this.name.replaceAll(/\D/g, ''), 10) % 1_000_000
    return String(100_000 + own * 10 + key.charCodeAt(0) - 96)
  }

  /** Imports the records of this sequence from an export, either a new one or the saved one. */
  private async planExport(): Promise<void> {
    const exported = this.exported ?? (await exportAll(this.world.archive().databaseUrl))
    const ids = this.videos.map(({ id }) => id)
    const lines = exportLines(exported).filter(
      ({ kind, record }) => kind !== 'video' || ids.includes((record as Video).id),
    )
    const records = lines.filter(({ kind }) => kind === 'video')
    if (records.length === 0) return
    const head = { kind: 'talkshelf', version: 1, at: '2026-01-01T00:00:00.000' }
    const text = [head, ...lines, { kind: 'end', videos: records.length }]
      .map((line) => JSON.stringify(line))
      .join('\n')
    const source = `${this.name} export`
    const { id } = await this.client.plan({ text, format: 'v2', source })
    const rows = records.map((line): Row => {
      const {
        id: number,
        slug,
        added: _added,
        updated: _updated,
        source_url: url,
        ...fields
      } = line.record as Fields
      const facts = ((line.facts ?? []) as { url: string }[]).map((fact) => fact.url)
      return {
        key: `${number} ${slug}`,
        url: String(url),
        fields: { ...fields, source_url: url },
        facts,
        ...unapplied(),
      }
    })
    this.addPlan({ id, source, rows, state: 'planned' })
    this.log.push(`import ${id} of ${source}: ${records.length} records`)
  }

  private addPlan(plan: PlannedImport): void {
    for (const row of plan.rows) {
      const found = this.match(plan.source, row)
      if (found === 'refused' || found?.isGone) row.settled = 'refused'
      else if (found) {
        const { sourceBefore, sourceAfter } = this.merged(plan.source, row, found)
        if (sourceBefore && isDeepStrictEqual(sourceAfter, sourceBefore))
          [row.settled, row.unchanged] = ['unchanged', found]
      }
    }
    this.imports.push(plan)
  }

  // --- Rules of the import

  /** Finds the record that a row updates; undefined if the row creates one. */
  private match(source: string, { key, url }: Row): Video | 'refused' | undefined {
    const before = this.sources.get(`${source}\n${key}`)
    if (before) return before.video
    const isExport = source.endsWith(' export')
    if (isExport) {
      const own = this.videos.find(({ id }) => id === Number(key.split(' ')[0]))
      if (own) return own
    }
    const sameUrl = this.videos.filter((video) => video.url === url)
    if (sameUrl.some(({ isGone }) => isGone)) return 'refused'
    const isTaken = (candidate: Video) =>
      [...this.sources].some(
        ([sourceKey, { video }]) =>
          video === candidate &&
          sourceKey.startsWith(`${source}\n`) &&
          sourceKey !== `${source}\n${key}`,
      )
    return sameUrl.find((video) => !isTaken(video))
  }

  /** Replaces former names by current ones. */
  private withCurrentNames(field: string, value: unknown): unknown {
    if (!isNameField(field)) return value
    const currentName = (name: unknown) =>
      this.entity(nameFields[field], String(name))?.name ?? name
    return Array.isArray(value) ? unique(value.map(currentName)) : currentName(value)
  }

  private entity(kind: Kind, name: string): Entity | undefined {
    const entity = this.names[kind].get(name)
    return entity && current(entity)
  }

  private fieldsOf(video: Video): Fields {
    const names = (all: readonly Entity[]) => unique(all.map(current)).map(({ name }) => name)
    return {
      ...video.plain,
      speakers: names(video.speakers),
      tags: names(video.tags),
      category: current(video.category).name,
      source_url: video.url,
    }
  }

  /** Merges three sides: the source now, the source at its last import, and the record. */
  private merged(source: string, row: Row, video: Video) {
    const sourceBefore = this.sources.get(`${source}\n${row.key}`)?.state
    const given = {
      source_url: row.url,
      ...(source.endsWith(' export') ? {} : { language: 'English' }),
      ...row.fields,
    }
    const state = sourceBefore?.fields.state === undefined ? {} : { state: 1 }
    const theirs: Fields = { ...state }
    for (const [field, value] of Object.entries(given))
      theirs[field] = this.withCurrentNames(field, value)
    const mine: Fields = { language: 'English', ...this.fieldsOf(video) }
    const patch: Fields = {}
    let hasConflicts = false
    for (const [field, value] of Object.entries(theirs)) {
      if (!(field in mine) || same(mine[field], value)) continue
      const before = sourceBefore?.fields[field]
      const then = before === undefined ? undefined : this.withCurrentNames(field, before)
      const isEmpty =
        mine[field] === null ||
        mine[field] === '' ||
        same(mine[field], videoDefaults[field as 'summary'])
      let verdict = isEmpty ? 'theirs' : 'conflict'
      if (then !== undefined && same(then, value)) verdict = 'mine'
      else if (then !== undefined && same(then, mine[field])) verdict = 'theirs'
      const isEdit = video.changes.some(
        (change) => change.isEdit && change.field === field && same(change.after, mine[field]),
      )
      if (verdict === 'conflict' && !isEdit && source.endsWith(' csv')) verdict = 'theirs'
      if (verdict === 'conflict') hasConflicts = true
      if (verdict === 'theirs' || row.take.includes(field)) patch[field] = value
    }
    const then = sourceBefore?.facts ?? []
    const kept = video.facts.filter((fact) => !then.includes(fact) || row.facts.includes(fact))
    const facts = unique([...kept, ...row.facts.filter((fact) => !then.includes(fact))])
    return {
      patch,
      hasConflicts,
      facts,
      sourceBefore,
      sourceAfter: { fields: theirs, facts: row.facts } satisfies SourceState,
    }
  }

  private entities(kind: Kind, names: readonly string[]): Entity[] {
    return names.map((name) => {
      const found = this.entity(kind, name)
      if (found) return found
      const created = { name, slug: '' }
      this.names[kind].set(name, created)
      return created
    })
  }

  /** Writes fields of a record of the model. */
  private write(video: Video, patch: Fields): void {
    for (const [field, value] of Object.entries(patch))
      if (field === 'speakers' || field === 'tags')
        video[field] = this.entities(nameFields[field], value as string[])
      else if (field === 'category')
        [video.category = video.category] = this.entities('category', [value as string])
      else if (field !== 'source_url') video.plain = { ...video.plain, [field]: value }
  }

  /** Applies a row to the model. Returns the outcome that the service must report. */
  private applyRow({ source }: PlannedImport, row: Row, { video: id }: ImportedTalk): string {
    // A row of a record that was taken down since the plan is refused, even if it has no changes.
    if (row.settled) return row.unchanged?.isGone ? 'refused' : row.settled
    const found = this.match(source, row)
    if (found === 'refused' || found?.isGone) return 'refused'
    const key = `${source}\n${row.key}`
    if (!found) {
      const fields = { language: 'English', ...row.fields, source_url: row.url }
      const theirs: Fields = { state: 1 }
      for (const [field, value] of Object.entries(fields))
        theirs[field] = this.withCurrentNames(field, value)
      const [category] = this.entities('category', [String(theirs.category)])
      const {
        speakers,
        tags,
        category: _category,
        source_url: _url,
        language: _language,
        ...plain
      } = theirs
      const video: Video = {
        id: id as number,
        url: row.url,
        plain,
        speakers: this.entities('speaker', speakers as string[]),
        tags: this.entities('tag', tags as string[]),
        category: category as Entity,
        facts: unique(row.facts),
        isGone: false,
        changes: [],
      }
      this.videos.push(video)
      row.video = video
      const state = { fields: theirs, facts: row.facts }
      row.before = {
        sourceBefore: undefined,
        sourceAfter: state,
        fields: snapshotOf(video),
        facts: [],
      }
      row.written = [
        ...Object.keys(this.fieldsOf(video)),
        ...(row.facts.length > 0 ? ['facts'] : []),
      ]
      this.sources.set(key, { state, video })
      return 'created'
    }
    row.video = found
    const { patch, hasConflicts, facts, sourceBefore, sourceAfter } = this.merged(
      source,
      row,
      found,
    )
    row.written = [...Object.keys(patch), ...(same(facts, found.facts) ? [] : ['facts'])]
    const isChanged = row.written.length > 0
    if (isChanged || !isDeepStrictEqual(sourceAfter, sourceBefore))
      row.before = { sourceBefore, sourceAfter, fields: snapshotOf(found), facts: found.facts }
    this.recordChanges('import', () => {
      this.write(found, patch)
      found.facts = facts
    })
    row.changesThen = found.changes.length
    this.sources.set(key, { state: sourceAfter, video: found })
    if (isChanged) return 'changed'
    return hasConflicts ? 'kept' : 'unchanged'
  }

  // --- Imports

  private pickImport(...states: PlannedImport['state'][]): PlannedImport | undefined {
    return this.pick(this.imports.filter(({ state }) => states.includes(state)))
  }

  private async apply(how: string): Promise<void> {
    const plan = this.pickImport('planned', 'stopped')
    if (!plan) return
    this.log.push(`apply ${plan.id} ${how}`)
    await this.start(`import/${plan.id}/apply`)
    if (how === 'and restart') await this.world.restart()
    if (how === 'and stop') {
      const archive = this.world.archive()
      const { status, text } = await archive.call('POST', `/api/v2/import/${plan.id}/stop`, {
        token: archive.admin,
      })
      assert.ok(status === 200 || status === 409, text)
    }
    const { state } = await this.client.until(
      plan.id,
      'applied',
      ...(how === 'and stop' ? (['stopped'] as const) : []),
    )
    plan.state = state as 'applied' | 'stopped'
    await this.applyRows(plan, await this.rowsOf(plan))
  }

  /** Returns the rows of talks. Entities are before them, and have rows only if refused. */
  private async rowsOf({ id, rows }: PlannedImport): Promise<ImportedTalk[]> {
    return (await this.client.rows(id)).slice(-rows.length)
  }

  /** Starts an import or an undo, sometimes in another process that is killed at once. */
  private async start(path: string): Promise<void> {
    const { kills = 0 } = this.world.options
    if (this.roll() >= kills) {
      await this.client.send('POST', path)
      return
    }
    const { databaseUrl, admin } = this.world.archive()
    const server = await startServer({ DATABASE_URL: databaseUrl, RESUME_SECONDS: '1' })
    const reply = await call(server.url, 'POST', `/api/v2/${path}`, { token: admin })
    const exited = once(server.process, 'exit')
    server.process.kill('SIGKILL')
    await exited
    assert.equal(reply.status, 200, reply.text)
    this.log.push('killed')
  }

  /** Applies the rows to the model, and compares the outcomes. */
  private async applyRows(
    plan: PlannedImport,
    importedRows: readonly ImportedTalk[],
  ): Promise<void> {
    assert.equal(importedRows.length, plan.rows.length, JSON.stringify(importedRows))
    for (const [index, row] of plan.rows.entries()) {
      const imported = importedRows[index] as ImportedTalk
      if (row.outcome !== undefined || imported.outcome === null) continue
      row.outcome = this.applyRow(plan, row, imported)
      assert.equal(
        imported.outcome,
        row.outcome,
        `row ${JSON.stringify(row.key)} of import ${plan.id}: ${JSON.stringify(imported)}`,
      )
      if (row.video && imported.outcome !== 'refused')
        assert.equal(imported.video, row.video.id, `row ${row.key} is another record`)
    }
  }

  private async undo(how: string): Promise<void> {
    const plan = this.pick(
      this.imports.filter(
        ({ state, rows }) =>
          ['applied', 'stopped'].includes(state) ||
          (state === 'undone' && rows.some(({ undone }) => undone === 'touched')),
      ),
    )
    if (!plan) return
    this.log.push(`undo ${plan.id} ${how}`)
    await this.start(`import/${plan.id}/undo`)
    if (how === 'and restart') await this.world.restart()
    await this.client.until(plan.id, 'undone')
    plan.state = 'undone'
    const importedRows = await this.rowsOf(plan)
    for (const [index, row] of plan.rows.entries()) {
      if (row.undone !== 'undone') row.undone = this.undoRow(plan, row)
      assert.equal(
        importedRows[index]?.undone,
        row.undone,
        `row ${row.key} of import ${plan.id}: ${JSON.stringify(importedRows[index])}`,
      )
    }
  }

  private undoRow({ source }: PlannedImport, row: Row): Row['undone'] {
    const { video, before, outcome, written } = row
    if (!video || !before) return null
    const key = `${source}\n${row.key}`
    const now = this.sources.get(key)
    if (outcome !== 'created' && outcome !== 'changed') {
      if (now && isDeepStrictEqual(now.state, before.sourceAfter))
        this.setSource(key, before.sourceBefore, video)
      delete row.before
      return null
    }
    if (video.isGone || this.hasChangedSince(row, video)) return 'touched'
    if (outcome === 'created') {
      this.recordChanges('import', () => this.write(video, { state: 2 }))
      if (now) now.state = { ...now.state, fields: { ...now.state.fields, state: 2 } }
      return 'undone'
    }
    const { plain, ...names } = before.fields
    this.recordChanges('import', () => {
      for (const field of written)
        if (field === 'facts') video.facts = before.facts
        else if (isNameField(field)) Object.assign(video, { [field]: names[field] })
        else video.plain = { ...video.plain, [field]: plain[field] }
    })
    this.setSource(key, revertedSource(now?.state, before), video)
    return 'undone'
  }

  /** Returns whether a field that the row wrote was edited since, or has another value. */
  private hasChangedSince({ written, changesThen }: Row, video: Video): boolean {
    const later = video.changes
      .slice(changesThen)
      .filter(({ field }) =>
        field === 'facts'
          ? written.includes('facts')
          : written.includes('state') || written.includes(field),
      )
    return later.some(({ field, isEdit }) => {
      const first = later.find((change) => change.field === field)
      const last = later.findLast((change) => change.field === field)
      return isEdit || !same(first?.before, last?.after)
    })
  }

  private setSource(key: string, state: SourceState | undefined, video: Video): void {
    if (state) this.sources.set(key, { state, video })
    else this.sources.delete(key)
  }

  private async decide(): Promise<void> {
    const plan = this.pickImport('planned')
    if (!plan) return
    const rows = await this.rowsOf(plan)
    const conflicts = rows.flatMap((row, index) =>
      row.verdict === 'conflict' ? [{ row, index }] : [],
    )
    const chosen = this.pick(conflicts)
    if (!chosen) return
    const take = Object.keys(chosen.row.changes).filter(
      (field) => field !== 'facts' && this.roll() < 0.6,
    )
    await this.client.send('PUT', `import/${plan.id}/talk/${chosen.row.position}`, { take })
    const row = plan.rows[chosen.index] as Row
    row.take = take
    this.log.push(`decide ${plan.id} ${row.key}: ${take}`)
  }

  // --- Manual edits

  private pickVideo(): Video | undefined {
    return this.pick(this.videos.filter(({ isGone }) => !isGone))
  }

  private async edit(): Promise<void> {
    const video = this.pickVideo()
    if (!video) return
    const all: Fields = {
      ...this.randomFields(`by hand ${video.id}`),
      state: 1 + Math.floor(this.roll() * 2),
    }
    if (this.roll() < 0.2) all.summary = ''
    const fields = Object.fromEntries(Object.entries(all).filter(() => this.roll() < 0.35))
    await this.client.send('PATCH', `video/${video.id}`, fields)
    this.recordChanges('person', () => this.write(video, fields))
    this.log.push(`edit ${video.id}: ${JSON.stringify(fields)}`)
  }

  private async attach(): Promise<void> {
    const video = this.pickVideo()
    if (!video) return
    this.recordChanges('person', () => {
      video.facts = unique([
        ...video.facts.filter(() => this.roll() < 0.7),
        'https://slides.example.org/by-hand',
      ])
    })
    const facts = video.facts.map((url) => ({ kind: 'related', url, label: null }))
    await this.client.send('PUT', `video/${video.id}/facts`, { facts })
    this.log.push(`attach ${video.id}: ${video.facts}`)
  }

  /** Picks an entity that is in the archive, with its current slug. */
  private async pickEntity(kind: Kind, not?: Entity): Promise<Entity | undefined> {
    const used = this.videos.flatMap(
      ({ speakers, tags, category }) =>
        ({ speaker: speakers, tag: tags, category: [category] })[kind],
    )
    const entity = this.pick(unique(used.map(current)).filter((entity) => entity !== not))
    if (!entity) return undefined
    const [row] = await this.world.query(
      `select slug
       from ${kind}
       where ${kind === 'category' ? 'title' : 'name'} = $1 and merged_into is null`,
      [entity.name],
    )
    assert.ok(row, `there is no ${kind} ${entity.name}`)
    entity.slug = String(row.slug)
    return entity
  }

  private async rename(): Promise<void> {
    const kind = this.pick(['speaker', 'tag', 'category'] as const) as Kind
    const entity = await this.pickEntity(kind)
    if (!entity) return
    const name = `${kind} ${++this.counter} ${this.name}`
    await this.client.send('PATCH', `${kind}/${entity.slug}`, {
      [kind === 'category' ? 'title' : 'name']: name,
    })
    this.log.push(`rename ${kind} ${entity.name} to ${name}`)
    this.recordChanges('person', () => {
      entity.name = name
    })
    this.names[kind].set(name, entity)
  }

  private async merge(): Promise<void> {
    const kind = this.pick(['speaker', 'tag', 'category'] as const) as Kind
    const entity = await this.pickEntity(kind)
    const into = entity && (await this.pickEntity(kind, entity))
    if (!entity || !into) return
    await this.client.send('POST', `${kind}/${entity.slug}/merge`, { into: into.slug })
    this.log.push(`merge ${kind} ${entity.name} into ${into.name}`)
    this.recordChanges('person', () => {
      entity.mergedInto = into
    })
  }

  /** Runs what a person or an import does, and records the changes of all records. */
  private recordChanges(by: 'person' | 'import', change: () => void): void {
    const valuesOf = (video: Video): Fields => ({ ...this.fieldsOf(video), facts: video.facts })
    const before = new Map(this.videos.map((video) => [video, valuesOf(video)]))
    change()
    for (const [video, fields] of before)
      for (const [field, value] of Object.entries(valuesOf(video)))
        if (!same(fields[field], value))
          video.changes.push({
            field,
            before: fields[field],
            after: value,
            isEdit: by === 'person',
          })
  }

  private async takeDown(): Promise<void> {
    const video = this.pickVideo()
    if (!video) return
    await this.client.send('POST', `video/${video.id}/takedown`, { reason: 'Requested' })
    video.isGone = true
    this.log.push(`take down ${video.id}`)
  }

  /** Asserts that the archive has exactly the records of the model. */
  async check(): Promise<void> {
    const gone = this.videos.filter(({ isGone }) => isGone).map(({ id }) => id)
    const texts = await this.world.query(
      `select import_id, position from import_row
       where video_id = any ($1) and (item is not null or changes <> '{}')`,
      [gone],
    )
    assert.deepEqual(texts, [], 'rows with data of a record that was taken down')
    const rows = await this.world.query(
      `select v.id, b.body, v.taken_down is not null as gone, f.facts
       from video v join video_body b using (id) left join video_facts f using (id)
       where v.source_url like $1 order by v.id`,
      [`https://media.example.org/${this.name}/%`],
    )
    assert.deepEqual(
      rows.map(({ id }) => Number(id)),
      this.videos.map(({ id }) => id).sort((a, b) => a - b),
      'records that differ from the model',
    )
    for (const { id, body, gone, facts } of rows) {
      const video = this.videos.find((candidate) => candidate.id === Number(id)) as Video
      assert.equal(gone, video.isGone)
      if (gone) continue
      const expected = this.fieldsOf(video)
      const record = JSON.parse(String(body))
      assert.deepEqual(
        Object.fromEntries(Object.keys(expected).map((field) => [field, record[field]])),
        expected,
        `record ${id}`,
      )
      const urls = ((facts ?? []) as { url: string }[]).map(({ url }) => url)
      assert.deepEqual(urls, video.facts, `facts of record ${id}`)
    }
  }
}

const snapshotOf = ({ plain, speakers, tags, category }: Video): Snapshot => ({
  plain,
  speakers,
  tags,
  category,
})

/** Reverts what a row changed in the state of its source, and keeps what was replaced since. */
function revertedSource(
  now: SourceState | undefined,
  { sourceBefore, sourceAfter }: NonNullable<Row['before']>,
): SourceState | undefined {
  if (!now || isDeepStrictEqual(now, sourceAfter)) return sourceBefore
  const fields: Fields = { ...now.fields }
  for (const field of unique([...Object.keys(sourceAfter.fields), ...Object.keys(fields)])) {
    const before = sourceBefore?.fields[field]
    if (same(before, sourceAfter.fields[field])) continue
    if (!same(fields[field], sourceAfter.fields[field])) continue
    if (before === undefined) delete fields[field]
    else fields[field] = before
  }
  const hasSameFacts = same(now.facts, sourceAfter.facts)
  return { fields, facts: hasSameFacts ? (sourceBefore?.facts ?? []) : now.facts }
}

/** Follows merges to the current entity. */
function current(entity: Entity): Entity {
  return entity.mergedInto ? current(entity.mergedInto) : entity
}
