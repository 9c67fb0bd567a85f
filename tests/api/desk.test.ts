import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deskPaths } from '@talkshelf/web'
import { invitePerson, setDisabled, setEventEditor } from '../../server/auth/auth.ts'
import { proposeReplacement } from '../../server/links/links.ts'
import { beginNameChange } from '../../server/name-changes/name-changes.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { playlistJson, scheduleJson } from '../support/conference.ts'
import {
  createDeskClient,
  type DeskClient,
  formTo,
  operator,
  passkeyOptions,
  signIn,
} from '../support/desk-client.ts'
import { feedIsComplete } from '../support/feed-replay.ts'
import { call, category, openArchive, spawnServer, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The pages for people who sign in: who sees them, what their forms do, and the audit log.

const archive = await startArchive()
const personRoles = ['suggester', 'editor', 'admin'] as const
type PersonRole = (typeof personRoles)[number]

const people = {
  suggester: await signIn(archive, 'Sue', 'suggester'),
  editor: await signIn(archive, 'Edith', 'editor'),
  admin: await signIn(archive, 'Ada', 'admin'),
}
const anyone = createDeskClient(archive)
await archive.call('POST', '/api/v2/category', {
  token: archive.editor,
  body: { title: 'Other Days' },
})
const eventEditors = [
  { event: category, of: 'this event', ...(await signIn(archive, 'Evi', 'suggester')) },
  { event: 'Other Days', of: 'another event', ...(await signIn(archive, 'Otto', 'suggester')) },
]
for (const { id, event } of eventEditors)
  await setEventEditor(archive.pool, id, event, true, operator)
const planned = await archive.call('POST', '/api/v2/import', {
  token: archive.editor,
  body: { text: 'title\nA talk', format: 'csv' },
})
const plannedImport: number = planned.json.id

await feedIsComplete(archive)
const created = await archive.call('POST', '/api/v2/webhook', {
  token: archive.admin,
  body: { url: 'https://127.0.0.1/' },
})
const webhook: number = created.json.webhook.id

const followed = await archive.call('POST', '/api/v2/followed-source', {
  token: archive.editor,
  body: { url: 'https://127.0.0.1/schedule.json' },
})
const followedSource: number = followed.json.id

const { id: talk } = await archive.make({ title: 'A talk', state: 2 })
// Slugs of digits, which the test below replaces like ids.
await archive.make({ speakers: ['101', '102'], tags: ['101', '102'] })
await archive.make({ category, speakers: ['101'], tags: ['101'] })
for (const title of ['101', '102'])
  await archive.call('POST', '/api/v2/category', { token: archive.editor, body: { title } })
for (const kind of ['speaker', 'tag', 'category'])
  await archive.call('POST', `/api/v2/${kind}/102/merge`, {
    token: archive.editor,
    body: { into: '101' },
  })
for (const [path, field] of [
  ['speaker/101', 'picture_url'],
  ['category/101', 'logo_url'],
] as const)
  await archive.call('PATCH', `/api/v2/${path}`, {
    token: archive.editor,
    body: { [field]: 'https://localhost/picture.png' },
  })
const entityUrls = (['speaker', 'tag', 'event'] as const).flatMap(
  (kind): [method: 'GET' | 'POST', path: string, role: PersonRole][] => [
    ['GET', `/desk/${kind}s`, 'editor'],
    ['GET', `/desk/${kind}s/merge?into=101&group=102`, 'editor'],
    ['POST', `/desk/${kind}s/merge`, 'editor'],
    ['GET', `/desk/${kind}/101`, 'editor'],
    ['POST', `/desk/${kind}/101`, 'editor'],
    ['GET', `/desk/${kind}/102/unmerge`, 'editor'],
    ['POST', `/desk/${kind}/102/unmerge`, 'editor'],
  ],
)
const suggested = await archive.call('POST', '/api/v2/suggestion', {
  token: archive.editor,
  body: { kind: 'correction', video: (await archive.make()).id, comment: 'It is wrong' },
})
const suggestion: number = suggested.json.id
const watched = await archive.make({ source_url: 'https://videos.example/watched.mp4' })
const { json: sourcesOfTalk } = await archive.call('GET', `/api/v2/video/${watched.id}/sources`)
const source: number = sourcesOfTalk.results[0].id
await proposeReplacement(archive.pool, {
  source,
  url: 'https://copies.example/watched.mp4',
  finder: 'wayback',
  evidence: null,
})
const { json: replacements } = await archive.call('GET', '/api/v2/replacement', {
  token: archive.editor,
})
const replacement: number = replacements.results[0].id
const matched = await archive.call('POST', '/api/v2/match', {
  token: archive.editor,
  body: { schedule: { text: scheduleJson() }, playlist: { text: playlistJson() } },
})
const match: number = matched.json.id
const { json: renamed } = await archive.call('GET', '/api/v2/speaker/101')
const nameChange = await beginNameChange(
  archive.pool,
  { speaker: renamed.id, name: 'Another Name', oldNames: [renamed.name], inLinks: false },
  operator,
)
/** Lists the pages and forms of the desk with the role that each needs. */
const urls: [method: 'GET' | 'POST', path: string, role: PersonRole][] = [
  ['GET', '/desk', 'suggester'],
  ['GET', '/desk/talks', 'editor'],
  ['GET', '/desk/edit', 'editor'],
  ['POST', '/desk/edit', 'editor'],
  ['GET', '/desk/talk/new', 'editor'],
  ['GET', `/desk/talk/${talk}`, 'editor'],
  ['GET', `/desk/talk/${talk}/takedown`, 'admin'],
  ['POST', '/desk/talk/new', 'editor'],
  ['POST', `/desk/talk/${talk}`, 'editor'],
  ['POST', `/desk/talk/${talk}/merge`, 'editor'],
  ['POST', `/desk/talk/${talk}/copy`, 'editor'],
  ['GET', `/desk/talk/${talk}/preview`, 'editor'],
  ['GET', `/desk/talk/${talk}/picture`, 'editor'],
  ['POST', `/desk/talk/${talk}/discard-copy`, 'editor'],
  ['POST', `/desk/talk/${talk}/cancel-publication`, 'editor'],
  ['POST', `/desk/talk/${talk}/takedown`, 'admin'],
  ['GET', `/desk/talk/${talk}/same`, 'editor'],
  ['POST', `/desk/talk/${talk}/same`, 'editor'],
  ['POST', `/desk/talk/${talk}/unmerge`, 'editor'],
  ['GET', '/desk/quality', 'editor'],
  ['GET', '/desk/quality/no-date', 'editor'],
  ['POST', '/desk/quality/no-date/fix', 'editor'],
  ['GET', '/desk/links', 'editor'],
  ['POST', `/desk/links/${source}/check`, 'editor'],
  ['POST', `/desk/links/${source}/pin`, 'editor'],
  ['POST', '/desk/links/pin-host', 'editor'],
  ['POST', `/desk/replacement/${replacement}/accept`, 'editor'],
  ['POST', `/desk/replacement/${replacement}/refuse`, 'editor'],
  ['GET', '/desk/account', 'suggester'],
  ['GET', '/desk/confirm', 'suggester'],
  ['GET', '/desk/people', 'admin'],
  ['GET', `/desk/people/${people.editor.id}`, 'admin'],
  ['GET', '/desk/tokens', 'admin'],
  ['GET', '/desk/webhooks', 'admin'],
  ['GET', `/desk/webhooks/${webhook}`, 'admin'],
  ['POST', '/desk/webhooks', 'admin'],
  ['POST', `/desk/webhooks/${webhook}`, 'admin'],
  ['POST', `/desk/webhooks/${webhook}/ping`, 'admin'],
  ['POST', `/desk/webhooks/${webhook}/secret`, 'admin'],
  ['POST', `/desk/webhooks/${webhook}/replay`, 'admin'],
  ['POST', `/desk/webhooks/${webhook}/enable`, 'admin'],
  ['POST', `/desk/webhooks/${webhook}/disable`, 'admin'],
  ['POST', `/desk/webhooks/${webhook}/delete`, 'admin'],
  ['GET', '/desk/followed-sources', 'editor'],
  ['GET', `/desk/followed-sources/${followedSource}`, 'editor'],
  ['POST', '/desk/followed-sources', 'editor'],
  ['POST', `/desk/followed-sources/${followedSource}`, 'editor'],
  ['POST', `/desk/followed-sources/${followedSource}/fetch`, 'editor'],
  ['POST', `/desk/followed-sources/${followedSource}/pause`, 'editor'],
  ['POST', `/desk/followed-sources/${followedSource}/resume`, 'editor'],
  ['POST', `/desk/followed-sources/${followedSource}/delete`, 'editor'],
  ['GET', `/desk/suggestion/${suggestion}`, 'editor'],
  ['POST', `/desk/suggestion/${suggestion}/accept`, 'editor'],
  ['POST', `/desk/suggestion/${suggestion}/decline`, 'editor'],
  ['POST', `/desk/suggestion/${suggestion}/reopen`, 'editor'],
  ['GET', '/desk/audit', 'admin'],
  ['GET', `/desk/talk/${talk}/history`, 'editor'],
  ['POST', '/desk/sign-out', 'suggester'],
  ['POST', '/desk/confirm', 'suggester'],
  ['POST', '/desk/confirm/openid', 'suggester'],
  ['POST', '/desk/account/connect', 'suggester'],
  ['POST', '/desk/account/remove-identity', 'suggester'],
  ['POST', '/desk/account/add-passkey', 'suggester'],
  ['POST', '/desk/account/remove-passkey', 'suggester'],
  ['POST', '/desk/account/end-session', 'suggester'],
  ['POST', '/desk/account/end-other-sessions', 'suggester'],
  ['POST', '/desk/people', 'admin'],
  ['POST', `/desk/people/${people.editor.id}`, 'admin'],
  ['POST', `/desk/people/${people.editor.id}/events`, 'admin'],
  ['POST', `/desk/people/${people.editor.id}/link`, 'admin'],
  ['POST', `/desk/people/${people.editor.id}/end-sessions`, 'admin'],
  ['POST', `/desk/people/${people.editor.id}/disabled`, 'admin'],
  ['POST', '/desk/tokens', 'admin'],
  ['POST', '/desk/tokens/revoke', 'admin'],
  ['POST', `/desk/talk/${talk}/revert`, 'editor'],
  ['GET', '/desk/match', 'editor'],
  ['POST', '/desk/match', 'editor'],
  ['GET', `/desk/match/${match}`, 'editor'],
  ['POST', `/desk/match/${match}/decide`, 'editor'],
  ['POST', `/desk/match/${match}/undo`, 'editor'],
  ['POST', `/desk/match/${match}/plan`, 'editor'],
  ['POST', `/desk/match/${match}/discard`, 'editor'],
  ['GET', '/desk/import', 'editor'],
  ['POST', '/desk/import', 'editor'],
  ['GET', `/desk/import/${plannedImport}`, 'editor'],
  ['GET', `/desk/import/${plannedImport}/refused`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/decide`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/decide-all`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/same`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/apply`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/stop`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/undo`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/redo`, 'editor'],
  ['POST', `/desk/import/${plannedImport}/discard`, 'editor'],
  ...entityUrls,
  ['GET', '/desk/speaker/101/split', 'editor'],
  ['POST', '/desk/speaker/101/split', 'editor'],
  ['GET', '/desk/speaker/101/name', 'admin'],
  ['POST', '/desk/speaker/101/name', 'admin'],
  ['GET', '/desk/speaker/101/links', 'editor'],
  ['POST', '/desk/speaker/101/links', 'editor'],
  ['POST', '/desk/speaker-request/1/close', 'editor'],
  ['GET', `/desk/name-change/${nameChange}`, 'admin'],
  ['POST', `/desk/name-change/${nameChange}`, 'admin'],
  ['POST', '/desk/speaker/101/profile', 'editor'],
  ['GET', '/desk/speaker/101/picture', 'editor'],
  ['GET', '/desk/event/101/picture', 'editor'],
  ['POST', '/desk/event/101/profile', 'editor'],
]

test('the list above has every page and form of the desk', async () => {
  const isListed = (method: string, path: string) =>
    urls.some(
      ([own, listed]) =>
        own === method && listed.split('?')[0]?.replace(/\/(\d+|no-date)/, '/:id') === path,
    )
  for (const [name, value] of Object.entries(deskPaths)) {
    if (
      ['signIn', 'mailLink', 'link', 'linkCode', 'openid', 'openidLink', 'openidCallback'].includes(
        name,
      )
    )
      continue
    const path = typeof value === 'string' ? value : value(':id')
    for (const method of ['GET', 'POST']) {
      if (isListed(method, path)) continue
      const { status } = await archive.call(method, path.replace(':id', '1'))
      assert.equal(status, 405, `${method} ${path}`)
    }
  }
})

const attempt = (client: DeskClient, method: 'GET' | 'POST', path: string) =>
  method === 'GET' ? client.get(path) : client.post(path, {})

for (const [method, path, role] of urls) {
  test(`${method} ${path}: refuses anyone`, async () => {
    const { status, headers } = await attempt(anyone, method, path)
    assert.equal(status, 303)
    assert.match(String(headers.location), /^\/desk\/sign-in\?to=/)
  })
  for (const own of personRoles) {
    const isAllowed = personRoles.indexOf(own) >= personRoles.indexOf(role)
    test(`${method} ${path}: ${isAllowed ? 'allows' : 'refuses'} ${own}`, async () => {
      const { status, html } = await attempt(people[own].client, method, path)
      if (!isAllowed) {
        assert.equal(status, 403)
        assert.match(html, /You may not do that/)
        // A form without its token is refused for that reason.
      } else if (method === 'POST') {
        assert.equal(status, 403)
        assert.doesNotMatch(html, /You may not do that/)
      } else assert.equal(status, 200)
    })
  }
}

/** What editors of single events get: only their own bulk edits are theirs among imports. */
function accessOfEventEditors(
  path: string,
  role: PersonRole,
  of: string,
): 'allows' | 'refuses' | 'own only' {
  if (role === 'suggester') return 'allows'
  if (role === 'admin') return 'refuses'
  if (/^[/]desk[/](talks?|edit)([/?]|$)/.test(path)) return 'allows'
  if (/^[/]desk[/](suggestion|replacement)[/]/.test(path))
    return of === 'this event' ? 'allows' : 'own only'
  return /^[/]desk[/]import[/]/.test(path) ? 'own only' : 'refuses'
}

for (const { client, of } of eventEditors)
  for (const [method, path, role] of urls) {
    const access = accessOfEventEditors(path, role, of)
    test(`${method} ${path}: ${access} editor of ${of}`, async () => {
      const { status, html } = await attempt(client, method, path)
      assert.equal(status, access === 'allows' && method === 'GET' ? 200 : 403)
      // A form without its token, and an import of others, are refused for that reason.
      const isRefused = /You may not do that/.test(html)
      assert.equal(isRefused, access === 'refuses')
    })
  }

test('editors of another event change nothing, whichever form they send', async () => {
  const [own, foreign] = eventEditors.map(({ client }) => client) as [DeskClient, DeskClient]
  const { id } = await archive.make({ state: 2, title: 'Theirs' })
  const path = `/desk/talk/${id}`
  const year = new Date().getUTCFullYear() + 1
  const statuses = async (client: DeskClient, title: string) => {
    const page = await client.get(path)
    const edit = { title, schedule: '1', publish_at: `${year}-01-01T10:00` }
    const saved = await client.submit(page, path, edit)
    const scheduled = await client.get(path)
    const cancelled = await client.submit(scheduled, `${path}/cancel-publication`)
    return [saved.status, cancelled.status]
  }
  const read = async () =>
    (await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })).json
  assert.deepEqual(await statuses(own, 'Changed'), [303, 303])
  await archive.call('PATCH', `/api/v2/video/${id}`, {
    token: archive.editor,
    body: { title: 'Another' },
  })
  await archive.call('PUT', `/api/v2/video/${id}/publication`, {
    token: archive.editor,
    body: { publish_at: `${year}-01-01T10:00Z` },
  })
  const before = await read()
  assert.deepEqual(await statuses(foreign, 'Foreign'), [403, 403])
  assert.doesNotMatch((await foreign.get(`${path}/history`)).html, /Revert/)
  assert.deepEqual(await read(), before)
})

test('an administrator invites, changes, disables and enables a person', async () => {
  const { client } = people.admin
  const page = await client.get('/desk/people')
  const empty = await client.submit(page, '/desk/people', { name: ' ' })
  assert.equal(empty.status, 400)
  assert.match(empty.html, /The name must have 1 to 100 characters, on one line/)
  const invited = await client.submit(page, '/desk/people', {
    name: 'Grace <b>Hopper',
    mail: 'grace@example.org',
    role: 'editor',
  })
  assert.equal(invited.status, 200)
  assert.match(invited.html, /Send this link to Grace &lt;b>Hopper/)
  const [, secret] = /localhost\/desk\/link\/([\w-]{43})/.exec(invited.html) ?? []
  const [, code] = /value="(\d{6})"/.exec(invited.html) ?? []
  const [, id] = /\/desk\/people\/(\d+)/.exec(invited.html) ?? []
  const grace = createDeskClient(archive)
  await grace.post(`/desk/link/${secret}/code`, { code: String(code) })
  assert.equal((await grace.get('/desk')).status, 200)

  const taken = await client.submit(page, '/desk/people', {
    name: 'Another',
    mail: 'Grace@example.org',
  })
  assert.equal(taken.status, 400)
  assert.match(taken.html, /Another person has the mail address/)
  assert.equal(formTo(taken, '/desk/people').fields.name, 'Another')

  const person = await client.get(`/desk/people/${id}`)
  const saved = await client.submit(person, `/desk/people/${id}`, { name: 'Grace', role: 'admin' })
  assert.match((await client.follow(saved)).html, /Saved/)
  assert.equal((await grace.get('/desk/people')).status, 200, 'the role counts at once')

  const disabled = await client.submit(person, `/desk/people/${id}/disabled`)
  const shown = await client.follow(disabled)
  assert.match(shown.html, /can no longer sign in/)
  assert.equal((await grace.get('/desk')).status, 303)
  const enabled = await client.submit(shown, `/desk/people/${id}/disabled`)
  assert.match((await client.follow(enabled)).html, /can sign in again/)
  assert.equal((await grace.get('/desk')).status, 303, 'the sessions stay ended')
})

test('an administrator lets a person edit the talks of an event', async () => {
  const { client } = people.admin
  const { id } = await signIn(archive, 'Eve', 'suggester')
  const page = await client.get(`/desk/people/${id}`)
  const path = `/desk/people/${id}/events`
  const unknown = await client.submit(page, path, { event: 'Example Day 2026' })
  assert.equal(unknown.status, 400)
  assert.match(unknown.html, /is not an existing category.*Example Days 2026/)
  const added = await client.submit(page, path, { event: category })
  assert.equal(added.status, 303)
  const changed = await client.get(`/desk/people/${id}`)
  assert.match(changed.html, new RegExp(`Remove: ${category}`))
  assert.match((await client.get('/desk/people')).html, new RegExp(`edits ${category}`))
  await client.submit(changed, path, { event: category, remove: '1' })
  assert.doesNotMatch((await client.get(`/desk/people/${id}`)).html, /Remove: Example/)
  const { html } = await client.get('/desk/audit')
  assert.match(html, /took an event from\s+Eve/)
})

test('saving a name does not bring an earlier role back', async () => {
  const { client } = people.admin
  const { id } = await signIn(archive, 'Bob', 'admin')
  const opened = await client.get(`/desk/people/${id}`)
  const demoted = await client.submit(opened, `/desk/people/${id}`, { role: 'suggester' })
  assert.match((await client.follow(demoted)).html, /Saved/)
  const renamed = await client.submit(opened, `/desk/people/${id}`, { name: 'Robert' })
  assert.match((await client.follow(renamed)).html, /Robert/)
  const [person] = await withDatabase(archive.databaseUrl, (query) =>
    query('select role from person where id = $1', [id]),
  )
  assert.equal(person?.role, 'suggester')
})

test('refuses names and mail addresses that are none', async () => {
  const { client } = people.admin
  const page = await client.get('/desk/people')
  for (const name of ['a\0b', 'a\u001b[31m', 'a\nb', 'a\u202eb', 'x'.repeat(101)])
    assert.equal((await client.submit(page, '/desk/people', { name })).status, 400)
  for (const mail of ['x', 'a b@example.org', `${'x'.repeat(300)}@example.org`]) {
    const refused = await client.submit(page, '/desk/people', { name: 'Eve', mail })
    assert.equal(refused.status, 400)
    assert.match(refused.html, /The mail address is not valid/)
  }
})

test('administrators can neither disable themselves nor change their own role', async () => {
  const { client, id } = people.admin
  const page = await client.get(`/desk/people/${id}`)
  assert.ok(!page.forms.some(({ action }) => action.endsWith('/disabled')))
  const form = formTo(page, `/desk/people/${id}`)
  const refused = await client.post(form.action, { ...form.fields, role: 'editor' })
  assert.equal(refused.status, 403)
  assert.equal((await client.get('/desk/people')).status, 200)
})

test('creates a token that works, and revokes it', async () => {
  const { client } = people.admin
  const page = await client.get('/desk/tokens')
  assert.equal((await client.submit(page, '/desk/tokens', { name: '', days: '0' })).status, 400)
  const created = await client.submit(page, '/desk/tokens', { name: 'Loader', days: '30' })
  const [token = ''] = /talkshelf_\w{49}/.exec(created.html) ?? []
  assert.equal((await archive.call('GET', '/api/v2/import', { token })).status, 200)
  assert.doesNotMatch((await client.get('/desk/tokens')).html, /talkshelf_\w{49}/)
  const row = created.forms.filter(({ action }) => action === '/desk/tokens/revoke').at(-1)
  const revoked = await client.post('/desk/tokens/revoke', row?.fields ?? {})
  assert.match((await client.follow(revoked)).html, /The token was revoked/)
  assert.equal((await archive.call('GET', '/api/v2/import', { token })).status, 401)
})

test('a token stops working while the person who created it is disabled', async () => {
  const { client, id } = await signIn(archive, 'Tess', 'admin')
  const page = await client.get('/desk/tokens')
  const created = await client.submit(page, '/desk/tokens', { name: 'Loader', days: '30' })
  const [token = ''] = /talkshelf_\w{49}/.exec(created.html) ?? []
  const status = async () => (await archive.call('GET', '/api/v2/import', { token })).status
  assert.equal(await status(), 200)
  assert.match((await client.get('/desk/tokens')).html, /Created by Tess/)
  await setDisabled(archive.pool, id, true, operator)
  assert.equal(await status(), 401)
  await setDisabled(archive.pool, id, false, operator)
  assert.equal(await status(), 200)
})

test('the page of a person changes the mail address, and shows errors at the field', async () => {
  const { client } = people.admin
  const { id } = await signIn(archive, 'Mia', 'editor')
  const path = `/desk/people/${id}`
  const opened = await client.get(path)
  for (const [fields, message] of [
    [{ name: 'a\nb' }, 'The name must have 1 to 100 characters'],
    [{ name: ' ' }, 'The name must have 1 to 100 characters'],
    [{ mail: 'no address' }, 'The mail address is not valid'],
    [{ mail: 'grace@example.org' }, 'Another person has the mail address'],
  ] as const) {
    const refused = await client.submit(opened, path, fields)
    assert.equal(refused.status, 400)
    assert.ok(refused.html.includes(message), message)
    assert.match(refused.html, /aria-invalid="true"/)
    const [[field, value]] = Object.entries(fields) as [[string, string]]
    if (field === 'mail') assert.equal(formTo(refused, path).fields.mail, value)
  }
  const saved = await client.submit(opened, path, { mail: 'mia@example.org' })
  const shown = await client.follow(saved)
  assert.equal(formTo(shown, path).fields.mail, 'mia@example.org')
  // A page that was opened before the change does not bring the old address back.
  await client.submit(opened, path, { name: 'Mia M.' })
  const kept = await client.get(path)
  assert.deepEqual(
    [formTo(kept, path).fields.name, formTo(kept, path).fields.mail],
    ['Mia M.', 'mia@example.org'],
  )
  await client.submit(kept, path, { mail: '' })
  assert.equal(formTo(await client.get(path), path).fields.mail, '')
})

test('logs refused sign-ins with their cause, without secrets', async () => {
  const invitation = { name: 'Rita', mail: null, role: 'editor' } as const
  const { link } = await invitePerson(archive.pool, invitation, operator)
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  const client = createDeskClient(server)
  const path = `/desk/link/${link.secret}`
  const wrong = link.code === '000000' ? '000001' : '000000'
  await client.post(`${path}/code`, { code: wrong })
  await client.post('/desk/sign-in', { credential: '{"id":"eA"}' })
  const page = await client.get(path)
  const { challenge } = passkeyOptions(page, path)
  const credential = createAuthenticator('http://localhost:1').create(passkeyOptions(page, path))
  await client.submit(page, path, { credential })
  const refusals = await until('three refusals in the log', () => {
    const lines = server.output().split('\n')
    const found = lines.filter((line) => line.includes('a sign-in was refused'))
    return found.length === 3 && found.map((line) => JSON.parse(line))
  })
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['code', 'unknown-passkey', 'passkey'],
  )
  assert.match(refusals[2].cause, /origin/i)
  for (const { reqId } of refusals) assert.match(reqId, /^[\w-]+$/)
  for (const secret of [link.secret, link.code, challenge])
    assert.ok(!server.output().includes(secret))
})

test('the audit log lists what happened, in pages', async () => {
  const { client } = people.admin
  const { html } = await client.get('/desk/audit')
  for (const words of ['invited Sue', 'signed in', 'role: editor → admin', 'created a token'])
    assert.ok(html.includes(words), words)
  await withDatabase(archive.databaseUrl, (query) =>
    query(
      `insert into audit_event (actor, kind, request_id)
       select 'Old', 'signed-out', 'x' from generate_series(1, 150)`,
    ),
  )
  const first = await client.get('/desk/audit')
  const [, older] = /href="(\/desk\/audit\?before=\d+)"/.exec(first.html) ?? []
  assert.match((await client.get(String(older))).html, /invited Sue/)
})

test('shows the desk in Spanish', async () => {
  const { client } = people.admin
  for (const path of [
    '/desk',
    '/desk/account',
    '/desk/people',
    '/desk/tokens',
    '/desk/webhooks',
    `/desk/webhooks/${webhook}`,
    '/desk/audit',
    '/desk/import',
    '/desk/match',
    `/desk/match/${match}`,
    '/desk/followed-sources',
    `/desk/followed-sources/${followedSource}`,
  ]) {
    const { html } = await client.get(path, { 'accept-language': 'es' })
    assert.match(html, /<html lang="es"/)
    assert.match(html, /Cerrar sesión/)
  }
})

test('with PUBLIC_URL, the cookie and the links belong to it', async (t) => {
  for (const [url, cookie] of [
    [
      'https://talks.example.org',
      /^__Host-desk=[\w-]{43}; Path=\/; .*SameSite=Lax; HttpOnly; Secure$/,
    ],
    ['https://example.org/talks', /^__Secure-desk=[\w-]{43}; Path=\/talks; .*HttpOnly; Secure$/],
  ] as const)
    await t.test(url, async () => {
      const base = new URL(url).pathname.replace(/\/$/, '')
      const mounted = await openArchive(archive.databaseUrl, { PUBLIC_URL: url })
      try {
        const invitation = { name: 'Mona', mail: null, role: 'admin' } as const
        const { link } = await invitePerson(mounted.pool, invitation, operator)
        const client = createDeskClient(mounted)
        const path = `${base}/desk/link/${link.secret}/code`
        const reply = await client.post(path, { code: link.code })
        assert.match(String(reply.headers['set-cookie']), cookie)
        assert.equal(reply.headers.location, `${base}/desk`)
        const page = await client.get(`${base}/desk/people`)
        const invited = await client.submit(page, `${base}/desk/people`, { name: 'Nina' })
        assert.ok(invited.html.includes(`${url}/desk/link/`))
        const origin = new URL(url).origin
        const fields = { code: '1' }
        assert.equal((await client.post(path, fields, { origin: 'http://localhost' })).status, 403)
        assert.match((await client.post(path, fields, { origin })).html, /no longer works/)
      } finally {
        await mounted.close()
      }
    })
})

test('logs no secret of a link', async () => {
  const { link } = await invitePerson(
    archive.pool,
    { name: 'Olga', mail: null, role: 'editor' },
    operator,
  )
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  const path = `/desk/link/${link.secret}`
  const headers = { host: 'localhost', accept: 'text/html' }
  const to = encodeURIComponent(path)
  for (const [method, target, status] of [
    ['GET', path, 200],
    ['GET', `${path}/code`, 303],
    ['PUT', path, 405],
    ['OPTIONS', path, 405],
    ['GET', `${path}/x`, 404],
    ['POST', path, 403],
    ['GET', `/prefer?to=${to}`, 303],
  ] as const) {
    const reply = await call(server.url, method, target, { headers })
    assert.equal(reply.status, status, `${method} ${target}`)
    if (status !== 200) assert.ok(!reply.text.includes(link.secret), `${method} ${target}`)
  }
  await until('the last log line', () => server.output().includes('/prefer?to='))
  assert.ok(server.output().includes('/desk/link/:secret'))
  assert.ok(!server.output().includes(link.secret))
})
