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
  into?: Entity
}
type Fields = Record<string, unknown>
interface Said {
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
}

interface Row {
  readonly key: string
  readonly url: string
  /** As the file says it. */
  readonly fields: Fields
  readonly facts: readonly string[]
  /** Set when the plan was made: nothing more happens at this row. */
  settled?: 'refused' | 'unchanged'
  /** The record that the plan found unchanged. */
  unchanged?: Video
  take: string[]
  outcome?: string
  video?: Video
  /** What an undo puts back. */
  before?: {
    said: Said | undefined
    says: Said
    fields: Snapshot | undefined
    facts: string[] | undefined
  }
  revision?: number
  factsRevision?: number | null
}

interface PlannedImport {
  readonly id: number
  readonly source: string
  readonly rows: readonly Row[]
  state: 'planned' | 'stopped' | 'applied' | 'undone'
}

type Snapshot = Pick<Video, 'plain' | 'speakers' | 'tags' | 'category'>

/** One step; the numbers choose among the possibilities at that moment. */
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

function commandsOf(chance: SeededRandom): Command[] {
  const names = weights.flatMap(([name, weight]) => Array<string>(weight).fill(name))
  // Both sources have said something before anything else happens.
  const chosen = ['import csv', 'apply', 'import v2', 'apply']
  while (chosen.length < 14) {
    const name = chance.pick(names)
    chosen.push(name)
    // A plan that stays one says little; some are decided or lie there while others work.
    if (name.startsWith('import') && chance.next() < 0.3) chosen.push('decide')
    if (name.startsWith('import') && chance.next() < 0.7)
      chosen.push(chance.next() < 0.8 ? 'apply' : 'apply and stop')
  }
  return chosen.map((name) => ({ name, dice: Array.from({ length: 24 }, chance.next) }))
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
      // The new process has tokens of its own; those of before stay valid.
      await archive.close()
      archive = await openArchive(databaseUrl, environment)
    },
    options,
  }
  return {
    async run(seed, number) {
      const commands = commandsOf(seededRandom('model', String(seed), String(number)))
      try {
        await runSequence(world, `s${number}`, commands)
      } catch (error) {
        await states.restore('base')
        const { smallest, cause } = await shrunk(world, states, commands, error, number)
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
async function shrunk(
  world: World,
  states: SavedStates,
  all: readonly Command[],
  first: unknown,
  number: number,
) {
  let [smallest, cause] = [all, first]
  for (let at = all.length - 1; at >= 0; at--) {
    const fewer = smallest.toSpliced(at, 1)
    try {
      await states.restore('base')
      await runSequence(world, `s${number}x${at}`, fewer)
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
  await sequence.begin()
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
  /** What each source said last, by source and key. */
  private readonly said = new Map<string, { said: Said; video: Video }>()
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

  async begin(): Promise<void> {
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

  // --- What is said

  private someNames(kind: Kind, limit: number): string[] {
    const words = ['Ann', 'Bob', 'Cy'].map((word) => `${word} ${kind} ${this.name}`)
    // Also names that were given later, and names of before.
    const all = unique([...words, ...this.names[kind].keys()])
    return unique(
      Array.from({ length: 1 + Math.floor(this.roll() * limit) }, () => this.pick(all) as string),
    )
  }

  /** New values for some fields. The title has the key in it: no two records are alike. */
  private someFields(key: string): Fields {
    return {
      title: `${this.name} ${key} ${this.pick(['One', 'Two', 'Three'])}`,
      summary: this.pick(['Red', 'Green', 'Blue']),
      duration: this.pick([10, 20, 30]),
      quality_notes: this.pick(['loud', 'quiet']),
      speakers: this.someNames('speaker', 2),
      tags: this.someNames('tag', 2),
      category: this.pick([...this.names.category.keys()]),
    }
  }

  private async plan(format: string): Promise<void> {
    if (format === 'export') return this.planExport()
    const source = `${this.name} ${format}`
    const keys = ['a', 'b', 'c'].filter(() => this.roll() < 0.7)
    if (keys.length === 0) keys.push('a')
    const rows = keys.map((key): Row => {
      // One of the talks is that of the other source as well.
      const talk = key === 'a' ? key : `${format}/${key}`
      const url = `https://media.example.org/${this.name}/${talk}`
      const facts = this.roll() < 0.3 ? [`https://slides.example.org/${this.pick([1, 2, 3])}`] : []
      const dice = this.dice
      this.dice = dice.slice(Math.floor(dice.length / 2)).concat(dice)
      return {
        key: format === 'csv' ? key : this.numberOf(key),
        url,
        fields: this.someFields(talk),
        facts,
        take: [],
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
    this.planned({ id, source, rows, state: 'planned' })
    this.log.push(`import ${id} of ${source}: ${text}`)
  }

  /** Numbers that no other sequence has. */
  private numberOf(key: string): string {
    const own = Number.parseInt(this.name.replaceAll(/\D/g, ''), 10) % 1_000_000
    return String(100_000 + own * 10 + key.charCodeAt(0) - 96)
  }

  /** The records of this sequence out of an export, of now or of a moment before. */
  private async planExport(): Promise<void> {
    const whole = this.exported ?? (await exportAll(this.world.archive().databaseUrl))
    const ids = this.videos.map(({ id }) => id)
    const lines = exportLines(whole).filter(
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
        take: [],
      }
    })
    this.planned({ id, source, rows, state: 'planned' })
    this.log.push(`import ${id} of ${source}: ${records.length} records`)
  }

  private planned(it: PlannedImport): void {
    for (const row of it.rows) {
      const found = this.match(it.source, row)
      if (found === 'refused' || found?.isGone) row.settled = 'refused'
      else if (found) {
        const { says, said } = this.merged(it.source, row, found)
        if (said && isDeepStrictEqual(says, said))
          [row.settled, row.unchanged] = ['unchanged', found]
      }
    }
    this.imports.push(it)
  }

  // --- The rules

  /** The record that a row is about; none where it is a new one. */
  private match(source: string, { key, url }: Row): Video | 'refused' | undefined {
    const before = this.said.get(`${source}\n${key}`)
    if (before) return before.video
    const isExport = source.endsWith(' export')
    if (isExport) {
      const own = this.videos.find(({ id }) => id === Number(key.split(' ')[0]))
      if (own) return own
    }
    const alike = this.videos.filter((video) => video.url === url)
    if (alike.some(({ isGone }) => isGone)) return 'refused'
    const isHeld = (video: Video) =>
      [...this.said].some(
        ([held, it]) =>
          it.video === video && held.startsWith(`${source}\n`) && held !== `${source}\n${key}`,
      )
    return alike.find((video) => !isHeld(video))
  }

  private today(field: string, value: unknown): unknown {
    if (!isNameField(field)) return value
    const name = (given: unknown) => this.entity(nameFields[field], String(given))?.name ?? given
    return Array.isArray(value) ? unique(value.map(name)) : name(value)
  }

  private entity(kind: Kind, name: string): Entity | undefined {
    let it = this.names[kind].get(name)
    while (it?.into) it = it.into
    return it
  }

  private shown(video: Video): Fields {
    const names = (all: readonly Entity[]) => unique(all.map(current)).map((it) => it.name)
    return {
      ...video.plain,
      speakers: names(video.speakers),
      tags: names(video.tags),
      category: current(video.category).name,
      source_url: video.url,
    }
  }

  /** Three sides: what the source says, what it said before, and what the record shows. */
  private merged(source: string, row: Row, video: Video) {
    const said = this.said.get(`${source}\n${row.key}`)?.said
    const given = {
      source_url: row.url,
      ...(source.endsWith(' export') ? {} : { language: 'English' }),
      ...row.fields,
    }
    const state = said?.fields.state === undefined ? {} : { state: 1 }
    const theirs: Fields = { ...state }
    for (const [field, value] of Object.entries(given)) theirs[field] = this.today(field, value)
    const mine: Fields = { language: 'English', ...this.shown(video) }
    const patch: Fields = {}
    let hasConflicts = false
    for (const [field, value] of Object.entries(theirs)) {
      if (!(field in mine) || same(mine[field], value)) continue
      const before = said?.fields[field]
      const then = before === undefined ? undefined : this.today(field, before)
      const isEmpty =
        mine[field] === null ||
        mine[field] === '' ||
        same(mine[field], videoDefaults[field as 'summary'])
      let verdict = isEmpty ? 'theirs' : 'conflict'
      if (then !== undefined && same(then, value)) verdict = 'mine'
      else if (then !== undefined && same(then, mine[field])) verdict = 'theirs'
      if (verdict === 'conflict') hasConflicts = true
      if (verdict === 'theirs' || row.take.includes(field)) patch[field] = value
    }
    const then = said?.facts ?? []
    const kept = video.facts.filter((fact) => !then.includes(fact) || row.facts.includes(fact))
    const facts = unique([...kept, ...row.facts.filter((fact) => !then.includes(fact))])
    return {
      patch,
      hasConflicts,
      facts,
      said,
      says: { fields: theirs, facts: row.facts } satisfies Said,
    }
  }

  private entities(kind: Kind, names: readonly string[]): Entity[] {
    return names.map((name) => {
      const found = this.entity(kind, name)
      if (found) return found
      const made = { name, slug: '' }
      this.names[kind].set(name, made)
      return made
    })
  }

  private write(video: Video, patch: Fields): void {
    for (const [field, value] of Object.entries(patch))
      if (field === 'speakers' || field === 'tags')
        video[field] = this.entities(nameFields[field], value as string[])
      else if (field === 'category')
        [video.category = video.category] = this.entities('category', [value as string])
      else if (field !== 'source_url') video.plain = { ...video.plain, [field]: value }
  }

  /** What applying a row does; the outcome is what the row must say. */
  private applyRow({ source }: PlannedImport, row: Row, { video: id }: ImportedTalk): string {
    // A row of a record that was taken down since the plan is refused, also if nothing was left to
    // be done.
    if (row.settled) return row.unchanged?.isGone ? 'refused' : row.settled
    const found = this.match(source, row)
    if (found === 'refused' || found?.isGone) return 'refused'
    const key = `${source}\n${row.key}`
    if (!found) {
      const fields = { language: 'English', ...row.fields, source_url: row.url }
      const theirs: Fields = { state: 1 }
      for (const [field, value] of Object.entries(fields)) theirs[field] = this.today(field, value)
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
      }
      this.videos.push(video)
      row.video = video
      const says = { fields: theirs, facts: row.facts }
      row.before = { said: undefined, says, fields: undefined, facts: undefined }
      this.said.set(key, { said: says, video })
      return 'created'
    }
    row.video = found
    const { patch, hasConflicts, facts, said, says } = this.merged(source, row, found)
    const isChanged = Object.keys(patch).length > 0 || !same(facts, found.facts)
    const { plain, speakers, tags, category } = found
    const fields = Object.keys(patch).length > 0 ? { plain, speakers, tags, category } : undefined
    if (isChanged || !isDeepStrictEqual(says, said))
      row.before = {
        said,
        says,
        fields: isChanged ? fields : undefined,
        facts: same(facts, found.facts) ? undefined : found.facts,
      }
    this.write(found, patch)
    found.facts = facts
    this.said.set(key, { said: says, video: found })
    if (isChanged) return 'changed'
    return hasConflicts ? 'kept' : 'unchanged'
  }

  // --- Imports

  private one(...states: PlannedImport['state'][]): PlannedImport | undefined {
    return this.pick(this.imports.filter(({ state }) => states.includes(state)))
  }

  private async apply(how: string): Promise<void> {
    const it = this.one('planned', 'stopped')
    if (!it) return
    this.log.push(`apply ${it.id} ${how}`)
    await this.begun(`import/${it.id}/apply`)
    if (how === 'and restart') await this.world.restart()
    if (how === 'and stop') {
      const archive = this.world.archive()
      const { status, text } = await archive.call('POST', `/api/v2/import/${it.id}/stop`, {
        token: archive.admin,
      })
      assert.ok(status === 200 || status === 409, text)
    }
    const { state } = await this.client.until(
      it.id,
      'applied',
      ...(how === 'and stop' ? (['stopped'] as const) : []),
    )
    it.state = state as 'applied' | 'stopped'
    await this.settle(it, await this.rowsOf(it))
  }

  /**
   * The rows of its talks. Entities come before them, and have rows only where they are refused.
   */
  private async rowsOf({ id, rows }: PlannedImport): Promise<ImportedTalk[]> {
    return (await this.client.rows(id)).slice(-rows.length)
  }

  /** Sends it, sometimes to another process that is killed at once. */
  private async begun(path: string): Promise<void> {
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
  private async settle(it: PlannedImport, importedRows: readonly ImportedTalk[]): Promise<void> {
    assert.equal(importedRows.length, it.rows.length, JSON.stringify(importedRows))
    for (const [at, row] of it.rows.entries()) {
      const now = importedRows[at] as ImportedTalk
      if (row.outcome !== undefined || now.outcome === null) continue
      row.outcome = this.applyRow(it, row, now)
      assert.equal(
        now.outcome,
        row.outcome,
        `row ${JSON.stringify(row.key)} of import ${it.id}: ${JSON.stringify(now)}`,
      )
      if (row.video && now.outcome !== 'refused')
        assert.equal(now.video, row.video.id, `row ${row.key} is another record`)
    }
    const revisions = await this.revisions()
    for (const row of it.rows) {
      const now = row.video && revisions.get(row.video.id)
      if (now && row.revision === undefined)
        [row.revision, row.factsRevision] = [now.revision, now.facts]
    }
  }

  private async revisions(): Promise<Map<number, { revision: number; facts: number | null }>> {
    const rows = await this.world.query(
      `select v.id, v.revision, f.revision as facts
       from video v
       left join video_facts f using (id)
       where v.id = any ($1)`,
      [this.videos.map(({ id }) => id)],
    )
    return new Map(
      rows.map(({ id, revision, facts }) => [
        Number(id),
        { revision: Number(revision), facts: facts as number | null },
      ]),
    )
  }

  private async undo(how: string): Promise<void> {
    const it = this.one('applied', 'stopped')
    if (!it) return
    this.log.push(`undo ${it.id} ${how}`)
    const revisions = await this.revisions()
    await this.begun(`import/${it.id}/undo`)
    if (how === 'and restart') await this.world.restart()
    await this.client.until(it.id, 'undone')
    it.state = 'undone'
    const importedRows = await this.rowsOf(it)
    for (const [at, row] of it.rows.entries()) {
      const expected = this.undoRow(it, row, revisions)
      assert.equal(
        importedRows[at]?.undone,
        expected,
        `row ${row.key} of import ${it.id}: ${JSON.stringify(importedRows[at])}`,
      )
    }
  }

  private undoRow(
    { source }: PlannedImport,
    row: Row,
    revisions: Awaited<ReturnType<Sequence['revisions']>>,
  ): string | null {
    const { video, before, outcome } = row
    if (!video || !before) return null
    const key = `${source}\n${row.key}`
    const now = this.said.get(key)
    const restore = () => {
      if (before.said) this.said.set(key, { said: before.said, video })
      else this.said.delete(key)
    }
    if (outcome !== 'created' && outcome !== 'changed') {
      if (now && isDeepStrictEqual(now.said, before.says)) restore()
      return null
    }
    const then = revisions.get(video.id)
    const hasFacts = outcome === 'created' ? row.facts.length > 0 : before.facts !== undefined
    if (
      video.isGone ||
      then?.revision !== row.revision ||
      (hasFacts && then?.facts !== row.factsRevision)
    )
      return 'touched'
    if (outcome === 'created') {
      video.plain = { ...video.plain, state: 2 }
      if (now)
        this.said.set(key, {
          ...now,
          said: { ...now.said, fields: { ...now.said.fields, state: 2 } },
        })
      return 'undone'
    }
    if (before.fields) Object.assign(video, before.fields)
    if (before.facts) video.facts = before.facts
    restore()
    return 'undone'
  }

  private async decide(): Promise<void> {
    const it = this.one('planned')
    if (!it) return
    const rows = await this.rowsOf(it)
    const conflicts = rows.flatMap((row, at) => (row.verdict === 'conflict' ? [{ row, at }] : []))
    const chosen = this.pick(conflicts)
    if (!chosen) return
    const take = Object.keys(chosen.row.changes).filter(
      (field) => field !== 'facts' && this.roll() < 0.6,
    )
    await this.client.send('PUT', `import/${it.id}/talk/${chosen.row.position}`, { take })
    const row = it.rows[chosen.at] as Row
    row.take = take
    this.log.push(`decide ${it.id} ${row.key}: ${take}`)
  }

  // --- Work by hand

  private live(): Video | undefined {
    return this.pick(this.videos.filter(({ isGone }) => !isGone))
  }

  private async edit(): Promise<void> {
    const video = this.live()
    if (!video) return
    const all: Fields = {
      ...this.someFields(`by hand ${video.id}`),
      state: 1 + Math.floor(this.roll() * 2),
    }
    if (this.roll() < 0.2) all.summary = ''
    const fields = Object.fromEntries(Object.entries(all).filter(() => this.roll() < 0.35))
    await this.client.send('PATCH', `video/${video.id}`, fields)
    this.write(video, fields)
    this.log.push(`edit ${video.id}: ${JSON.stringify(fields)}`)
  }

  private async attach(): Promise<void> {
    const video = this.live()
    if (!video) return
    video.facts = unique([
      ...video.facts.filter(() => this.roll() < 0.7),
      'https://slides.example.org/by-hand',
    ])
    const facts = video.facts.map((url) => ({ kind: 'related', url, label: null }))
    await this.client.send('PUT', `video/${video.id}/facts`, { facts })
    this.log.push(`attach ${video.id}: ${video.facts}`)
  }

  /** An entity that is in the archive, with its slug of today. */
  private async known(kind: Kind, not?: Entity): Promise<Entity | undefined> {
    const used = this.videos.flatMap(
      ({ speakers, tags, category }) =>
        ({ speaker: speakers, tag: tags, category: [category] })[kind],
    )
    const it = this.pick(unique(used.map(current)).filter((one) => one !== not))
    if (!it) return undefined
    const [row] = await this.world.query(
      `select slug
       from ${kind}
       where ${kind === 'category' ? 'title' : 'name'} = $1 and merged_into is null`,
      [it.name],
    )
    assert.ok(row, `there is no ${kind} of the name ${it.name}`)
    it.slug = String(row.slug)
    return it
  }

  private async rename(): Promise<void> {
    const kind = this.pick(['speaker', 'tag', 'category'] as const) as Kind
    const it = await this.known(kind)
    if (!it) return
    const name = `${kind} ${++this.counter} ${this.name}`
    await this.client.send('PATCH', `${kind}/${it.slug}`, {
      [kind === 'category' ? 'title' : 'name']: name,
    })
    this.log.push(`rename ${kind} ${it.name} to ${name}`)
    it.name = name
    this.names[kind].set(name, it)
  }

  private async merge(): Promise<void> {
    const kind = this.pick(['speaker', 'tag', 'category'] as const) as Kind
    const it = await this.known(kind)
    const into = it && (await this.known(kind, it))
    if (!it || !into) return
    await this.client.send('POST', `${kind}/${it.slug}/merge`, { into: into.slug })
    this.log.push(`merge ${kind} ${it.name} into ${into.name}`)
    it.into = into
  }

  private async takeDown(): Promise<void> {
    const video = this.live()
    if (!video) return
    await this.client.send('POST', `video/${video.id}/takedown`, { reason: 'Asked for' })
    video.isGone = true
    this.log.push(`take down ${video.id}`)
  }

  /** The records are what the model says, and there are no others. */
  async check(): Promise<void> {
    const gone = this.videos.filter(({ isGone }) => isGone).map(({ id }) => id)
    const texts = await this.world.query(
      `select import_id, position from import_row
       where video_id = any ($1) and (draft is not null or changes <> '{}')`,
      [gone],
    )
    assert.deepEqual(texts, [], 'rows that tell the words of a record that was taken down')
    const rows = await this.world.query(
      `select v.id, b.body, v.taken_down is not null as gone, f.facts
       from video v join video_body b using (id) left join video_facts f using (id)
       where v.source_url like $1 order by v.id`,
      [`https://media.example.org/${this.name}/%`],
    )
    assert.deepEqual(
      rows.map(({ id }) => Number(id)),
      this.videos.map(({ id }) => id).sort((a, b) => a - b),
      'other records than those of the model',
    )
    for (const { id, body, gone, facts } of rows) {
      const video = this.videos.find((it) => it.id === Number(id)) as Video
      assert.equal(gone, video.isGone)
      if (gone) continue
      const expected = this.shown(video)
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

function current(it: Entity): Entity {
  return it.into ? current(it.into) : it
}
