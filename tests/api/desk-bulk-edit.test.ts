import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Import, Video } from '@talkshelf/contract'
import { setEventEditor } from '../../server/auth/auth.ts'
import { type DeskReply, operator, signIn } from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { importClient } from '../support/import-client.ts'
import { checkInvariants } from '../support/invariants.ts'

// Bulk edits in the desk: from the list of talks over the form to the plan, and back.

const archive = await startArchive()
const client = importClient(archive, archive.editor)

const { client: desk } = await signIn(archive, 'Edith', 'editor')

const record = async (id: number): Promise<Video> => (await client.send('GET', `video/${id}`)).json
const makeTalks = async (count: number, word: string, fields: Partial<Video> = {}) => {
  const talks: Video[] = []
  for (let number = 1; number <= count; number++)
    talks.push(await archive.make({ title: `${word} ${number}`, ...fields }))
  return talks
}
const noChange = { 'operation-1': '', 'operation-2': '', 'operation-3': '' }

/** Sends the form of a bulk edit, and waits for its plan. */
async function plan(form: DeskReply, fields: Record<string, string>): Promise<Import> {
  const reply = await desk.submit(form, '/desk/edit', { ...noChange, ...fields })
  assert.equal(reply.status, 303, reply.html)
  const [, id = ''] = /^\/desk\/import\/(\d+)$/.exec(String(reply.headers.location)) ?? []
  return client.until(Number(id), 'planned')
}

test('edits all talks of a search, shows the plan by value, applies and undoes it', async () => {
  const talks = await makeTalks(3, 'Pelican', { copyright_text: 'CC BY 3.0' })
  const other = await archive.make({ title: 'Pelican', copyright_text: '' })
  const list = await desk.get('/desk/talks?q=pelican')
  assert.match(list.html, /Edit all 4</)
  const form = await desk.get('/desk/edit?q=pelican&state=live&all=1')
  assert.match(form.html, /4 talks are selected\./)
  const job = await plan(form, { 'operation-1': 'set copyright_text', 'value-1': 'CC BY 4.0' })
  const path = `/desk/import/${job.id}`
  const page = await desk.get(path)
  assert.match(page.html, new RegExp(`<h1>Bulk edit ${job.id}</h1>`))
  const text = page.html.replaceAll(/<[^>]+>/g, '')
  assert.match(text, /3 talks: Licence: CC BY 3\.0 → CC BY 4\.0/)
  assert.match(text, /1 talk: Licence: \(empty\) → CC BY 4\.0/)
  assert.match(text, /Before CC BY 3\.0After CC BY 4\.0/)
  assert.doesNotMatch(text, /File|Source:/)
  await desk.follow(await desk.submit(page, `${path}/apply`))
  await client.until(job.id, 'applied')
  for (const { id } of talks) assert.equal((await record(id)).copyright_text, 'CC BY 4.0')
  const history = await desk.get(`/desk/talk/${other.id}/history`)
  assert.match(history.html, new RegExp(`<a href="${path}">Bulk edit ${job.id}</a>`))
  await desk.submit(await desk.get(path), `${path}/undo`)
  await client.until(job.id, 'undone')
  assert.equal((await record(talks[0]?.id as number)).copyright_text, 'CC BY 3.0')
  assert.equal((await record(other.id)).copyright_text, '')
})

test('edits the selected talks with three changes', async () => {
  const [first, second, third] = (await makeTalks(3, 'Heron', {
    speakers: ['Ada'],
    recorded: '2026-01-01',
  })) as [Video, Video, Video]
  const form = await desk.get(`/desk/edit?id=${first.id}&id=${second.id}&id=${first.id}`)
  assert.match(form.html, /2 talks are selected\./)
  const job = await plan(form, {
    'operation-1': 'clear recorded',
    'operation-2': 'add tags',
    'value-2': 'birds',
    'operation-3': 'replace title',
    'value-3': 'Heron',
    'with-3': 'Egret',
  })
  const { html } = await desk.get(`/desk/import/${job.id}`)
  assert.match(html.replaceAll(/<[^>]+>/g, ''), /2 talks: Tags: \(empty\) → birds/)
  await client.apply(job.id)
  const { title, tags, recorded } = await record(second.id)
  assert.deepEqual([title, tags, recorded], ['Egret 2', ['birds'], null])
  assert.equal((await record(third.id)).title, 'Heron 3')
  const draft = await plan(form, { 'operation-2': 'set state 2' })
  await client.apply(draft.id)
  assert.equal((await record(first.id)).state, 2)
  const drafts = await desk.get('/desk/talks?state=draft&q=egret')
  assert.match(drafts.html, /Edit all of this list/)
  const all = await desk.get('/desk/edit?q=egret&state=draft&all=1')
  assert.match(all.html, /2 talks are selected\./)
})

test('shows errors in the words of the API, and keeps what was entered', async () => {
  const [talk] = (await makeTalks(1, 'Stork')) as [Video]
  const form = await desk.get(`/desk/edit?id=${talk.id}`)
  const refused = async (fields: Record<string, string>) => {
    const reply = await desk.submit(form, '/desk/edit', { ...noChange, ...fields })
    assert.equal(reply.status, 400)
    assert.match(reply.html, /1 talk is selected\./)
    return reply.html
  }
  assert.match(await refused({}), /Choose at least one change\./)
  assert.match(await refused({ 'operation-1': 'set copyright_text' }), /Enter a value\./)
  assert.match(
    await refused({ 'operation-1': 'drop table', 'value-1': 'x' }),
    /must be category or language/,
  )
  const html = await refused({
    'operation-1': 'set copyright_text',
    'value-1': 'Kept',
    'operation-3': 'set language',
    'value-3': 'Englsh',
  })
  assert.match(html, /id="value-3-error">is not the English name[^<]*English/)
  assert.match(html, /name="value-1"[^>]*value="Kept"/)
  assert.match(
    html,
    /<option[^>]*value="set language"[^>]*selected|selected[^>]*value="set language"/,
  )
  assert.match((await desk.get('/desk/edit')).html, /No talks are selected\./)
  assert.match((await desk.get('/desk/edit?id=x&id=-1')).html, /No talks are selected\./)
  assert.match((await desk.get('/desk/edit?all=1&q=nowhere')).html, /No talks are selected\./)
})

test('does not offer to edit all talks that have only some of the words', async () => {
  await makeTalks(3, 'Flamingo')
  const { html } = await desk.get('/desk/talks?q=flamingo+unheard')
  assert.match(html, /Flamingo 1/)
  assert.match(html, /Edit these/)
  assert.doesNotMatch(html, /Edit all/)
})

test('shows the chosen columns, and keeps them in the links of the list', async () => {
  await makeTalks(51, 'Cormorant', { copyright_text: 'CC0' })
  const usual = await desk.get('/desk/talks?q=cormorant')
  assert.match(usual.html, /<th scope="col">Event<\/th>/)
  assert.doesNotMatch(usual.html, /<th scope="col">Licence<\/th>/)
  const chosen = await desk.get('/desk/talks?q=cormorant&column=licence&column=state&column=x')
  assert.match(chosen.html, /<th scope="col">State<\/th><th scope="col">Licence<\/th>/)
  assert.doesNotMatch(chosen.html, /<th scope="col">Event<\/th>/)
  assert.match(chosen.html, /<bdi>Live<\/bdi><\/td><td><bdi>CC0<\/bdi>/)
  assert.match(chosen.html, /page=2&amp;column=state&amp;column=licence/)
})

test('lists the talks that were changed since the plan', async () => {
  const [talk] = (await makeTalks(1, 'Ibis')) as [Video]
  const form = await desk.get(`/desk/edit?id=${talk.id}`)
  const job = await plan(form, { 'operation-1': 'set whiteboard', 'value-1': 'Edited' })
  await client.send('PATCH', `video/${talk.id}`, { whiteboard: 'By hand' })
  await client.apply(job.id)
  const { html } = await desk.get(`/desk/import/${job.id}`)
  assert.match(html, /These fields were changed after the plan was made/)
  assert.match(html, /By hand/)
  assert.match(html, /1 kept as in the archive/)
})

test('an editor of an event uses own edits only', async () => {
  const { id, client: person } = await signIn(archive, 'Eve', 'suggester')
  await setEventEditor(archive.pool, id, category, true, operator)
  const [talk] = (await makeTalks(1, 'Grebe')) as [Video]
  const form = await person.get(`/desk/edit?id=${talk.id}`)
  const fields = { ...noChange, 'operation-1': 'set whiteboard', 'value-1': 'By Eve' }
  const reply = await person.submit(form, '/desk/edit', fields)
  const path = String(reply.headers.location)
  const own = Number(path.split('/').at(-1))
  await client.until(own, 'planned')
  const page = await person.get(path)
  assert.equal(page.status, 200)
  await person.submit(page, `${path}/apply`)
  await client.until(own, 'applied')
  assert.equal((await record(talk.id)).whiteboard, 'By Eve')
  await person.submit(await person.get(path), `${path}/undo`)
  await client.until(own, 'undone')
  assert.equal((await record(talk.id)).whiteboard, '')

  const { json: foreign } = await client.send('POST', 'edit', {
    filter: { ids: [talk.id] },
    operations: [{ op: 'set', field: 'whiteboard', value: 'x' }],
  })
  await client.until(foreign.id, 'planned')
  assert.equal((await person.get(`/desk/import/${foreign.id}`)).status, 403)
  assert.equal((await person.get(`/desk/import/${foreign.id}/refused`)).status, 403)
  assert.equal((await person.get('/desk/import')).status, 403)
})

test('leaves everything consistent', () => checkInvariants(archive.databaseUrl))
