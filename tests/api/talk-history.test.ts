import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setEventEditor } from '../../server/auth/auth.ts'
import { type DeskReply, operator, signIn } from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { csvOf, importClient } from '../support/import-client.ts'
import { withDatabase } from '../support/invariants.ts'

// The page with the history of a talk, and its buttons.

const archive = await startArchive()
const { editor: token } = archive

const { client } = await signIn(archive, 'Grace', 'editor')

const send = async (method: string, path: string, body: object) => {
  const reply = await archive.call(method, `/api/v2/${path}`, { token, body })
  assert.ok(reply.status < 300, reply.text)
  return reply.json
}
const patch = (id: number, body: object) => send('PATCH', `video/${id}`, body)
const read = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}`, { token })).json
const historyOf = (id: number, query = '') => client.get(`/desk/talk/${id}/history${query}`)
const withoutMarks = (html: string) => html.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' ')

/** Presses the button that reverts a field, or the whole revision. */
function press(page: DeskReply, id: number, revision: number, field?: string) {
  const form = page.forms.find(
    ({ action, fields }) =>
      action === `/desk/talk/${id}/revert` &&
      fields.revision === String(revision) &&
      fields.field === field,
  )
  assert.ok(form, `no button for revision ${revision}, ${field}`)
  return client.post(form.action, form.fields)
}

test('shows each change with its words, origin and author, newest first', async () => {
  const { id } = await archive.make({ title: 'A talk on queues', speakers: ['Ada', 'Bo'] })
  await patch(id, { title: 'A talk on stacks', speakers: ['Ada', 'Cleo'], state: 2 })
  const { status, html, headers } = await historyOf(id)
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.match(html, /A talk on <del>.*?queues.*?<\/del><ins>.*?stacks.*?<\/ins>/)
  const text = withoutMarks(html)
  assert.match(text, /Revision 2.*UTC · Edith · API Changed.*Revision 1.*Created/)
  assert.match(text, /Speakers\[Removed: Bo\]\[Added: Cleo\]/)
  assert.match(text, /State\[Removed: Live\]\[Added: Draft\]/)
})

test('reverts a field, and the whole change', async () => {
  const { id } = await archive.make({ title: 'One', summary: 'First', tags: ['x'] })
  await patch(id, { title: 'Two', summary: 'Second', tags: ['y'] })
  await patch(id, { tags: ['y', 'z'] })
  const readers = () => archive.call('GET', `/api/v2/video/${id}`)
  const page = await historyOf(id)
  assert.equal((await readers()).json.summary, 'Second')
  const redirect = await press(page, id, 2, 'summary')
  // Read at once: after some time, the cache finds the change by itself.
  const { summary: shown, title: kept } = (await readers()).json
  assert.deepEqual([shown, kept], ['First', 'Two'], 'the cache forgets the record')
  const done = await client.follow(redirect)
  assert.match(done.html, /Reverted\./)
  assert.match(withoutMarks(done.html), /Revision 4.*Grace · Web page Restored/)
  assert.equal((await press(page, id, 2)).status, 303)
  const { title, tags } = await read(id)
  assert.deepEqual([title, tags], ['One', ['x', 'z']])
  const [change] = await withDatabase(archive.databaseUrl, (query) =>
    query(
      `select via, person_id from change
       where subject = 'video' and subject_id = $1 order by revision desc limit 1`,
      [id],
    ),
  )
  assert.equal(change?.via, 'page')
  assert.ok(change?.person_id)
})

test('shows the fields that were changed since, and reverts the others', async () => {
  const { id } = await archive.make({ title: 'One', summary: 'First <b>' })
  await patch(id, { title: 'Two', summary: 'Second' })
  const page = await historyOf(id)
  await patch(id, { summary: 'Third' })
  const refused = await press(page, id, 2)
  assert.equal(refused.status, 409)
  const text = withoutMarks(refused.html)
  assert.match(text, /Revision 2 was not reverted/)
  assert.match(text, /Summary\s*Current value\s*Third\s*Value that would return\s*First &lt;b>/)
  assert.match(text, /Can be reverted: Title\./)
  assert.equal((await read(id)).title, 'Two')
  assert.equal((await press(refused, id, 2, 'title')).status, 303)
  const { title, summary } = await read(id)
  assert.deepEqual([title, summary], ['One', 'Third'])
  const alone = await press(page, id, 2, 'summary')
  assert.equal(alone.status, 409)
  assert.doesNotMatch(alone.html, /Can be reverted/)
})

test('never shows former names', async () => {
  await send('POST', 'category', { title: 'Secret Days' })
  const fields = { category: 'Secret Days', speakers: ['Secret Name'], tags: ['secret'] }
  const { id } = await archive.make(fields)
  await patch(id, { category, speakers: [], tags: [] })
  await send('PATCH', 'speaker/secret-name', { name: 'Current Name' })
  await send('PATCH', 'tag/secret', { name: 'current' })
  await send('PATCH', 'category/secret-days', { title: 'Current Days' })
  await patch(id, { ...fields, title: 'Another' })
  await send('PATCH', 'speaker/current-name', { name: 'Latest Name' })
  const { html } = await historyOf(id)
  assert.doesNotMatch(html, /secret/i)
  assert.doesNotMatch(html, /Current Name/)
  const text = withoutMarks(html)
  assert.match(text, /Revision 4.*Only names were updated.*Revision 3.*\[Added: Latest Name\]/)
  const buttons = (await historyOf(id)).forms.map(({ fields }) => fields.revision)
  assert.ok(!buttons.includes('4') && !buttons.includes('1'))
})

test('names the import that made a change', async () => {
  const imports = importClient(archive, token)
  const plan = await imports.plan({
    text: csvOf([{ key: 'k', title: 'Imported', category }]),
    format: 'csv',
    name: 'talks.csv',
    source: 'table',
    language: 'en',
  })
  await imports.apply(plan.id)
  const [row] = await withDatabase(archive.databaseUrl, (query) =>
    query('select max(id)::int as id from video'),
  )
  const { html } = await historyOf(Number(row?.id))
  assert.match(withoutMarks(html), new RegExp(`Edith · Import ${plan.id} `))
})

test('has pages of 50 changes, and shorter ones if the texts are long', async () => {
  const { id } = await archive.make({ title: 'Talk 0' })
  for (let number = 1; number <= 60; number++) await patch(id, { title: `Talk ${number}` })
  const first = await historyOf(id)
  const revisions = ({ html }: DeskReply) =>
    [...html.matchAll(/<h2>Revision (\d+)<\/h2>/g)].map(([, revision]) => Number(revision))
  assert.equal(revisions(first).length, 50)
  const [, older] = /history(\?before=\d+)"/.exec(first.html) ?? []
  const second = await historyOf(id, older)
  assert.deepEqual(
    [...revisions(first), ...revisions(second)],
    [...Array(61).keys()].map((index) => 61 - index),
  )
  assert.doesNotMatch(second.html, /\?before=/)
  for (const before of ['1', '9999999999999999'])
    assert.equal((await historyOf(id, `?before=${before}`)).status, before === '1' ? 404 : 200)

  const { id: long } = await archive.make()
  for (let number = 0; number < 14; number++)
    await patch(long, { description: `${number} `.repeat(99_999 / (String(number).length + 1)) })
  const page = await historyOf(long)
  assert.ok(revisions(page).length < 14 && revisions(page).length > 5, String(revisions(page)))
  assert.ok(page.html.length < 200_000, `${page.html.length} bytes`)
  assert.match(page.html, /\?before=/)
})

test('refuses revisions and fields that do not exist', async () => {
  const { id } = await archive.make({ title: 'One' })
  await patch(id, { title: 'Two' })
  const page = await historyOf(id)
  const [form] = page.forms.filter(({ action }) => action.endsWith('/revert'))
  const post = (fields: Record<string, string>) =>
    client.post(`/desk/talk/${id}/revert`, { ...form?.fields, ...fields })
  for (const revision of ['', '0', '3', '-1', 'x', '2147483648', '9'.repeat(16)])
    assert.equal((await post({ revision })).status, 404, revision)
  for (const field of ['tags', 'id', '__proto__', 'x'.repeat(60_000)])
    assert.equal((await post({ field })).status, 400)
  assert.equal((await post({ revision: '1', field: 'title' })).status, 409)
  assert.equal((await read(id)).title, 'Two')
  assert.equal((await client.get('/desk/talk/999999/history')).status, 404)
  assert.equal((await client.get('/desk/talk/x/history')).status, 404)
  const body = { reason: 'The speaker asked for it' }
  await archive.call('POST', `/api/v2/video/${id}/takedown`, { token: archive.admin, body })
  assert.equal((await historyOf(id)).status, 410)
  assert.equal((await post({})).status, 410)
})

test('editors of an event revert changes of its talks only', async () => {
  const { id: person, client: eve } = await signIn(archive, 'Eve', 'suggester')
  await setEventEditor(archive.pool, person, category, true, operator)
  await send('POST', 'category', { title: 'Foreign Days' })
  const { id: own } = await archive.make({ title: 'One' })
  const { id: foreign } = await archive.make({ title: 'One' })
  for (const id of [own, foreign]) await patch(id, { title: 'Two' })
  const page = await eve.get(`/desk/talk/${own}/history`)
  assert.equal((await eve.submit(page, `/desk/talk/${own}/revert`)).status, 303)
  assert.equal((await read(own)).title, 'One')

  const opened = await eve.get(`/desk/talk/${foreign}/history`)
  await patch(foreign, { category: 'Foreign Days' })
  const refused = await eve.submit(opened, `/desk/talk/${foreign}/revert`)
  assert.equal(refused.status, 403)
  assert.match(refused.html, /talks of your own events only/)
  const shown = await eve.get(`/desk/talk/${foreign}/history`)
  assert.match(shown.html, /talks of your own events only/)
  assert.ok(!shown.forms.some(({ action }) => action.endsWith('/revert')))
  assert.equal((await read(foreign)).title, 'Two')
})

test('shows the history in Spanish', async () => {
  const { id } = await archive.make({ title: 'Uno' })
  await patch(id, { title: 'Dos' })
  const { html } = await client.get(`/desk/talk/${id}/history`, { 'accept-language': 'es' })
  assert.match(
    withoutMarks(html),
    /Historial: Dos.*Revisión 2.*Título\[Eliminado: Uno\]\[Añadido: Dos\]Revertir/,
  )
})
