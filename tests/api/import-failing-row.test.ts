import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { ImportedTalk, Video } from '@talkshelf/contract'
import { category, startArchive } from '../support/harness.ts'
import { csvOf, importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// A row that the database rejects is refused with the reason, and the others are applied. Triggers
// of this file raise real errors for titles and names with a mark.

const archive = await startArchive({ RESUME_SECONDS: '1' })
const client = importClient(archive, archive.editor)
const mark = '[fails]'

const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
await query('create sequence failures')

interface Failure {
  readonly table?: 'video' | 'video_facts' | 'speaker' | 'tag' | 'category'
  /** The condition on the row, in SQL. */
  readonly when?: string
  /** SQLSTATE. The default 22012 is a division by zero, which is not transient. */
  readonly code?: string
  /** Number of failures, by default unlimited. A sequence counts: it survives a rollback. */
  readonly times?: number
  /** Raises the error at the end of the transaction instead of with the statement. */
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
  const withinLimit = times === undefined ? '' : `and nextval('failures') <= ${times}`
  await query(`
    create or replace function fail_marked() returns trigger language plpgsql as $$
    begin
      if ${when ?? `strpos(new.${column}, '${mark}') > 0`} ${withinLimit} then
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
  Array.from({ length: count }, (_, index) => ({
    key: `k${index + 1}`,
    title: `${word} ${index + 1} of ${sources}`,
  }))
const withMark = (rows: readonly Row[], failing: readonly number[]): Row[] =>
  rows.map((row, index) =>
    failing.includes(index + 1) ? { ...row, title: `${row.title} ${mark}` } : row,
  )

async function importRows(
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

/** Asserts that these positions are refused with a reason and all others have this outcome. */
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
  for (const { outcome: rowOutcome, notes } of rows)
    if (rowOutcome === 'refused')
      assert.ok(notes.some(({ kind, detail }) => kind === 'refused' && detail !== ''))
}

const count = 5
const positions = Array.from({ length: count }, (_, index) => index + 1)

test('refuses only the failing row among new records', async () => {
  await failFor({})
  for (const position of positions) {
    const source = newSource()
    const { rows } = await importRows(withMark(talks(count, 'New'), [position]), source)
    assertOutcomes(rows, [position], 'created')
    for (const { outcome, video, title } of rows)
      if (outcome === 'created') assert.equal((await record(video as number)).title, title)
  }
  const written = await query(`select id from video where strpos(title, '${mark}') > 0`)
  assert.deepEqual(written, [])
})

test('refuses only the failing row among changed records and keeps its record', async () => {
  await failFor({})
  const source = newSource()
  const first = talks(count, 'Changed')
  const { rows: made } = await importRows(first, source)
  for (const position of positions) {
    const next = first.map((row) => ({ ...row, summary: `Round ${position}` }))
    const { rows } = await importRows(withMark(next, [position]), source)
    assertOutcomes(rows, [position], 'changed')
    for (const { position: rowPosition, video } of made) {
      const { title, summary } = await record(video as number)
      const before = position === 1 ? '' : `Round ${position - 1}`
      assert.deepEqual(
        [title, summary],
        [first[rowPosition - 1]?.title, rowPosition === position ? before : `Round ${position}`],
      )
    }
  }
  // Without the mark all rows are applied.
  const { rows } = await importRows(
    first.map((row) => ({ ...row, summary: 'Last' })),
    source,
  )
  assertOutcomes(rows, [], 'changed')
})

test('refuses only the failing rows around a batch boundary', async () => {
  await failFor({})
  const failing = [1, 99, 100, 101, 102, 200, 201, 207]
  const { rows } = await importRows(withMark(talks(207, 'Border'), failing), newSource())
  assertOutcomes(rows, failing, 'created')
})

test('finishes an import in which every row fails', async () => {
  await failFor({})
  const { id, rows } = await importRows(withMark(talks(count, 'All'), positions), newSource())
  assertOutcomes(rows, positions, 'created')
  const { state, outcome } = (await client.send('GET', `import/${id}`)).json
  assert.deepEqual([state, outcome.refused], ['applied', count])
})

test('refuses failing rows among new and changed records', async () => {
  await failFor({})
  const source = newSource()
  const first = talks(4, 'Mixed')
  await importRows(first, source)
  const next = withMark(
    [...first.map((row) => ({ ...row, summary: 'More' })), ...talks(8, 'Mixed').slice(4)],
    [2, 7],
  )
  const { rows } = await importRows(next, source)
  assert.deepEqual(
    rows.map(({ outcome }) => outcome),
    ['changed', 'refused', 'changed', 'changed', 'created', 'created', 'refused', 'created'],
  )
})

test('attributes an error at commit to its row', async () => {
  await failFor({ atCommit: true })
  for (const position of [1, 4, count]) {
    const { rows } = await importRows(withMark(talks(count, 'Commit'), [position]), newSource())
    assertOutcomes(rows, [position], 'created')
  }
})

test('refuses a row whose facts cannot be written', async () => {
  await failFor({ table: 'video_facts' })
  const related = (position: number) =>
    `https://slides.example.org/${position === 3 ? mark : position}`
  const rows = talks(count, 'Facts').map((row, index) => ({ ...row, related: related(index + 1) }))
  const result = await importRows(rows, newSource())
  assertOutcomes(result.rows, [3], 'created')
})

for (const field of ['speakers', 'tags', 'category'] as const)
  test(`refuses only the talk whose ${field} cannot be created`, async () => {
    const table = ({ speakers: 'speaker', tags: 'tag', category: 'category' } as const)[field]
    await failFor({ table })
    for (const position of [1, 3, count]) {
      const named = talks(count, field).map((row, index) => ({
        ...row,
        [field]: index + 1 === position ? `X ${mark}` : `Y ${field}`,
      }))
      const { rows } = await importRows(named, newSource())
      assertOutcomes(rows, [position], 'created')
    }
  })

for (const kind of ['speaker', 'tag', 'category'] as const)
  test(`refuses only the failing ${kind} of an export`, async () => {
    await failFor({ table: kind })
    for (const position of [1, 2, 3]) {
      const source = newSource()
      const about =
        kind === 'category' ? { description: '', url: null, start_date: null, end_date: null } : {}
      const nameOf = (number: number) =>
        `${kind} ${number} of ${source}${number === position ? ` ${mark}` : ''}`
      const lines: object[] = [{ kind: 'talkshelf', version: 1, at: '2026-01-01T00:00:00.000' }]
      for (const number of [1, 2, 3])
        lines.push({
          kind,
          id: sources * 1000 + number,
          name: nameOf(number),
          slug: `${kind}-${number}-${sources}`,
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
        refused.map(({ position: rowPosition }) => rowPosition),
        [position],
        JSON.stringify(rows),
      )
      assert.ok(refused[0]?.notes.some((note) => note.kind === 'refused'))
      assert.equal(rows.at(-1)?.outcome, 'created')
      const names = await query(
        `select ${kind === 'category' ? 'title' : 'name'} as name from ${kind} order by id`,
      )
      for (const number of [1, 2, 3])
        assert.equal(
          names.some(({ name }) => name === nameOf(number)),
          number !== position,
        )
    }
  })

test('skips a failing row on undo', async () => {
  await failFor({ when: `tg_op = 'UPDATE' and new.state = 2 and strpos(new.title, '${mark}') > 0` })
  for (const position of positions) {
    const { id, rows } = await importRows(withMark(talks(count, 'Undo'), [position]), newSource())
    assertOutcomes(rows, [], 'created')
    await client.undo(id)
    const undone = await client.rows(id)
    assert.deepEqual(
      undone.map(({ undone: isUndone }) => isUndone === 'undone'),
      undone.map(({ position: rowPosition }) => rowPosition !== position),
    )
    const states = await Promise.all(
      rows.map(async ({ video }) => (await record(video as number)).state),
    )
    assert.deepEqual(
      states,
      rows.map(({ position: rowPosition }) => (rowPosition === position ? 1 : 2)),
    )
    const failed = undone.find(({ position: rowPosition }) => rowPosition === position)
    assert.ok(failed?.undone === 'touched' && failed.notes.some(({ detail }) => detail !== ''))
  }
})

test('skips failing rows around a batch boundary on undo', async () => {
  await failFor({ when: `tg_op = 'UPDATE' and new.state = 2 and strpos(new.title, '${mark}') > 0` })
  const failing = [1, 3, 4, 103]
  const { id } = await importRows(withMark(talks(103, 'Undo border'), failing), newSource())
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
  test(`retries a transient error (${code}, ${times} times) and refuses nothing`, async () => {
    const source = newSource()
    const first = talks(count, `Transient ${code}`)
    await failFor({ code, times })
    const { id, rows } = await importRows(withMark(first, [4]), source)
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

test('does not delay another import while one fails row by row', async () => {
  await failFor({})
  const failing = withMark(talks(count, 'Slow'), positions)
  const input = { format: 'csv' as const, category, language: 'en' }
  const slow = await client.plan({
    ...input,
    text: csvOf(failing.map((row) => ({ ...row }))),
    source: newSource(),
  })
  await client.send('POST', `import/${slow.id}/apply`)
  const { rows } = await importRows(talks(count, 'Beside'), newSource())
  assertOutcomes(rows, [], 'created')
  await client.until(slow.id, 'applied')
})

test('keeps the archive consistent after all tests', () => checkInvariants(archive.databaseUrl))
