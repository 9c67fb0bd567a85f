import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setEventEditor } from '../../server/auth/auth.ts'
import {
  createDeskClient,
  type DeskClient,
  type DeskReply,
  formTo,
  operator,
  signIn,
} from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// The editor of a talk: saving, merging with what others saved, working copies, drafts, takedown.

const archive = await startArchive()

const ada = (await signIn(archive, 'Ada', 'admin')).client
const grace = (await signIn(archive, 'Grace', 'editor')).client

const read = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })).json
const revisions = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}/revisions`, { token: archive.editor })).json
const open = (client: DeskClient, id: number) => client.get(`/desk/talk/${id}`)
const save = (client: DeskClient, page: DeskReply, id: number, fields: Record<string, string>) =>
  client.submit(page, `/desk/talk/${id}`, fields)

test('saves the fields that were changed, with the name of the person in the history', async () => {
  const { id } = await archive.make({ description: '\nfirst\nsecond', duration: 3723 })
  const before = await read(id)
  const page = await open(ada, id)
  assert.equal(formTo(page, `/desk/talk/${id}`).fields.duration, '1:02:03')
  const saved = await save(ada, page, id, { title: 'Corrected', speakers: 'Ada\r\nGrace' })
  assert.equal(saved.status, 303)
  assert.match((await ada.follow(saved)).html, /Saved\./)
  const after = await read(id)
  assert.deepEqual(after, {
    ...before,
    title: 'Corrected',
    speakers: ['Ada', 'Grace'],
    updated: after.updated,
  })
  const [latest] = (await revisions(id)).results
  assert.deepEqual([latest.by, latest.via, latest.fields], ['Ada', 'page', ['speakers', 'title']])
})

test('saving without a change writes nothing, also for texts with unusual line breaks', async () => {
  const { id } = await archive.make({
    title: 'A  talk ',
    summary: '\r\none\r\ntwo\rthree',
    description: '\n\n  indented\n\ttab \n',
    tags: ['a, b', 'c'],
    source_url: '',
  })
  const page = await open(ada, id)
  await save(ada, page, id, {})
  assert.equal((await revisions(id)).count, 1)
})

test('shows errors at their fields in the words of the API, and keeps what was typed', async () => {
  const { id } = await archive.make()
  const page = await open(ada, id)
  const reply = await save(ada, page, id, {
    title: '',
    category: 'Example Day',
    recorded: '2026-13-01',
    duration: 'long',
    source_url: 'javascript:alert(1)',
    summary: '<script>alert(1)</script>',
  })
  assert.equal(reply.status, 400)
  for (const field of ['title', 'category', 'recorded', 'duration', 'source_url'])
    assert.match(reply.html, new RegExp(`id="${field}-error"`), field)
  assert.match(reply.html, /must be a duration such as 45:00/)
  assert.match(reply.html, /is not an existing category; closest matches: Example Days 2026/)
  const { fields } = formTo(reply, `/desk/talk/${id}`)
  assert.equal(fields.duration, 'long')
  assert.ok(!reply.html.includes('<script>alert'))
  assert.equal((await revisions(id)).count, 1)
})

test('merges changes of different fields without a question', async () => {
  const { id } = await archive.make({ tags: ['one'] })
  const [mine, theirs] = [await open(ada, id), await open(grace, id)]
  assert.equal(
    (await save(grace, theirs, id, { summary: 'By Grace', tags: 'one\ntwo' })).status,
    303,
  )
  assert.equal((await save(ada, mine, id, { title: 'By Ada', tags: 'three\none' })).status, 303)
  const { title, summary, tags } = await read(id)
  assert.deepEqual([title, summary], ['By Ada', 'By Grace'])
  assert.deepEqual([...tags].sort(), ['one', 'three', 'two'])
})

/** Lets two people change the title, and returns the question that the second one gets. */
async function conflict() {
  const { id } = await archive.make({ title: 'Before', tags: ['one'] })
  const [mine, theirs] = [await open(ada, id), await open(grace, id)]
  await save(grace, theirs, id, { title: 'By Grace', tags: 'one\ntwo' })
  const changes = { title: 'By Ada', summary: 'By Ada too', tags: 'one\nthree' }
  return { id, page: await save(ada, mine, id, changes) }
}

for (const [choice, title] of [
  ['base', 'Before'],
  ['current', 'By Grace'],
  ['edited', 'By Ada'],
  ['other', 'By both'],
] as const)
  test(`asks about a field that both changed, and saves the choice: ${choice}`, async () => {
    const { id, page } = await conflict()
    assert.equal(page.status, 409)
    for (const text of ['Before', 'By Grace', 'By Ada']) assert.ok(page.html.includes(text))
    assert.ok(!page.html.includes('choice_summary'))
    assert.equal((await read(id)).title, 'By Grace')
    const answer = { choice_title: choice, other_title: 'By both' }
    const saved = await ada.submit(page, `/desk/talk/${id}/merge`, answer)
    assert.equal(saved.status, 303)
    const after = await read(id)
    assert.deepEqual([after.title, after.summary], [title, 'By Ada too'])
    assert.deepEqual([...after.tags].sort(), ['one', 'three', 'two'])
  })

test('asks again if others save once more before the answer', async () => {
  const { id, page } = await conflict()
  await save(grace, await open(grace, id), id, { title: 'Once more' })
  const again = await ada.submit(page, `/desk/talk/${id}/merge`, { choice_title: 'edited' })
  assert.equal(again.status, 409)
  assert.ok(again.html.includes('Once more'))
  const saved = await ada.submit(again, `/desk/talk/${id}/merge`, { choice_title: 'edited' })
  assert.equal(saved.status, 303)
  assert.equal((await read(id)).title, 'By Ada')
})

test('two people who save at the same time lose nothing', async () => {
  const { id } = await archive.make({ tags: ['start'] })
  const path = `/desk/talk/${id}`
  const saves = 40
  const editTogether = async (client: DeskClient, name: string, own: 'title' | 'summary') => {
    for (let number = 1; number <= saves; number++) {
      const page = await open(client, id)
      const tags = `${formTo(page, path).fields.tags}\r\n${name} ${number}`
      const text = `${name} ${number}`
      let reply = await save(client, page, id, { [own]: text, tags, description: text })
      // Both change the description: the later save keeps its own text.
      for (let attempt = 0; reply.status === 409 && attempt < 50; attempt++)
        reply = await client.submit(reply, `${path}/merge`, { choice_description: 'edited' })
      assert.equal(reply.status, 303, reply.html.slice(0, 500))
    }
  }
  await Promise.all([editTogether(ada, 'Ada', 'title'), editTogether(grace, 'Grace', 'summary')])
  const { title, summary, description, tags } = await read(id)
  assert.deepEqual([title, summary], [`Ada ${saves}`, `Grace ${saves}`])
  assert.match(description, new RegExp(`^(Ada|Grace) ${saves}$`))
  assert.equal(new Set(tags).size, 1 + 2 * saves)
  assert.equal((await revisions(id)).count, 1 + 2 * saves)
})

test('keeps what was typed until it is saved or discarded', async () => {
  const { id } = await archive.make({ title: 'Saved', summary: 'Old' })
  const path = `/desk/talk/${id}`
  const page = await open(ada, id)
  const form = formTo(page, path)
  const copyToken = form.attributes['data-copy-token'] ?? ''
  const typed = { ...form.fields, title: 'Typed', description: '**bold**', tags: 'brand new' }
  const reply = await ada.post(`${path}/copy`, { ...typed, form_token: copyToken })
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.json.errors, {})
  assert.match(reply.json.previews.description, /<strong>bold<\/strong>/)
  assert.deepEqual(reply.json.newNames, { speakers: [], tags: ['brand new'] })
  assert.equal((await read(id)).title, 'Saved')

  // Others see nothing of it, and what they save meanwhile is merged.
  assert.equal(formTo(await open(grace, id), path).fields.title, 'Saved')
  await save(grace, await open(grace, id), id, { summary: 'By Grace' })
  const restored = await open(ada, id)
  assert.match(restored.html, /changes that you did not save/)
  assert.equal(formTo(restored, path).fields.title, 'Typed')
  await save(ada, restored, id, {})
  const { title, summary } = await read(id)
  assert.deepEqual([title, summary], ['Typed', 'By Grace'])
  assert.doesNotMatch((await open(ada, id)).html, /did not save/)

  const next = await open(ada, id)
  const token = formTo(next, path).attributes['data-copy-token'] ?? ''
  const fields = formTo(next, path).fields
  await ada.post(`${path}/copy`, { ...fields, title: 'No', duration: 'x', form_token: token })
  const shown = await open(ada, id)
  assert.equal(formTo(shown, path).fields.title, 'No')
  await ada.submit(shown, `${path}/discard-copy`)
  assert.equal(formTo(await open(ada, id), path).fields.title, 'Typed')
})

test('previews a draft with what was typed, for editors only', async () => {
  const { id } = await archive.make({ state: 2, title: 'Drafted', summary: 'Old' })
  const path = `/desk/talk/${id}`
  const { fields, attributes } = formTo(await open(ada, id), path)
  const typed = {
    title: 'Typed',
    source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
    description: '**bold**',
    recorded: '2026-13-01',
    form_token: attributes['data-copy-token'] ?? '',
  }
  await ada.post(`${path}/copy`, { ...fields, ...typed })
  const page = await ada.get(`${path}/preview`)
  assert.equal(page.status, 200)
  assert.match(page.html, /<h1[^>]*>Typed<\/h1>/)
  assert.match(page.html, /<strong>bold<\/strong>/)
  assert.match(page.html, /data-player=[^>]*dQw4w9WgXcQ/)
  assert.match(page.html, new RegExp(`class="player-picture" src="${path}/picture"`))
  assert.match(String(page.headers['content-security-policy']), /frame-src https:\/\/www\.youtube/)
  assert.equal(page.headers['cache-control'], 'private, no-store')

  const picture = await ada.get(`${path}/picture`)
  assert.match(String(picture.headers['content-type']), /^image\//)
  assert.equal(picture.headers['cache-control'], 'private, no-store')

  // Others see the saved talk, and readers nothing.
  assert.match((await grace.get(`${path}/preview`)).html, /<h1[^>]*>Drafted<\/h1>/)
  assert.equal((await createDeskClient(archive).get(`${path}/preview`)).status, 303)
  assert.equal((await archive.call('GET', `/video/${id}`)).status, 404)
  assert.equal((await ada.get('/desk/talk/999999/preview')).status, 404)
})

test('reports errors of what was typed', async () => {
  const { id } = await archive.make()
  const form = formTo(await open(ada, id), `/desk/talk/${id}`)
  const reply = await ada.post(`/desk/talk/${id}/copy`, {
    ...form.fields,
    recorded: 'yesterday',
    tags: 'x'.repeat(300),
    form_token: form.attributes['data-copy-token'] ?? '',
  })
  assert.deepEqual(Object.keys(reply.json.errors).sort(), ['recorded', 'tags'])
})

test('a copy goes with its talk when that is taken down', async () => {
  const { id } = await archive.make()
  const form = formTo(await open(grace, id), `/desk/talk/${id}`)
  const copy = {
    ...form.fields,
    title: 'Typed',
    form_token: form.attributes['data-copy-token'] ?? '',
  }
  await grace.post(`/desk/talk/${id}/copy`, copy)
  const page = await ada.get(`/desk/talk/${id}/takedown`)
  assert.equal((await ada.submit(page, `/desk/talk/${id}/takedown`, { reason: '' })).status, 400)
  const reply = await ada.submit(page, `/desk/talk/${id}/takedown`, { reason: 'On request' })
  assert.equal(reply.status, 303)
  assert.equal((await archive.call('GET', `/api/v2/video/${id}`)).status, 410)
  assert.equal((await open(ada, id)).status, 410)
  await withDatabase(archive.databaseUrl, async (query) => {
    assert.deepEqual(await query(`select from working_copy where video_id = ${id}`), [])
  })
})

test('publishes a draft, and makes a draft of a talk', async () => {
  const { id } = await archive.make({ state: 2 })
  const page = await open(ada, id)
  await save(ada, page, id, { title: 'Published', state: '1' })
  assert.equal((await archive.call('GET', `/api/v2/video/${id}`)).json.title, 'Published')
  await save(ada, await open(ada, id), id, { state: '2' })
  assert.equal((await archive.call('GET', `/api/v2/video/${id}`)).status, 404)
})

test('schedules a draft, also with changes that others made too, and cancels it', async () => {
  const { id } = await archive.make({ state: 2, title: 'Before' })
  const year = new Date().getUTCFullYear() + 1
  const publishAt = async () =>
    (await archive.call('GET', `/api/v2/video/${id}/publication`, { token: archive.editor })).json
  const [mine, theirs] = [await open(ada, id), await open(grace, id)]

  // A wrong time saves nothing.
  for (const publish_at of ['', 'soon', '2020-01-01T09:00']) {
    const reply = await save(ada, mine, id, { schedule: '1', publish_at, title: 'Not saved' })
    assert.equal(reply.status, 400)
    assert.match(reply.html, /id="publish_at-error"/)
    assert.equal((await read(id)).title, 'Before')
  }

  // Without scripts the field is in UTC.
  const fields = { schedule: '1', publish_at: `${year}-05-01T10:30`, title: 'By Ada' }
  assert.equal((await save(ada, mine, id, fields)).status, 303)
  assert.deepEqual(await publishAt(), { publish_at: `${year}-05-01T10:30:00Z`, by: 'Ada' })

  const utc = { publish_at: `${year}-05-01T12:30`, publish_at_utc: `${year}-05-01T11:30:00.000Z` }
  const asked = await save(grace, theirs, id, { schedule: '1', ...utc, title: 'By Grace' })
  assert.equal(asked.status, 409)
  const answer = { choice_title: 'edited' }
  assert.equal((await grace.submit(asked, `/desk/talk/${id}/merge`, answer)).status, 303)
  assert.deepEqual(await publishAt(), { publish_at: `${year}-05-01T11:30:00Z`, by: 'Grace' })
  assert.equal((await read(id)).title, 'By Grace')

  const page = await open(ada, id)
  assert.match(page.html, new RegExp(`This draft goes live on May 1, ${year}, 11:30 AM UTC`))
  await ada.submit(page, `/desk/talk/${id}/cancel-publication`)
  assert.equal((await publishAt()).publish_at, null)
})

test('creates a talk', async () => {
  const page = await ada.get('/desk/talk/new')
  const empty = await ada.submit(page, '/desk/talk/new', { state: '1' })
  assert.equal(empty.status, 400)
  for (const field of ['title', 'category', 'language'])
    assert.match(empty.html, new RegExp(`id="${field}-error"`), field)
  const fields = { title: 'New', category, language: 'English', speakers: 'Ada', state: '1' }
  const created = await ada.submit(page, '/desk/talk/new', fields)
  const id = Number(/\/desk\/talk\/(\d+)/.exec(String(created.headers.location))?.[1])
  const { title, speakers, state } = await read(id)
  assert.deepEqual([title, speakers, state], ['New', ['Ada'], 1])
})

test('an editor of an event edits the talks of that event only', async () => {
  const other = 'Other Days 2026'
  await archive.call('POST', '/api/v2/category', { token: archive.editor, body: { title: other } })
  const { id: person, client } = await signIn(archive, 'Eve', 'suggester')
  const [mine, foreign] = [await archive.make(), await archive.make({ category: other })]
  assert.equal((await open(client, mine.id)).status, 403)
  await setEventEditor(archive.pool, person, category, true, operator)
  const attempt = async (id: number, fields: Record<string, string>) =>
    (await save(client, await open(client, id), id, fields)).status
  assert.equal(await attempt(mine.id, { title: 'By Eve' }), 303)
  assert.equal(await attempt(foreign.id, { title: 'By Eve' }), 403)
  assert.equal(await attempt(mine.id, { category: other }), 403)
  const page = await client.get('/desk/talk/new')
  const talk = { title: 'New', language: 'English' }
  const create = async (event: string) =>
    (await client.submit(page, '/desk/talk/new', { ...talk, category: event })).status
  assert.equal(await create(category), 303)
  assert.equal(await create(other), 403)
  for (const path of ['/desk/people', '/desk/tokens', `/desk/talk/${mine.id}/takedown`])
    assert.equal((await client.get(path)).status, 403, path)
})

test('refuses forms that are no edit of a version', async () => {
  const { id } = await archive.make()
  const page = await open(ada, id)
  for (const revision of ['', '0', '7', 'x', '99999999999'])
    assert.ok([400, 404].includes((await save(ada, page, id, { revision })).status), revision)
  const big = await save(ada, page, id, { description: 'x'.repeat(1_100_000) })
  assert.equal(big.status, 413)
  const long = await save(ada, page, id, { description: 'x'.repeat(100_001) })
  assert.equal(long.status, 400)
  assert.equal((await save(ada, page, id, { description: 'é'.repeat(100_000) })).status, 303)
})

test('lists talks and drafts, and leads from one to the next', async () => {
  const ids: number[] = []
  for (let number = 1; number <= 3; number++)
    ids.push((await archive.make({ title: `Zebra ${number}`, state: 2 })).id)
  const { html } = await ada.get('/desk/talks?state=draft&q=zEBRA')
  const [newest, middle, oldest] = ids.toReversed()
  const links = [...html.matchAll(/\/desk\/talk\/(\d+)\?list=/g)].map(([, id]) => Number(id))
  assert.deepEqual(links, [newest, middle, oldest])
  const list = encodeURIComponent('q=zebra&state=draft')
  const page = await ada.get(`/desk/talk/${middle}?list=${list}`)
  assert.match(page.html, new RegExp(`/desk/talk/${newest}\\?list=[^"]*" rel="prev"`))
  assert.match(page.html, new RegExp(`/desk/talk/${oldest}\\?list=[^"]*" rel="next"`))
  const saved = await save(ada, page, middle as number, { summary: 'Edited in a list' })
  assert.match(String(saved.headers.location), /list=q%3Dzebra%26state%3Ddraft$/)
  assert.equal((await read(middle as number)).summary, 'Edited in a list')
  assert.doesNotMatch((await ada.get('/desk/talks?q=zebra')).html, /Zebra/)
  assert.equal((await ada.get('/desk/talks?page=x&q=%00')).status < 500, true)
})

test('the first page shows what waits for the person', async () => {
  const { client } = await signIn(archive, 'Ines', 'editor')
  const suggester = (await signIn(archive, 'Sam', 'suggester')).client
  const { id } = await archive.make({ state: 2, title: 'Waits <b>here</b>' })
  const path = `/desk/talk/${id}`
  assert.doesNotMatch((await client.get('/desk')).html, /Waits/)

  const page = await open(client, id)
  const { fields, attributes } = formTo(page, path)
  const copy = { ...fields, title: 'Typed', form_token: attributes['data-copy-token'] ?? '' }
  assert.equal((await client.post(`${path}/copy`, copy)).status, 200)
  assert.match((await client.get('/desk')).html, /Waits &lt;b>here.*typed [^,]+, not saved/s)

  const publish_at = `${new Date().getUTCFullYear() + 1}-05-01T10:30`
  await save(client, page, id, { schedule: '1', publish_at })
  const shown = (await client.get('/desk')).html
  assert.doesNotMatch(shown, /not saved/)
  assert.match(shown, /Going live.*May 1, \d{4}, 10:30 AM UTC \([^)]+\), by Ines/s)

  const { json } = await archive.call('POST', '/api/v2/import', {
    body: { text: 'title\nPlanned\n', format: 'csv', category, language: 'en', name: 'plan.csv' },
    token: archive.editor,
  })
  assert.match((await client.get('/desk')).html, /plan\.csv<\/a>.*by Edith, /s)
  assert.doesNotMatch((await suggester.get('/desk')).html, /plan\.csv|Going live/)
  await archive.call('POST', `/api/v2/import/${json.id}/discard`, { token: archive.editor })
  assert.doesNotMatch((await client.get('/desk')).html, /plan\.csv/)
})
