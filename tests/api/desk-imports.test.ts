import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createImportEndpoint, type Import } from '@talkshelf/contract'
import { createFormToken, setEventEditor } from '../../server/auth/auth.ts'
import {
  type DeskReply,
  formTo,
  multipart,
  multipartType,
  operator,
  signIn,
  type TestFile,
} from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { csvOf } from '../support/import-client.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Imports in the browser: from the upload to the undo, with forms alone, and with hostile bodies.

const archive = await startArchive()
const { maxBytes } = createImportEndpoint.body

const edith = await signIn(archive, 'Edith', 'editor')
const { client } = edith
const options = { event: category, language: 'en' }
const csv = (content: string, name = 'talks.csv'): TestFile => ({ name, content })

/** Uploads a file with the form of the page. */
const upload = async (file: TestFile, fields: Record<string, string> = options) =>
  client.upload(await client.get('/desk/import'), '/desk/import', file, fields)

/** Uploads a file and returns the page of the plan. */
async function plan(file: TestFile, fields?: Record<string, string>) {
  const reply = await upload(file, fields)
  assert.equal(reply.status, 303, reply.html.slice(0, 3000))
  const path = String(reply.headers.location)
  const page = await until('the plan', async () => {
    const shown = await client.get(path)
    return shown.html.includes('Being read') ? undefined : shown
  })
  return { path, id: Number(path.split('/').at(-1)), page }
}

const readImport = async (id: number): Promise<Import> =>
  (await archive.call('GET', `/api/v2/import/${id}`, { token: archive.editor })).json

/** Presses a button of the page of an import, and waits until the import has a state. */
async function act(page: DeskReply, path: string, action: string, state: Import['state']) {
  const reply = await client.submit(page, `${path}/${action}`)
  assert.equal(reply.status, 303, reply.html.slice(0, 3000))
  const id = Number(path.split('/').at(-1))
  await until(`the state ${state}`, async () => (await readImport(id)).state === state)
  return client.get(path)
}

const patch = async (id: number, body: object) => {
  const reply = await archive.call('PATCH', `/api/v2/video/${id}`, { token: archive.editor, body })
  assert.equal(reply.status, 200, reply.text)
}
const readTitle = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })).json.title
const videoIds = async (id: number): Promise<number[]> => {
  const path = `/api/v2/import/${id}/talk?page_size=100`
  const { json } = await archive.call('GET', path, { token: archive.editor })
  return json.results.map(({ video }: { video: number }) => video)
}

test('uploads, applies, undoes and redoes an import, in the name of the person', async () => {
  const talks = csvOf([
    { key: 'a', title: 'Locks', speakers: ['Lea Lock'], tags: ['canals'] },
    { key: 'b', title: 'Sluices' },
    { key: 'c', title: '' },
  ])
  const { id, path, page } = await plan(csv(talks), { ...options, source: 'flow' })
  assert.match(page.html, /Planned/)
  for (const words of ['Refused', 'title is required', 'Lea Lock', 'canals', 'without a date'])
    assert.ok(page.html.includes(words), words)
  const created = await client.get(`${path}?show=new`)
  assert.match(created.html, /Locks[\s\S]*Lea Lock[\s\S]*Sluices/)
  const applied = await act(page, path, 'apply', 'applied')
  assert.match(applied.html, /2 created, 1 refused/)
  const [record = 0] = await videoIds(id)
  assert.equal(await readTitle(record), 'Locks')
  const [job] = await withDatabase(archive.databaseUrl, (query) =>
    query('select actor, person_id::int as person, via from import where id = $1', [id]),
  )
  assert.deepEqual(job, { actor: 'Edith', person: edith.id, via: 'page' })

  await patch(record, { title: 'Locks, by hand' })
  const undone = await act(applied, path, 'undo', 'undone')
  assert.match(undone.html, /1 undone, 1 not undone: changed since/)
  assert.match(undone.html, /These talks changed after the import, so the undo kept them/)
  assert.match(undone.html, /<h2>Kept by the undo<\/h2>[\s\S]*Locks/)
  assert.ok(formTo(undone, `${path}/undo`), 'the rest can be undone again')
  const redone = await act(undone, path, 'redo', 'applied')
  assert.match(redone.html, /1 kept as in the archive/)

  const list = await client.get('/desk/import')
  assert.match(list.html, /talks\.csv[\s\S]*Applied[\s\S]*New: 2[\s\S]*csv[\s\S]*Edith/)
})

test('decides conflicts, each field or all', async () => {
  const source = { ...options, source: 'conflicts' }
  const rows = ['a', 'b', 'c'].map((key) => ({ key, title: `Weir ${key}`, summary: 'First' }))
  const first = await plan(csv(csvOf(rows)), source)
  await act(first.page, first.path, 'apply', 'applied')
  const ids = await videoIds(first.id)
  for (const id of ids) await patch(id, { title: `Hand ${id}`, summary: 'By hand' })
  const changed = rows.map((row) => ({ ...row, title: `${row.title}, new`, summary: 'Second' }))
  const { id, path, page } = await plan(csv(csvOf(changed)), source)
  assert.match(page.html, /3 conflicts have no decision yet/)
  assert.match(page.html, /Keep ours[\s\S]*By hand[\s\S]*Take theirs[\s\S]*Second/)

  const [one, two] = page.forms.filter(({ action }) => action === `${path}/decide`)
  const decided = await client.post(`${path}/decide`, {
    ...one?.fields,
    'take-title': 'theirs',
    'take-summary': 'mine',
  })
  assert.match(String(decided.headers.location), /\?show=conflict&after=0&done=decided#talk-1$/)
  const shown = await client.follow(decided)
  assert.match(shown.html, /The decision was saved/)
  assert.match(shown.html, /2 conflicts have no decision yet/)
  assert.equal(formTo(shown, `${path}/decide`).fields['take-title'], 'theirs')
  assert.equal(formTo(shown, `${path}/decide`).fields['take-summary'], 'mine')

  const all = formTo(shown, `${path}/decide-all`)
  await client.post(`${path}/decide-all`, { ...all.fields, field: 'summary', take: 'theirs' })
  await client.post(`${path}/decide`, { ...two?.fields, 'take-title': 'mine' })
  const wrong = await client.post(`${path}/decide-all`, { ...all.fields, take: 'both' })
  assert.equal(wrong.status, 400)
  await act(shown, path, 'apply', 'applied')
  const records = await Promise.all(
    ids.map(async (video) => {
      const reply = await archive.call('GET', `/api/v2/video/${video}`, { token: archive.editor })
      return [reply.json.title, reply.json.summary]
    }),
  )
  assert.deepEqual(records, [
    ['Weir a, new', 'Second'],
    [`Hand ${ids[1]}`, 'By hand'],
    [`Hand ${ids[2]}`, 'Second'],
  ])
  const late = await client.post(`${path}/decide`, { ...one?.fields, 'take-title': 'mine' })
  assert.equal(late.status, 409)
  assert.match(late.html, /the import has changed meanwhile/)
  assert.equal((await readImport(id)).state, 'applied')
})

test('answers whether a talk is a similar record, and chooses the record of a new one', async () => {
  const similar = { title: 'Aqueducts of the south', duration: 1800, recorded: '2024-05-01' }
  const record = await archive.make(similar)
  const other = await archive.make({ title: 'Something else entirely' })
  const rows = [
    { key: 'q', ...similar },
    { key: 'n', title: 'A talk of its own' },
  ]
  const { path, page } = await plan(csv(csvOf(rows)), { ...options, source: 'questions' })
  assert.match(page.html, /Question/)
  const question = formTo(page, `${path}/decide`)
  const answered = await client.post(`${path}/decide`, { ...question.fields, same: 'yes' })
  const shown = await client.follow(answered)
  assert.equal(formTo(shown, `${path}/decide`).fields.same, 'yes')
  assert.ok(shown.html.includes(`Record ${record.id}`))

  const created = await client.get(`${path}?show=new`)
  const { fields } = formTo(created, `${path}/decide`)
  for (const wrong of ['999999', 'x', '-1']) {
    const refused = await client.post(`${path}/decide`, { ...fields, record: wrong })
    assert.equal(refused.status, 400)
    assert.match(refused.html, /<p class="error" role="alert">record /)
  }
  const chosen = await client.post(`${path}/decide`, { ...fields, record: String(other.id) })
  assert.equal(chosen.status, 303)
  assert.ok((await client.get(`${path}?show=conflict`)).html.includes(`Record ${other.id}`))
})

test('answers all questions with one button', async () => {
  const titles = ['Culverts', 'Weirs and dams', 'Fish ladders']
  const records: number[] = []
  for (const title of titles) records.push((await archive.make({ title })).id)
  // Two rows resemble the first record: only one of them can be it.
  const rows = [...titles, 'Culverts'].map((title, index) => ({
    key: `all-${index}`,
    title,
    summary: `Row ${index}`,
  }))
  const source = { ...options, source: 'all questions' }
  const { id, path, page } = await plan(csv(csvOf(rows)), source)
  assert.match(page.html, /Answer 4 questions: the same talk/)
  const answered = await client.follow(await client.submit(page, `${path}/same`))
  assert.match(answered.html, /Questions were answered/)
  assert.match(answered.html, /Answer 1 question: the same talk/)
  assert.match(answered.html, /1 conflict has no decision yet/)
  const again = await client.follow(await client.submit(answered, `${path}/same`))
  assert.match(again.html, /1 conflict has no decision yet/)
  await act(again, path, 'apply', 'applied')
  assert.deepEqual((await videoIds(id)).slice(0, 3), records)
  const late = await client.submit(again, `${path}/same`)
  assert.equal(late.status, 409)
  assert.match(late.html, /the import has changed meanwhile/)
})

test('stops and continues an import, and deletes a plan', async () => {
  const { path, page, id } = await plan(csv('title\nOne plan'))
  await withDatabase(archive.databaseUrl, (query) =>
    query("update import set state = 'applying', retry_at = 'infinity' where id = $1", [id]),
  )
  const running = await client.get(path)
  assert.match(running.html, /<noscript><meta http-equiv="refresh" content="3; url=\/desk\/import/)
  assert.match(running.html, /0 of 1 talks/)
  const stopped = await act(running, path, 'stop', 'stopped')
  assert.doesNotMatch(stopped.html, /http-equiv/)
  await withDatabase(archive.databaseUrl, (query) =>
    query('update import set retry_at = now() where id = $1', [id]),
  )
  await act(stopped, path, 'apply', 'applied')
  const late = await client.submit(page, `${path}/discard`)
  assert.equal(late.status, 409)
  assert.match(late.html, /the import has changed meanwhile/)

  const other = await plan(csv('title\nAnother plan'))
  const deleted = await client.submit(other.page, `${other.path}/discard`)
  assert.match((await client.follow(deleted)).html, /The import was deleted/)
  assert.equal((await client.get(other.path)).status, 404)
})

test('shows 50 talks a page', async () => {
  const rows = Array.from({ length: 120 }, (_, index) => ({ key: `${index}`, title: `T${index}x` }))
  const { path, page } = await plan(csv(csvOf(rows)), { ...options, source: 'pages' })
  const countRows = ({ html }: DeskReply) => html.match(/id="talk-\d+"/g)?.length
  assert.equal(countRows(page), 50)
  const second = await client.get(`${path}?show=new&after=50`)
  assert.equal(countRows(second), 50)
  assert.match(second.html, /T50x/)
  assert.equal(countRows(await client.get(`${path}?show=new&after=100`)), 20)
  for (const query of ['?show=x', '?after=-1', '?after=99999999999', '?show=new&after=x'])
    assert.equal((await client.get(path + query)).status, 200)
})

test('the refused rows can be downloaded, corrected and uploaded', async () => {
  const { path } = await plan(csv('title,summary\n,Nice'), { ...options, source: 'refused' })
  const reply = await client.get(`${path}/refused`)
  assert.match(String(reply.headers['content-disposition']), /^attachment; filename="import-\d+-/)
  assert.equal(reply.headers['content-type'], 'text/csv; charset=utf-8')
  const corrected = reply.html.replace(/\n,Nice/, '\nCorrected,Nice')
  const again = await plan(csv(corrected), { source: 'refused' })
  assert.match(again.page.html, /Corrected/)
})

test('says when the table of refused rows is cut, and has the rest', async () => {
  const text = ['key,title', ...Array.from({ length: 5003 }, (_, index) => `row-${index},`)]
  const { path, page } = await plan(csv(text.join('\n')), { ...options, source: 'cut' })
  assert.match(page.html, /This table has 5,000 rows[^<]*There are more/)
  const first = await client.get(`${path}/refused`)
  assert.match(first.html, /row-4999/)
  assert.doesNotMatch(first.html, /row-5000/)
  const [, next = ''] = /href="([^"]+refused_after=\d+)"/.exec(page.html) ?? []
  const second = await client.get(next.replaceAll('&amp;', '&'))
  assert.doesNotMatch(second.html, /There are more/)
  const [, link = ''] = /href="([^"]+\/refused\?after=\d+)"/.exec(second.html) ?? []
  const rest = (await client.get(link)).html.trim().split('\n')
  assert.equal(rest.length, 1 + 3)
  assert.match(rest.at(-1) ?? '', /^row-5002,/)
  for (const query of ['x', '-1', '99999999999'])
    assert.equal((await client.get(`${path}/refused?after=${query}`)).status, 200, query)
})

test('only an administrator applies takedowns', async () => {
  const record = await archive.make({ title: 'To be taken down' })
  // As if another archive had exported it.
  const exported = [
    { kind: 'talkshelf', version: 1, at: '2026-01-01T00:00:00.000Z' },
    {
      kind: 'video',
      revision: 2,
      record: { ...record, id: 910_000 },
      taken_down: { day: '2026-01-01', reason: 'asked' },
    },
    { kind: 'end', videos: 1 },
  ]
  const text = exported.map((line) => JSON.stringify(line)).join('\n')
  const admin = await signIn(archive, 'Ada', 'admin')
  const form = await admin.client.get('/desk/import')
  const reply = await admin.client.upload(form, '/desk/import', csv(text, 'all.ndjson'))
  assert.equal(reply.status, 303, reply.html.slice(0, 2000))
  const path = String(reply.headers.location)
  const id = Number(path.split('/').at(-1))
  await until('the plan', async () => (await readImport(id)).state === 'planned')
  const shown = await client.get(path)
  assert.match(shown.html, /Only an administrator can apply it/)
  assert.ok(!shown.forms.some(({ action }) => action.endsWith('/apply')))
  const page = await admin.client.get(path)
  const secret = client.cookie.split('=')[1] ?? ''
  const form_token = createFormToken({ secret }, `${path}/apply`)
  const refused = await client.post(`${path}/apply`, { form_token })
  assert.equal(refused.status, 403)
  assert.match(refused.html, /role="alert">This import takes talks down/)
  await withDatabase(archive.databaseUrl, (query) =>
    query("update session set strong_until = now() - interval '1 minute'"),
  )
  const confirm = await admin.client.submit(page, `${path}/apply`)
  assert.match(String(confirm.headers.location), /^\/desk\/confirm\?to=%2Fdesk%2Fimport%2F\d+$/)
  assert.equal((await readImport(id)).state, 'planned')
})

test('an editor of single events may not import', async () => {
  const { id, client: eve } = await signIn(archive, 'Eve', 'suggester')
  await setEventEditor(archive.pool, id, category, true, operator)
  assert.equal((await eve.get('/desk/import')).status, 403)
  assert.equal((await eve.postBody('/desk/import', multipart([csv('title\nX')]))).status, 403)
})

test('says what is wrong with the form, and keeps what was typed', async () => {
  const errors: [file: TestFile, fields: Record<string, string>, message: RegExp][] = [
    [csv('', ''), {}, /Choose a file, or enter a URL/],
    [csv('title\nX'), { url: 'https://example.org/x' }, /but not both/],
    [csv('', 'empty.csv'), {}, /The file is empty/],
    [csv(' \n ', 'blank.csv'), {}, /The file is empty/],
    [csv('\u0000\u0001', 'x.bin'), {}, /error/],
    [csv('%PDF-1.7 nothing', 'x.pdf'), {}, /The format of the file was not recognised/],
    [csv('title\nX'), { event: 'Example Day 2026' }, /Similar ones: Example Days 2026/],
    [csv('title\nX'), { language: 'Germann' }, /is not the English name.*German/],
    [csv('title\nX'), { recorded: 'soon' }, /id="recorded-error"/],
    [csv('title\nX'), { source: 'x'.repeat(101) }, /id="source-error"/],
    [csv('', ''), { url: 'ftp://example.org/x' }, /id="url-error"/],
    [csv('', ''), { url: 'http://127.0.0.1/x.csv' }, /id="url-error"/],
    [csv('', ''), { url: 'http://169.254.169.254/latest' }, /id="url-error"/],
  ]
  for (const [file, fields, message] of errors) {
    // A plan that takes longer than a second goes on in the background.
    const reply = await until(`an answer to ${JSON.stringify(fields)}`, async () => {
      const reply = await upload(file, { source: 'kept', ...fields })
      return reply.status !== 303 && reply
    })
    assert.equal(reply.status, 400, JSON.stringify(fields))
    assert.match(reply.html, message)
    assert.equal(formTo(reply, '/desk/import').fields.source, fields.source ?? 'kept')
  }
  const known = await upload(csv('title\nX'), { event: 'Example Day 2026', new_event: '1' })
  assert.equal(known.status, 303)
  const unique = await upload(csv('title\nX'), { event: 'Zzyzx' })
  assert.match((await client.follow(unique)).html, /New events[\s\S]*Zzyzx/)
})

test('accepts gzip, drafts and a chosen format', async () => {
  const packed = gzipSync('title\nPacked').toString('latin1')
  const page = await client.get('/desk/import')
  const { fields } = formTo(page, '/desk/import')
  const all = { ...fields, ...options, format: 'csv', draft: '1', source: 'packed' }
  const body = Buffer.from(multipart([all, { name: 'x.csv.gz', content: packed }]), 'latin1')
  const reply = await archive.call('POST', '/desk/import', {
    raw: body,
    headers: {
      host: 'localhost',
      cookie: client.cookie,
      'sec-fetch-site': 'same-origin',
      'content-type': multipartType,
    },
  })
  assert.equal(reply.status, 303, reply.text.slice(0, 2000))
  const path = String(reply.headers.location)
  const applied = await act(await client.get(path), path, 'apply', 'applied')
  assert.match(applied.html, /Packed/)
  const [id = 0] = await videoIds(Number(path.split('/').at(-1)))
  assert.equal((await archive.call('GET', `/api/v2/video/${id}`)).status, 404)
})

test('shows hostile names and cells as text', async () => {
  const hostile = `<img src=x onerror=alert(1)>"'&\u202e`
  const cells = `title,summary\n"${hostile.replaceAll('"', '""')}",x\n,"</td><script async>"`
  const { path, page } = await plan(csv(cells, '../../<b>%22\u202e\u0007.csv'), {
    source: '<i>source',
    new_event: '1',
    event: '<u>event',
  })
  const shown = [page.html, (await client.get(`${path}?show=new`)).html]
  shown.push((await client.get('/desk/import')).html)
  for (const html of shown) {
    assert.doesNotMatch(html, /<(img|script async|b>%22|i>source|u>event)/)
    assert.doesNotMatch(html, /\.\.\/\.\.\/&lt;b/)
  }
  assert.match(shown[2] ?? '', /&lt;b>%22\.csv/)
})

test('a file that is too large gets an answer, and nothing of it is imported', async () => {
  const before = (await client.get('/desk/import')).html.match(/\/desk\/import\/\d+"/)?.[0]
  for (const bytes of [maxBytes, maxBytes * 4]) {
    const reply = await upload(csv(`title\n${'x'.repeat(bytes)}`))
    assert.equal(reply.status, 400)
    assert.match(reply.html, /The file is too large: a form takes at most 4\.5 MB/)
  }
  assert.equal((await client.get('/desk/import')).html.match(/\/desk\/import\/\d+"/)?.[0], before)
})

test('refuses hostile bodies, never with 5xx', async () => {
  const page = await client.get('/desk/import')
  const { fields } = formTo(page, '/desk/import')
  const file = csv('title\nHostile')
  const whole = multipart([fields, file])
  const countImports = async () =>
    (await withDatabase(archive.databaseUrl, (query) => query('select 1 from import'))).length
  const before = await countImports()
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, 'x']))
  const bodies: [name: string, body: string, status: number, type?: string][] = [
    ['no boundary', whole, 400, 'multipart/form-data'],
    ['empty boundary', whole, 400, 'multipart/form-data; boundary='],
    ['long boundary', whole, 400, `multipart/form-data; boundary=${'x'.repeat(5000)}`],
    ['wrong boundary', whole, 400, 'multipart/form-data; boundary=other'],
    ['another type', whole, 415, 'multipart/mixed; boundary=x-boundary-x'],
    ['text', whole, 415, 'text/plain'],
    ['1,000 parts', multipart([fields, many, file]), 400],
    ['1,000 files', multipart([fields, ...Array.from({ length: 1000 }, () => file)]), 400],
    ['two files', multipart([fields, file, file]), 400],
    ['file before the token', multipart([file, fields]), 403],
    ['no token', multipart([{ ...fields, form_token: '' }, file]), 403],
    ['no parts', '--x-boundary-x--\r\n', 403],
    ['empty body', '', 400],
    ['truncated in the file', whole.slice(0, -30), 400],
    ['truncated in a field', whole.slice(0, 150), 400],
    ['long field', multipart([{ ...fields, language: 'x'.repeat(10_000) }, file]), 400],
    ['no name', whole.replace('name="url"', 'x="url"'), 400],
    ['only preamble', 'x'.repeat(100_000), 400],
    ['prototype', multipart([{ ...fields, ['__proto__']: 'x', toString: 'x' }]), 400],
  ]
  for (const [name, body, status, type] of bodies) {
    const reply = await client.postBody('/desk/import', body, type)
    assert.equal(reply.status, status, `${name}: ${reply.html.slice(0, 2000)}`)
    assert.equal(await countImports(), before, name)
  }
  for (let end = 0; end < whole.length; end += 7) {
    const { status } = await client.postBody('/desk/import', whole.slice(0, end))
    assert.ok(status === 400 || status === 403, `cut at ${end}: ${status}`)
    assert.equal(await countImports(), before, `cut at ${end}`)
  }
  const foreign = await archive.call('POST', '/desk/import', {
    raw: whole,
    headers: { host: 'localhost', cookie: client.cookie, 'content-type': multipartType },
  })
  assert.equal(foreign.status, 403)
  const other = await client.postBody('/desk/people', whole)
  assert.equal(other.status, 415, 'other forms take no files')
  assert.equal(await countImports(), before)
  assert.equal((await client.postBody('/desk/import', whole)).status, 303, 'the same body works')
  const long = multipart([
    { ...fields, format: 'csv' },
    { ...file, name: 'x'.repeat(10_000) },
  ])
  assert.equal((await client.postBody('/desk/import', long)).status, 303, 'a long name is cut')
})

test('an interrupted upload leaves nothing behind', async () => {
  const page = await client.get('/desk/import')
  const body = multipart([formTo(page, '/desk/import').fields, csv('title\nInterrupted')])
  const { hostname, port } = new URL(archive.url)
  const socket = connect(Number(port), hostname)
  const request =
    `POST /desk/import HTTP/1.1\r\nHost: localhost\r\nCookie: ${client.cookie}\r\n` +
    `Sec-Fetch-Site: same-origin\r\nContent-Type: ${multipartType}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body.slice(0, -40)}`
  await new Promise((resolve) => socket.write(request, resolve))
  socket.destroy()
  const next = await plan(csv('title\nAfter the interruption'))
  assert.match(next.page.html, /After the interruption/)
  assert.doesNotMatch((await client.get('/desk/import')).html, /Interrupted/)
})

test('shows the form with an error if the upload is damaged', async () => {
  const page = await client.get('/desk/import')
  const body = multipart([formTo(page, '/desk/import').fields, csv('title\nDamaged')])
  const reply = await client.postBody('/desk/import', body.slice(0, -30))
  assert.equal(reply.status, 400)
  assert.match(reply.html, /id="file-error"[^>]*>The upload was damaged or incomplete/)
  assert.ok(formTo(reply, '/desk/import'))
})

test('messages of the server are in Spanish, or marked as English', async () => {
  const spanish = { 'accept-language': 'es' }
  const form = await client.get('/desk/import')
  const { fields } = formTo(form, '/desk/import')
  const post = (values: Record<string, string>) =>
    client.postBody('/desk/import', multipart([{ ...fields, ...values }]), multipartType, spanish)
  for (const [values, message] of [
    [{ url: 'http://127.0.0.1/talks.csv' }, 'Ningún servidor público'],
    [{ url: 'https://a.example/', language: 'Klingonian' }, 'No es el nombre en inglés'],
    [{ url: 'https://a.example/', recorded: 'soon' }, 'no tiene el formato'],
  ] as const) {
    const { status, html } = await post(values)
    assert.equal(status, 400)
    assert.ok(html.includes(message), message)
  }
  const { path } = await plan(csv('title,speakers\nUna charla,Ana y Luz\n,Nadie'))
  const refused = await client.get(path, spanish)
  assert.match(refused.html, /Rechazad[^:]*: <bdi lang="en">title is required/)
  const warned = await client.get(`${path}?show=warnings`, spanish)
  assert.match(warned.html, /falta la fecha: <bdi lang="en">recorded is missing/)
  assert.doesNotMatch((await client.get(path)).html, /<bdi lang/)
  const planned = await client.get(`${path}?show=new`, spanish)
  const decision = formTo(planned, `${path}/decide`).fields
  const wrong = await client.post(
    `${path}/decide`,
    { ...decision, record: '987654' },
    { 'sec-fetch-site': 'same-origin', ...spanish },
  )
  assert.match(wrong.html, /role="alert">Ese registro no existe/)
})

test('imports are shown in Spanish', async () => {
  const { path } = await plan(csv('title\nUna charla'))
  for (const [page, words] of [
    [path, 'Todavía no ha cambiado nada'],
    ['/desk/import', 'Nueva importación'],
  ] as const)
    assert.ok((await client.get(page, { 'accept-language': 'es' })).html.includes(words))
})
