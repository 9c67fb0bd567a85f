import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signIn } from '../support/desk-client.ts'
import { startForeignHost } from '../support/foreign-host.ts'
import { category, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The pages of followed sources, without scripts.

const host = await startForeignHost()
const archive = await startArchive({ RESUME_SECONDS: '1' }, host.guard)
const { client } = await signIn(archive, 'Eva', 'editor')

test('an editor follows, changes, pauses and deletes a source', async () => {
  const imports = await client.get('/desk/import')
  assert.match(imports.html, /href="\/desk\/followed-sources"/)
  const page = await client.get('/desk/followed-sources')
  assert.match(page.html, /No source is followed/)
  const url = host.at('/talks.csv', 'title\nFrom a <b>source</b>\n')
  const values = { url, interval_hours: '12', category, language: 'English', format: 'csv' }
  const submit = (fields: Record<string, string>) =>
    client.submit(page, '/desk/followed-sources', fields)
  const wrong = await submit({ ...values, url: 'ftp://x', interval_hours: '0', language: 'Nolang' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.html, /Enter a URL that starts with https/)
  assert.match(wrong.html, /Enter a whole number of hours/)
  assert.ok(wrong.html.includes('Nolang'), 'what was typed is kept')
  const unknown = await submit({ ...values, language: 'Nolang' })
  assert.match(unknown.html, /id="language-error"/)

  const created = await client.follow(await submit(values))
  assert.match(created.html, /You now follow this source/)
  const [path = ''] = /\/desk\/followed-sources\/\d+/.exec(created.html) ?? []
  const planned = await until('the plan', async () => {
    const { html } = await client.get(path)
    return /Import \d+ waits for you/.test(html) && /An import was planned/.test(html) && html
  })
  assert.match(planned, /every 12 hours/)
  // Later imports do not hide it.
  await withDatabase(archive.databaseUrl, (run) =>
    run(`insert into import (state, name, format, source, options, actor, via, request_id)
         select 'failed', 'x', 'csv', 'x', '{}', 'x', 'api', ''
         from generate_series(1, 120)`),
  )
  const home = await client.get('/desk')
  assert.match(home.html, /by Eva.*from a followed source/)
  const [importPath = ''] = /\/desk\/import\/\d+/.exec(planned) ?? []
  assert.match((await client.get(importPath)).html, /from a followed source/)

  const act = async (action: string, fields: Record<string, string> = {}) =>
    client.follow(await client.submit(await client.get(path), `${path}${action}`, fields))
  const saved = await act('', { ...values, interval_hours: '1', name: 'Our talks' })
  assert.match(saved.html, /Saved/)
  assert.match(saved.html, /every hour/)
  const list = await client.get('/desk/followed-sources')
  assert.match(list.html, /Our talks/)
  const invalid = await client.submit(await client.get(path), path, { ...values, url: 'x' })
  assert.equal(invalid.status, 400)
  assert.match((await act('/fetch')).html, /The fetch starts within a minute/)
  assert.match((await act('/pause')).html, /The source is paused/)
  const paused = await client.get(path)
  assert.ok(!paused.forms.some(({ action }) => action === `${path}/fetch`), 'it is paused')
  const spanish = await client.get(path, { 'accept-language': 'es' })
  assert.match(spanish.html, /En pausa/)
  assert.match((await act('/resume')).html, /The source is followed again/)
  assert.match((await act('/delete')).html, /The source is no longer followed/)
  assert.equal((await client.get(path)).status, 404)
  const { client: admin } = await signIn(archive, 'Ada', 'admin')
  assert.match((await admin.get('/desk/audit')).html, /deleted a followed source/)
})

test('a failure is shown with its reason', async () => {
  const page = await client.get('/desk/followed-sources')
  const values = { url: `${host.url}/missing`, interval_hours: '24' }
  const created = await client.submit(page, '/desk/followed-sources', values)
  const path = String(created.headers.location).split('?')[0] ?? ''
  await until('the failure', async () => {
    const { html } = await client.get(path)
    return /Failing/.test(html) && /There is nothing at this URL/.test(html)
  })
})

test('the sources of a person who is no editor any more are paused', async () => {
  const { id: personId, client: leaving } = await signIn(archive, 'Lea', 'editor')
  const page = await leaving.get('/desk/followed-sources')
  const url = host.at('/left.csv', 'title\nLeft\n')
  const values = { url, interval_hours: '24', category, language: 'English', format: 'csv' }
  const created = await leaving.submit(page, '/desk/followed-sources', values)
  const path = String(created.headers.location).split('?')[0] ?? ''
  await until('the plan', async () => /waits for you/.test((await client.get(path)).html))
  await withDatabase(archive.databaseUrl, async (run) => {
    await run(`update person set role = 'suggester' where id = ${personId}`)
    await run(`update followed_source set next_fetch = now() where actor = 'Lea'`)
  })
  await until('the pause', async () =>
    /Lea may no longer import/.test((await client.get(path)).html),
  )
  assert.match((await client.get(path)).html, /Paused/)
})
