import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactLinks } from '../../server/desk/sign-in.ts'
import { createDeskClient, signIn } from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// Links with which speakers confirm and correct their own talks, without an account.

const archive = await startArchive()
const { client: desk } = await signIn(archive, 'Edith', 'editor')
const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
const talk = await archive.make({ title: 'Own talk', speakers: ['Ada Link'] })
const draft = await archive.make({ title: 'Hidden draft', speakers: ['Ada Link'], state: 2 })
const foreign = await archive.make({ title: 'Of others', speakers: ['Bob'] })
const links = '/desk/speaker/ada-link/links'

/** Creates a link on the desk and returns its path. */
async function createLink(): Promise<string> {
  const page = await desk.submit(await desk.get(links), links)
  const [, path = ''] = /https?:\/\/[^/]+(\/confirm\/[\w-]{43})/.exec(page.html) ?? []
  assert.ok(path, page.html.slice(0, 2000))
  return path
}

const speaker = createDeskClient(archive)

test('shows the talks of the speaker only, and is neither cached nor indexed', async () => {
  const path = await createLink()
  const { status, html, headers } = await speaker.get(path)
  assert.equal(status, 200)
  assert.match(html, /Own talk/)
  assert.doesNotMatch(html, /Hidden draft|Of others/)
  assert.match(String(headers['x-robots-tag']), /noindex/)
  assert.match(String(headers['cache-control']), /no-store/)
  assert.equal(headers['referrer-policy'], 'same-origin')
  for (const id of [draft.id, foreign.id])
    assert.equal((await speaker.get(`${path}/talk/${id}`)).status, 404)
})

test('stores only a hash, and no secret in a log', async () => {
  const path = await createLink()
  const secret = path.split('/').at(-1) ?? ''
  const rows = await query('select encode(hash, $$escape$$) as hash from speaker_link')
  assert.ok(!JSON.stringify(rows).includes(secret))
  assert.ok(!redactLinks(`/confirm/${secret}/talk/1`).includes(secret))
  assert.ok(!redactLinks(`/desk/sign-in?to=%2Fconfirm%2F${secret}`).includes(secret))
})

test('confirms a talk in its revision; an edit needs another confirmation', async () => {
  const path = await createLink()
  const done = await speaker.submit(await speaker.get(path), path)
  assert.match((await speaker.follow(done)).html, /You confirmed it on/)
  assert.match((await desk.get(links)).html, /Own talk[^<]*<\/a>\s*revision 1,/)
  // A talk of others is ignored.
  await speaker.post(path, { action: 'confirm', video: `${foreign.id}.1` })
  assert.equal((await query('select from speaker_confirmation')).length, 1)
  await archive.call('PATCH', `/api/v2/video/${talk.id}`, {
    token: archive.editor,
    body: { summary: 'Edited' },
  })
  assert.doesNotMatch((await speaker.get(path)).html, /You confirmed it on/)
})

test('only the revision that the page showed is confirmed', async () => {
  const path = await createLink()
  const page = await speaker.get(path)
  await archive.call('PATCH', `/api/v2/video/${talk.id}`, {
    token: archive.editor,
    body: { summary: 'Edited after the page was opened' },
  })
  const before = await query('select video_id, revision from speaker_confirmation')
  const sent = await speaker.follow(await speaker.submit(page, path))
  assert.match(sent.html, /changed since you opened this page/)
  assert.doesNotMatch(sent.html, /You confirmed it on/)
  assert.deepEqual(await query('select video_id, revision from speaker_confirmation'), before)
})

test('links and confirmations of a merged speaker are listed, and can be revoked', async () => {
  const merged = await archive.make({ title: 'Merged talk', speakers: ['Ada B. Link'] })
  const own = '/desk/speaker/ada-b-link/links'
  const created = await desk.submit(await desk.get(own), own)
  const [, path = ''] = /https?:\/\/[^/]+(\/confirm\/[\w-]{43})/.exec(created.html) ?? []
  await speaker.submit(await speaker.get(path), path)
  const { status } = await archive.call('POST', '/api/v2/speaker/ada-b-link/merge', {
    token: archive.editor,
    body: { into: 'ada-link' },
  })
  assert.equal(status, 200)
  assert.match((await speaker.get(path)).html, /Own talk/)
  const page = await desk.get(links)
  assert.match(page.html, new RegExp(`/desk/talk/${merged.id}"[^>]*>Merged talk`))
  const [row] = await query('select max(id) as id from speaker_link')
  const form = page.forms.find(({ fields }) => fields.revoke === String(row?.id))
  assert.ok(form, 'a form that revokes the link')
  await desk.post(links, form.fields)
  assert.equal((await speaker.get(path)).status, 404)
})

test('a correction is a suggestion from the speaker, which an editor decides', async () => {
  const path = `${await createLink()}/talk/${talk.id}`
  const page = await speaker.get(path)
  const form = page.forms.find(({ fields }) => fields.kind === 'correction')
  assert.ok(form)
  const fields = { ...form.fields, title: 'Own talk, corrected' }
  const sent = await speaker.follow(await speaker.post(path, fields))
  assert.match(sent.html, /An editor will look at it/)
  const { html } = await desk.get('/desk')
  assert.match(html, /from the speaker/)
  assert.match(html, /Own talk/)
  assert.equal(
    (await archive.call('GET', `/api/v2/video/${talk.id}`)).json.title,
    'Own talk',
    'nothing changes before the decision',
  )
  const nothing = await speaker.post(path, (await speaker.get(path)).forms[0]?.fields ?? {})
  assert.equal(nothing.status, 400)
  const wrong = await speaker.post(path, { ...form.fields, title: '' })
  assert.equal(wrong.status, 400)
  const removal = await speaker.post(path, { kind: 'removal', why: 'Please' })
  assert.equal(removal.status, 303)
  const stored = await query('select kind from suggestion order by id')
  assert.deepEqual(
    stored.map(({ kind }) => kind),
    ['correction', 'removal'],
  )
  assert.equal((await query('select from speaker_suggestion')).length, 2)
})

test('requests wait in the inbox; their texts are deleted when they are done', async () => {
  const path = await createLink()
  for (const kind of ['profile', 'name', 'removal']) {
    const sent = await speaker.post(path, { action: kind, [`${kind}_comment`]: `Please: ${kind}` })
    assert.match(String(sent.headers.location), /done=sent/)
  }
  const empty = await speaker.post(path, { action: 'name', name_comment: ' ' })
  assert.match(String(empty.headers.location), /done=empty/)
  const inbox = await desk.get('/desk')
  assert.match(inbox.html, /Please: name/)
  // Names are changed by administrators.
  assert.match(inbox.html, /href="\/desk\/speaker\/ada-link"/)
  const closing = inbox.forms.find(({ action }) => action.startsWith('/desk/speaker-request/'))
  await desk.submit(inbox, closing?.action ?? '')
  const rows = await query(`select comment from speaker_request order by id`)
  assert.deepEqual(
    rows.map(({ comment }) => comment),
    ['', 'Please: name', 'Please: removal'],
  )
  for (let count = 0; count < 10; count++)
    await speaker.post(path, { action: 'name', name_comment: `More ${count}` })
  const full = await speaker.post(path, { action: 'name', name_comment: 'Too many' })
  assert.match(String(full.headers.location), /done=full/)
  assert.equal((await query('select from speaker_request where closed is null')).length, 10)
})

test('a link that is revoked, expired, unknown or one of too many does not work', async () => {
  const [first, second] = [await createLink(), await createLink()]
  const page = await desk.get(links)
  const newest = page.forms.find(({ fields }) => fields.revoke !== undefined)
  await desk.post(links, { ...newest?.fields })
  assert.equal((await speaker.get(second)).status, 404)
  assert.equal((await speaker.post(second, { action: 'confirm' })).status, 404)
  assert.equal((await speaker.get(first)).status, 200)
  for (let count = 0; count < 3; count++) await createLink()
  assert.equal((await speaker.get(first)).status, 404)
  const last = await createLink()
  await query(`update speaker_link set expires = now() - interval '1 second'`)
  assert.equal((await speaker.get(last)).status, 404)
  for (const path of ['/confirm/x', `/confirm/${'a'.repeat(43)}`])
    assert.equal((await speaker.get(path)).status, 404)
})

test('a form of another site is refused', async () => {
  const path = await createLink()
  const reply = await speaker.post(
    path,
    { action: 'name', name_comment: 'Forged' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  )
  assert.equal(reply.status, 403)
})
