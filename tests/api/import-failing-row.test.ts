import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { ImportedTalk, Video } from '@talkshelf/contract'
import { category, startArchive } from '../support/harness.ts'
import { csvOf, importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// A row that the database refuses: the others are applied, and the row says why. The errors are
// real: triggers of this file raise them for titles and names that have a mark.

const archive = await startArchive({ RESUME_SECONDS: '1' })
const client = importClient(archive, archive.editor)
const mark = '[fails]'

const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
await query('create sequence failures')

interface Failure {
  readonly table?: 'video' | 'video_facts' | 'speaker' | 'tag' | 'category'
  /** What the row must be for it, in SQL. */
  readonly when?: string
  /** SQLSTATE. 22012 is a division by zero: nothing that a retry could mend. */
  readonly code?: string
  /** How often; without it always. A sequence counts, because it survives a rollback. */
  readonly times?: number
  /** At the end of the transaction, not with the statement. */
  readonly atCommit?: boolean
}

/** Makes the database raise an error for rows that have the mark. */
async function failFor({
  table = 'video',
  when,
  code = '22012',
  times,
  atCommit,
}: Failure): Promise<void> {
  const column = {
    video: 'title',
    video_facts: 'facts::text',
    speaker: 'name',
    tag: 'name',
    category: 'title',
  }[table]
  const counted = times === undefined ? '' : `and nextval('failures') <= ${times}`
  await query(`
    create or replace function fail_marked() returns trigger language plpgsql as $$
    begin
      if ${when ?? `strpos(new.${column}, '${mark}') > 0`} ${counted} then
        raise exception 'marked for failure' using errcode = '${code}';
      end if;
      return new;
    end $$`)
  await query(
    atCommit
      ? `create constraint trigger fail_marked after insert or update on ${table}
         deferrable initially deferred for each row execute function fail_marked()`
      : `create trigger fail_marked before insert or update on ${table}
         for each row execute function fail_marked()`,
  )
}

beforeEach(async () => {
  await query('drop function if exists fail_marked cascade')
  await query('alter sequence failures restart')
})

let sources = 0
const newSource = () => `failing rows ${++sources}`

interface Row {
  readonly key: string
  readonly title: string
  readonly summary?: string
  readonly related?: string
}

const talks = (count: number, word: string): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    key: `k${at + 1}`,
    title: `${word} ${at + 1} of ${sources}`,
  }))
const marked = (rows: readonly Row[], failing: readonly number[]): Row[] =>
  rows.map((row, at) =>
    failing.includes(at + 1) ? { ...row, title: `${row.title} ${mark}` } : row,
  )

async function applied(
  rows: readonly Row[],
  source: string,
): Promise<{ id: number; rows: ImportedTalk[] }> {
  const input = {
    text: csvOf(rows.map((row) => ({ ...row }))),
    format: 'csv' as const,
    source,
    category,
    language: 'en',
  }
  const { id } = await client.plan(input)
  await client.apply(id)
  return { id, rows: await client.rows(id) }
}

const record = async (id: number): Promise<Video> => (await client.send('GET', `video/${id}`)).json

/** Refused at these positions, each with its reason; all others have this outcome. */
function assertOutcomes(
  rows: readonly ImportedTalk[],
  failing: readonly number[],
  outcome: string,
): void {
  const expected = rows.map(({ position }) => (failing.includes(position) ? 'refused' : outcome))
  assert.deepEqual(
    rows.map((row) => row.outcome),
    expected,
  )
  for (const { outcome: was, notes } of rows)
    if (was === 'refused')
      assert.ok(notes.some(({ kind, detail }) => kind === 'refused' && detail !== ''))
}

const count = 5
const positions = Array.from({ length: count }, (_, at) => at + 1)

test('a new record that fails at any position is refused alone', async () => {
  await failFor({})
  for (const position of positions) {
    const source = newSource()
    const { rows } = await applied(marked(talks(count, 'New'), [position]), source)
    assertOutcomes(rows, [position], 'created')
    for (const { outcome, video, title } of rows)
      if (outcome === 'created') assert.equal((await record(video as number)).title, title)
  }
  const written = await query(`select id from video where strpos(title, '${mark}') > 0`)
  assert.deepEqual(written, [])
})

test('a changed record that fails at any position is refused alone, and stays as it was', async () => {
  await failFor({})
  const source = newSource()
  const first = talks(count, 'Changed')
  const { rows: made } = await applied(first, source)
  for (const position of positions) {
    const next = first.map((row) => ({ ...row, summary: `Round ${position}` }))
    const { rows } = await applied(marked(next, [position]), source)
    assertOutcomes(rows, [position], 'changed')
    for (const { position: at, video } of made) {
      const { title, summary } = await record(video as number)
      const before = position === 1 ? '' : `Round ${position - 1}`
      assert.deepEqual(
        [title, summary],
        [first[at - 1]?.title, at === position ? before : `Round ${position}`],
      )
    }
  }
  // Said once more without the mark, nothing is left behind.
  const { rows } = await applied(
    first.map((row) => ({ ...row, summary: 'Last' })),
    source,
  )
  assertOutcomes(rows, [], 'changed')
})

test('rows that fail on both sides of the border of a batch are refused alone', async () => {
  await failFor({})
  const failing = [1, 99, 100, 101, 102, 200, 201, 207]
  const { rows } = await applied(marked(talks(207, 'Border'), failing), newSource())
  assertOutcomes(rows, failing, 'created')
})

test('an import of which every row fails ends', async () => {
  await failFor({})
  const { id, rows } = await applied(marked(talks(count, 'All'), positions), newSource())
  assertOutcomes(rows, positions, 'created')
  const { state, outcome } = (await client.send('GET', `import/${id}`)).json
  assert.deepEqual([state, outcome.refused], ['applied', count])
})

test('rows of new and changed records fail side by side', async () => {
  await failFor({})
  const source = newSource()
  const first = talks(4, 'Mixed')
  await applied(first, source)
  const next = marked(
    [...first.map((row) => ({ ...row, summary: 'More' })), ...talks(8, 'Mixed').slice(4)],
    [2, 7],
  )
  const { rows } = await applied(next, source)
  assert.deepEqual(
    rows.map(({ outcome }) => outcome),
    ['changed', 'refused', 'changed', 'changed', 'created', 'created', 'refused', 'created'],
  )
})

test('an error at the end of the transaction is the error of a row as well', async () => {
  await failFor({ atCommit: true })
  for (const position of [1, 4, count]) {
    const { rows } = await applied(marked(talks(count, 'Commit'), [position]), newSource())
    assertOutcomes(rows, [position], 'created')
  }
})

test('what is attached to a record fails with its row', async () => {
  await failFor({ table: 'video_facts' })
  const related = (at: number) => `https://slides.example.org/${at === 3 ? mark : at}`
  const rows = talks(count, 'Facts').map((row, at) => ({ ...row, related: related(at + 1) }))
  const result = await applied(rows, newSource())
  assertOutcomes(result.rows, [3], 'created')
})

for (const field of ['speakers', 'tags', 'category'] as const)
  test(`a talk of which ${field} can't be made is refused alone`, async () => {
    const table = ({ speakers: 'speaker', tags: 'tag', category: 'category' } as const)[field]
    await failFor({ table })
    for (const position of [1, 3, count]) {
      const named = talks(count, field).map((row, at) => ({
        ...row,
        [field]: at + 1 === position ? `X ${mark}` : `Y ${field}`,
      }))
      const { rows } = await applied(named, newSource())
      assertOutcomes(rows, [position], 'created')
    }
  })

for (const kind of ['speaker', 'tag', 'category'] as const)
  test(`a ${kind} of an export that fails at any position is refused alone`, async () => {
    await failFor({ table: kind })
    for (const position of [1, 2, 3]) {
      const source = newSource()
      const about =
        kind === 'category' ? { description: '', url: null, start_date: null, end_date: null } : {}
      const nameOf = (at: number) =>
        `${kind} ${at} of ${source}${at === position ? ` ${mark}` : ''}`
      const lines: object[] = [{ kind: 'talkshelf', version: 1, at: '2026-01-01T00:00:00.000' }]
      for (const at of [1, 2, 3])
        lines.push({
          kind,
          id: sources * 1000 + at,
          name: nameOf(at),
          slug: `${kind}-${at}-${sources}`,
          old_slugs: [],
          aliases: [],
          revision: 1,
          ...about,
        })
      const { id: first } = await archive.make({ title: `Beside ${source}` })
      const record = (await client.send('GET', `video/${first}`)).json
      lines.push({
        kind: 'video',
        revision: 1,
        record: { ...record, id: sources * 1000, slug: `v-${sources}`, title: source },
      })
      lines.push({ kind: 'end', videos: 1 })
      const text = lines.map((line) => JSON.stringify(line)).join('\n')
      const { id } = await client.plan({ text, format: 'v2', source })
      await client.apply(id)
      const rows = await client.rows(id)
      const refused = rows.filter(({ outcome }) => outcome === 'refused')
      assert.deepEqual(
        refused.map(({ position: at }) => at),
        [position],
        JSON.stringify(rows),
      )
      assert.ok(refused[0]?.notes.some((note) => note.kind === 'refused'))
      assert.equal(rows.at(-1)?.outcome, 'created')
      const names = await query(
        `select ${kind === 'category' ? 'title' : 'name'} as name from ${kind} order by id`,
      )
      for (const at of [1, 2, 3])
        assert.equal(
          names.some(({ name }) => name === nameOf(at)),
          at !== position,
        )
    }
  })

test('undoing goes past a row that fails at any position', async () => {
  await failFor({ when: `tg_op = 'UPDATE' and new.state = 2 and strpos(new.title, '${mark}') > 0` })
  for (const position of positions) {
    const { id, rows } = await applied(marked(talks(count, 'Undo'), [position]), newSource())
    assertOutcomes(rows, [], 'created')
    await client.undo(id)
    const undone = await client.rows(id)
    assert.deepEqual(
      undone.map(({ undone: was }) => was === 'undone'),
      undone.map(({ position: at }) => at !== position),
    )
    const states = await Promise.all(
      rows.map(async ({ video }) => (await record(video as number)).state),
    )
    assert.deepEqual(
      states,
      rows.map(({ position: at }) => (at === position ? 1 : 2)),
    )
    const failed = undone.find(({ position: at }) => at === position)
    assert.ok(failed?.undone === 'touched' && failed.notes.some(({ detail }) => detail !== ''))
  }
})

test('undoing goes past rows that fail on both sides of the border of a batch', async () => {
  await failFor({ when: `tg_op = 'UPDATE' and new.state = 2 and strpos(new.title, '${mark}') > 0` })
  const failing = [1, 3, 4, 103]
  const { id } = await applied(marked(talks(103, 'Undo border'), failing), newSource())
  const { undone } = await client.undo(id)
  assert.deepEqual(undone, { undone: 99, touched: 4 })
})

for (const [code, times] of [
  ['40001', 1],
  ['40001', 3],
  ['40P01', 3],
  ['55P03', 2],
  ['57014', 1],
] as const)
  test(`an error that passes (${code}, ${times} times) refuses nothing`, async () => {
    const source = newSource()
    const first = talks(count, `Transient ${code}`)
    await failFor({ code, times })
    const { id, rows } = await applied(marked(first, [4]), source)
    assertOutcomes(rows, [], 'created')
    const [counter] = await query('select last_value from failures')
    const tries = Number(counter?.last_value)
    assert.ok(tries > times, `The database raised no error: ${tries}`)

    await query('drop function fail_marked cascade')
    await query('alter sequence failures restart')
    await failFor({ code, times, when: `tg_op = 'UPDATE' and strpos(new.title, '${mark}') > 0` })
    const { undone } = await client.undo(id)
    assert.deepEqual(undone, { undone: count, touched: 0 })
  })

test('one import that fails row by row does not hold up another', async () => {
  await failFor({})
  const failing = marked(talks(count, 'Slow'), positions)
  const input = { format: 'csv' as const, category, language: 'en' }
  const slow = await client.plan({
    ...input,
    text: csvOf(failing.map((row) => ({ ...row }))),
    source: newSource(),
  })
  await client.send('POST', `import/${slow.id}/apply`)
  const { rows } = await applied(talks(count, 'Beside'), newSource())
  assertOutcomes(rows, [], 'created')
  await client.until(slow.id, 'applied')
})

test('after all of it the archive is sound', () => checkInvariants(archive.databaseUrl))
