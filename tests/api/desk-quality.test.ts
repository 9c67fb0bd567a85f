import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { setEventEditor } from '../../server/auth/auth.ts'
import { formTo, operator, signIn } from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Merging talks and the quality lists in the browser, with forms alone.

const archive = await startArchive()
const { make } = archive

const { client: ada } = await signIn(archive, 'Ada', 'editor')
const get = (id: number) => archive.call('GET', `/api/v2/video/${id}`)
const read = async (id: number): Promise<Video> =>
  (await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })).json
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token: archive.editor, body })
const same = (id: number) => `/desk/talk/${id}/same`

test('asks for the other talk, by number or URL', async () => {
  const [kept, other] = [await make({ title: 'Kept' }), await make({ title: 'Other' })]
  assert.match((await ada.get(`/desk/talk/${kept.id}`)).html, new RegExp(same(kept.id)))
  const page = await ada.get(same(kept.id))
  assert.match(page.html, /name="with"/)
  assert.doesNotMatch(page.html, /id="with-error"/)
  for (const wrong of ['x', '', String(kept.id), '1'.repeat(30)])
    assert.match((await ada.get(`${same(kept.id)}?with=${wrong}`)).html, /id="with-error"/, wrong)
  const url = encodeURIComponent(`https://talks.example/video/${other.id}/other?t=3`)
  for (const right of [String(other.id), url])
    assert.ok(formTo(await ada.get(`${same(kept.id)}?with=${right}`), same(kept.id)))
  assert.equal((await ada.get(`${same(kept.id)}?with=987654`)).status, 404)
})

test('compares two talks, shows the result and merges them', async () => {
  const kept = await make({ title: 'Kept', speakers: ['Ada'], summary: 'Of the kept one' })
  const other = await make({ title: 'Better title', speakers: ['Bob'], duration: 90 })
  const page = await ada.get(`${same(kept.id)}?with=${other.id}`)
  const { fields } = formTo(page, same(kept.id))
  const choices = Object.fromEntries(
    Object.entries(fields).filter(([name]) => name.startsWith('choice_')),
  )
  assert.deepEqual(choices, {
    choice_title: 'kept',
    choice_speakers: 'both',
    choice_summary: 'kept',
    choice_duration: 'merged',
  })
  const chosen = { choice_title: 'merged', choice_speakers: 'kept' }
  const preview = await ada.submit(page, same(kept.id), { ...chosen, preview: '1' })
  assert.equal(preview.status, 200)
  const [, result = ''] = preview.html.split('<h2>Result</h2>')
  assert.match(result, /Better title[\s\S]*1:30/)
  assert.doesNotMatch(result.split('class="actions"')[0] as string, /Bob/)
  assert.equal((await get(other.id)).status, 200, 'a preview changes nothing')
  assert.equal(formTo(preview, same(kept.id)).fields.choice_title, 'merged')

  const merged = await ada.submit(preview, same(kept.id))
  const editor = await ada.follow(merged)
  assert.match(editor.html, /The talks were merged\./)
  assert.match(editor.html, new RegExp(`Merged: ${other.id}`))
  const record = await read(kept.id)
  assert.deepEqual(
    [record.title, record.speakers, record.duration, record.summary],
    ['Better title', ['Ada'], 90, 'Of the kept one'],
  )
  assert.equal((await get(other.id)).status, 301)
  await checkInvariants(archive.databaseUrl)

  // Its editor leads to its history, which undoes the merge.
  const opened = await ada.get(`/desk/talk/${other.id}`)
  assert.equal(opened.headers.location, `/desk/talk/${other.id}/history`)
  const history = await ada.follow(opened)
  assert.match(history.html, new RegExp(`This talk was merged into record ${kept.id}`))
  assert.ok(!history.forms.some(({ action }) => action.endsWith('/revert')))
  const undone = await ada.follow(await ada.submit(history, `/desk/talk/${other.id}/unmerge`))
  assert.match(undone.html, /The merge was undone/)
  assert.equal((await get(other.id)).json.title, 'Better title')
  const again = await ada.get(`/desk/talk/${other.id}/history`)
  assert.doesNotMatch(again.html, /This talk was merged into/)
  const nothing = await ada.post(`/desk/talk/${kept.id}/unmerge`, {
    form_token: 'x',
  })
  assert.equal(nothing.status, 403)
  await checkInvariants(archive.databaseUrl)
})

test('merges nothing if one of the talks changed meanwhile, and shows them again', async () => {
  for (const changed of ['kept', 'other']) {
    const [kept, other] = [await make({ title: 'A' }), await make({ title: 'B' })]
    const page = await ada.get(`${same(kept.id)}?with=${other.id}`)
    await patch(changed === 'kept' ? kept.id : other.id, { title: 'Changed' })
    const reply = await ada.submit(page, same(kept.id), { choice_title: 'merged' })
    assert.equal(reply.status, 409, changed)
    assert.match(reply.html, /Nothing was merged[\s\S]*Changed/)
    assert.equal((await get(other.id)).status, 200)
    assert.equal((await ada.submit(reply, same(kept.id))).status, 303)
    assert.equal((await get(other.id)).status, 301)
  }
})

test('refuses forms with values that no page sends', async () => {
  const [kept, other] = [await make(), await make({ title: 'B' })]
  const page = await ada.get(`${same(kept.id)}?with=${other.id}`)
  for (const [fields, status] of [
    [{ with: 'x' }, 400],
    [{ revision: '0' }, 400],
    [{ with_revision: '1e9' }, 409],
    [{ with: '987654' }, 404],
    [{ with: String(kept.id) }, 400],
  ] as const)
    assert.equal((await ada.submit(page, same(kept.id), fields)).status, status)
  assert.equal((await get(other.id)).status, 200)
  const odd = { choice_title: 'other', choice_id: 'merged', rule: '//evil.example' }
  const merged = await ada.submit(page, same(kept.id), odd)
  assert.equal(merged.headers.location, `/desk/talk/${kept.id}?done=talks-merged`)
  assert.equal((await read(kept.id)).title, kept.title)
})

test('editors of single events merge the talks of these events only', async () => {
  const title = 'Other Days 2026'
  const body = { title }
  await archive.call('POST', '/api/v2/category', { token: archive.editor, body })
  const { id, client: eve } = await signIn(archive, 'Eve', 'suggester')
  await setEventEditor(archive.pool, id, category, true, operator)
  const [own, own2, foreign] = [await make(), await make(), await make({ category: title })]
  assert.equal((await eve.get(`${same(own.id)}?with=${foreign.id}`)).status, 403)
  assert.equal((await eve.get(`${same(foreign.id)}?with=${own.id}`)).status, 403)
  const page = await eve.get(`${same(own.id)}?with=${own2.id}`)
  const forged = await eve.submit(page, same(own.id), { with: String(foreign.id) })
  assert.equal(forged.status, 403)
  assert.equal((await get(foreign.id)).status, 200)
  assert.equal((await eve.submit(page, same(own.id))).status, 303)
})

test('lists the rules and their findings, and merges duplicates from there', async () => {
  const source_url = 'https://www.youtube.com/watch?v=quality0001'
  const [first, second] = [await make({ source_url }), await make({ source_url, title: 'B' })]
  const rules = await ada.get('/desk/quality')
  assert.match(rules.html, /href="\/desk\/quality\/same-source"/)
  const list = await ada.get('/desk/quality/same-source')
  const [, link = ''] = /href="(\/desk\/talk\/\d+\/same[^"]+)"/.exec(list.html) ?? []
  assert.equal(link, `${same(first.id)}?with=${second.id}&amp;rule=same-source`)
  const page = await ada.get(link.replaceAll('&amp;', '&'))
  const merged = await ada.submit(page, same(first.id))
  assert.equal(merged.headers.location, '/desk/quality/same-source?done=talks-merged')
  assert.match((await ada.follow(merged)).html, /No findings/)
  assert.match((await ada.get('/desk/quality', { 'accept-language': 'es' })).html, /Sin ponente/)
  for (const path of ['/desk/quality/unknown', '/desk/quality/a%20b'])
    assert.equal((await ada.get(path)).status, 404)
  assert.equal((await ada.get('/desk/quality/no-date?cursor=x')).status, 400)
})

test('leads from talk to talk of a quality list, also after a correction', async () => {
  const ids: number[] = []
  for (const title of ['First', 'Second', 'Third']) ids.push((await make({ title })).id)
  const [first = 0, second = 0, third = 0] = ids
  const rule = '/desk/quality/no-description'
  assert.match((await ada.get(rule)).html, /"\/desk\/talk\/\d+\?list=rule%3Dno-description"/)
  const path = `/desk/talk/${second}`
  const link = `${path}?list=rule%3Dno-description`
  const leads = (html: string) =>
    [...html.matchAll(/href="\/desk\/talk\/(\d+)\?list=[^"]*" rel="(prev|next)"/g)].map(
      ([, id, rel]) => [rel, Number(id)],
    )
  const page = await ada.get(link)
  const expected = [
    ['prev', first],
    ['next', third],
  ]
  assert.deepEqual(leads(page.html), expected)
  assert.match(page.html, /href="\/desk\/quality\/no-description\?cursor="/)

  const saved = await ada.submit(page, path, { description: 'No longer in the list' })
  const after = await ada.follow(saved)
  assert.match(after.html, /Saved\./)
  const found = await archive.call('GET', '/api/v2/quality/no-description?page_size=100', {
    token: archive.editor,
  })
  assert.doesNotMatch(found.text, /"Second"/)
  assert.deepEqual(leads(after.html), expected)

  for (const list of ['rule=same-source', 'rule=speaker-spellings', 'rule=x', 'rule='])
    assert.deepEqual(leads((await ada.get(`${path}?list=${encodeURIComponent(list)}`)).html), [])
  const limited = await signIn(archive, 'Eve', 'suggester')
  await setEventEditor(archive.pool, limited.id, category, true, operator)
  const own = await limited.client.get(link)
  assert.equal(own.status, 200)
  assert.deepEqual(leads(own.html), [], 'editors of events see no quality lists')
})

test('fixes a finding with one click, as an ordinary change', async () => {
  const title = 'One day 2026'
  const body = { title, start_date: '2026-05-02', end_date: '2026-05-02' }
  await archive.call('POST', '/api/v2/category', { token: archive.editor, body })
  const { id } = await make({ category: title, title: 'Undated' })
  const list = await ada.get('/desk/quality/no-date')
  assert.match(list.html, /Set to 2026-05-02/)
  const form = list.forms.find(({ fields }) => fields.fix?.startsWith(`${id} `)) ?? assert.fail()
  const fixed = await ada.post(form.action, form.fields)
  assert.match((await ada.follow(fixed)).html, /Fixed\./)
  assert.equal((await read(id)).recorded, '2026-05-02')
  const revert = { token: archive.editor, body: {} }
  const path = `/api/v2/video/${id}/revisions/2`
  const change = await archive.call('GET', path, { token: archive.editor })
  assert.deepEqual([change.json.by, change.json.via], ['Ada', 'page'])
  assert.equal((await archive.call('POST', `${path}/revert`, revert)).json.recorded, null)

  // The form of a page that shows an older version does nothing.
  const stale = await ada.follow(await ada.post(form.action, form.fields))
  assert.match(stale.html, /Nothing was fixed/)
  assert.equal((await read(id)).recorded, null)
  const current = await ada.get('/desk/quality/no-date')
  const again = current.forms.find(({ fields }) => fields.fix?.startsWith(`${id} `))
  await patch(id, { recorded: '2026-05-03' })
  await ada.post(form.action, again?.fields ?? {})
  assert.equal((await read(id)).recorded, '2026-05-03')
  for (const fix of ['', 'x', `${id}`, `${id} "`, `${id} ${'a'.repeat(200)}`])
    assert.equal((await ada.post(form.action, { ...form.fields, fix })).status, 400, fix)
})

test('fixes all findings of a page, except those that changed since', async () => {
  const talks: Video[] = []
  for (let index = 0; index < 5; index++)
    talks.push(await make({ source_url: `https://youtu.be/fixall0000${index}` }))
  const list = await ada.get('/desk/quality/no-thumbnail')
  const [, count = ''] = /Fix all (\d+) on this page/.exec(list.html) ?? []
  const targets = [...list.html.matchAll(/name="fix" value="([^"]+)"/g)].map(([, value]) => value)
  const all = [...new Set(targets)] as string[]
  assert.equal(all.length, Number(count))
  const [changed, ...others] = talks as [Video, ...Video[]]
  await patch(changed.id, { summary: 'Changed' })
  const { action, fields } = list.forms.find(({ fields }) => fields.fix) ?? assert.fail()
  const form = new URLSearchParams({ form_token: fields.form_token ?? '' })
  for (const fix of all) form.append('fix', fix)
  const reply = await archive.call('POST', action, {
    raw: form.toString(),
    headers: {
      host: 'localhost',
      cookie: ada.cookie,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  assert.match(String(reply.headers.location), /done=fixed-some/)
  for (const [index, { id }] of others.entries())
    assert.equal(
      (await read(id)).thumbnail_url,
      `https://i.ytimg.com/vi/fixall0000${index + 1}/hqdefault.jpg`,
    )
  assert.equal((await read(changed.id)).thumbnail_url, null)
  await checkInvariants(archive.databaseUrl)
})
