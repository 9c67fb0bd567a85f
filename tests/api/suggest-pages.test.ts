import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { createToken } from '../../server/auth/auth.ts'
import { redactLinks } from '../../server/desk/sign-in.ts'
import { hashNames, readForm, readKeys, signForm } from '../../server/suggestions/limits.ts'
import { createDeskClient, type DeskReply, formTo, signIn } from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The pages with which readers suggest corrections: forms without scripts, the secret link, limits
// against abuse, and the inbox in which editors decide.

const archive = await startArchive({ PROXIES: '1' })
const { call, make, editor: token, pool, databaseUrl } = archive
const query = (text: string, values: unknown[] = []) =>
  withDatabase(databaseUrl, (run) => run(text, values))

let lastNetwork = 0
/** Returns the client of a reader in a network of their own. */
function reader(address = `10.${++lastNetwork >> 8}.${lastNetwork & 255}.7`, more = {}) {
  return createDeskClient(archive, { headers: { 'x-forwarded-for': address, ...more } })
}

/** Returns the token of a form that was opened some seconds ago. */
async function oldToken(
  video: number | null,
  {
    ageMs = 4000,
    revision = video === null ? 0 : 1,
    asksProofOfWork = false,
    shown = {} as Partial<Video>,
  } = {},
): Promise<string> {
  const terms = { video, revision, asksProofOfWork, namesHash: hashNames(shown) }
  return signForm(await readKeys(pool), terms, Date.now() - ageMs)
}

const pathOf = ({ id, slug }: Video) => `/video/${id}/${slug}/suggest`

/** Fills in the form of a talk and sends it. */
async function suggest(
  talk: Video,
  fields: Record<string, string>,
  { client = reader(), kind = 'correction', form = undefined as string | undefined } = {},
): Promise<DeskReply> {
  const page = await client.get(`${pathOf(talk)}?kind=${kind}`)
  return client.submit(page, pathOf(talk), { form: form ?? (await oldToken(talk.id)), ...fields })
}

const linkOf = (reply: DeskReply) => {
  assert.equal(reply.status, 303, reply.html.slice(0, 2000))
  return String(reply.headers.location).replace('?new=1', '')
}
const idOf = (link: string) => Number(link.split('/')[2])
const rowOf = async (id: number) =>
  (await query('select * from suggestion where id = $1', [id]))[0] ?? assert.fail('no suggestion')
const stateOf = async (link: string) => (await rowOf(idOf(link))).state
const decide = (link: string, action: string, body: object) =>
  call('POST', `/api/v2/suggestion/${idOf(link)}/${action}`, { token, body })

test('a reader corrects a talk, follows the link and gets credit', async () => {
  const talk = await make({ title: 'Wrogn title', speakers: ['Ada'] })
  const client = reader()
  const watch = await client.get(`/video/${talk.id}/${talk.slug}`)
  assert.match(watch.html, new RegExp(`<a href="${pathOf(talk)}" rel="nofollow">Suggest a corr`))
  const page = await client.get(pathOf(talk))
  assert.equal(page.status, 200)
  assert.equal(page.headers['cache-control'], 'private, no-store')
  assert.match(page.html, /<meta name="robots" content="noindex, nofollow"/)
  const { fields } = formTo(page, pathOf(talk))
  assert.deepEqual([fields.title, fields.speakers?.trim()], ['Wrogn title', 'Ada'])
  const sent = await client.submit(page, pathOf(talk), {
    form: await oldToken(talk.id),
    title: 'Right title',
    name: 'Zoë <b>',
    show_name: '1',
  })
  const link = linkOf(sent)
  const thanks = await client.follow(sent)
  assert.match(thanks.html, /Thank you!/)
  assert.ok(thanks.html.includes(archive.url + link))
  assert.match(thanks.html, /Wrogn.*Right/s)
  assert.equal(thanks.headers['referrer-policy'], 'strict-origin')
  assert.equal(thanks.headers['cache-control'], 'private, no-store')
  const { json } = await call('GET', `/api/v2/suggestion/${idOf(link)}`, { token })
  assert.deepEqual(
    [json.low_priority, json.fields.map(({ field }: { field: string }) => field)],
    [false, ['title']],
  )
  await decide(link, 'accept', {})
  assert.match((await client.get(link)).html, /Accepted\. Thank you!/)
  const changed = await client.get(`/video/${talk.id}/${talk.slug}`)
  assert.match(changed.html, /Corrected with the help of <bdi>Zoë &lt;b><\/bdi>/)
})

test('all pages exist in Spanish', async () => {
  const talk = await make({ title: 'En español' })
  const client = reader(undefined, { 'accept-language': 'es' })
  assert.match((await client.get(pathOf(talk))).html, /Sugerir una corrección: En español/)
  assert.match((await client.get('/suggest')).html, /Sugerir una charla que falta/)
  const sent = await suggest(talk, { comment: 'Algo' }, { client })
  assert.match((await client.follow(sent)).html, /¡Gracias!/)
})

test('the other kinds have forms of their own', async () => {
  const [talk, other] = [await make({ source_url: 'https://a.example/x' }), await make()]
  const dead = await suggest(talk, { source_url: '' }, { kind: 'dead-link' })
  assert.deepEqual((await rowOf(idOf(linkOf(dead)))).fields, {})
  const wrong = await suggest(talk, { duplicate_of: 'that one' }, { kind: 'duplicate' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.html, /Copy the address of the page of the other talk/)
  const url = `${archive.url}/video/${other.id}/${other.slug}`
  const twin = await suggest(talk, { duplicate_of: url }, { kind: 'duplicate' })
  assert.equal(Number((await rowOf(idOf(linkOf(twin)))).duplicate_of), other.id)
  assert.equal((await suggest(talk, {}, { kind: 'removal' })).status, 400)
  const removal = await suggest(talk, { comment: 'I gave this talk' }, { kind: 'removal' })
  assert.deepEqual((await rowOf(idOf(linkOf(removal)))).fields, { state: 2 })
  const client = reader()
  const missing = await client.submit(await client.get('/suggest'), '/suggest', {
    form: await oldToken(null),
    title: 'Not here yet',
    speakers: 'Grace\r\nAda',
  })
  const { kind, fields } = await rowOf(idOf(linkOf(missing)))
  assert.deepEqual(
    [kind, fields],
    ['missing', { title: 'Not here yet', speakers: ['Grace', 'Ada'] }],
  )
  const followed = await client.get(linkOf(missing))
  assert.match(followed.html, /Not here yet/)
})

test('a form that is refused keeps what was typed', async () => {
  const talk = await make({ title: 'Kept' })
  const empty = await suggest(talk, {})
  assert.equal(empty.status, 400)
  assert.match(empty.html, /You have not changed anything yet/)
  const wrong = await suggest(talk, { title: 'Kept 2', recorded: 'soon', comment: 'My words' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.html, /recorded: must be a valid date/)
  const { fields } = formTo(wrong, pathOf(talk))
  assert.deepEqual([fields.title, fields.comment?.trim()], ['Kept 2', 'My words'])
})

test('the version that the reader saw is the base', async () => {
  const talk = await make({ title: 'First', summary: 'First' })
  const client = reader()
  const page = await client.get(pathOf(talk))
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { summary: 'Second' } })
  const form = await oldToken(talk.id)
  const refused = await client.submit(page, pathOf(talk), { form, recorded: 'soon' })
  assert.equal(formTo(refused, pathOf(talk)).fields.form, form)
  const link = linkOf(await client.submit(page, pathOf(talk), { form, title: 'Third' }))
  const { fields, base_revision } = await rowOf(idOf(link))
  assert.deepEqual([fields, base_revision], [{ title: 'Third' }, 1])
  // A form that has expired is signed again for the version that it showed.
  await query(
    `insert into suggestion_key
     select day - days, key from suggestion_key, unnest('{1,2}'::integer[]) as days
     on conflict do nothing`,
  )
  const old = await oldToken(talk.id, { ageMs: 90_000_000 })
  const expired = await client.submit(page, pathOf(talk), { form: old, title: 'Fourth' })
  const again = formTo(expired, pathOf(talk)).fields
  assert.deepEqual([again.title, again.summary?.trim()], ['Fourth', 'First'])
  assert.equal(again.form?.split('.')[2], '1')
})

test('a rename while the form is open is no change of the reader', async () => {
  const talk = await make({ title: 'Renamed', speakers: ['Ada', 'Rena Former'], tags: ['one'] })
  const client = reader()
  const page = await client.get(pathOf(talk))
  const opened = formTo(page, pathOf(talk)).fields.form ?? ''
  const keys = await readKeys(pool)
  const sent = readForm(keys, talk.id, { token: opened, proofOfWork: '' }) ?? assert.fail()
  assert.ok(sent.showed('speakers', ['Ada', 'Rena Former']) && sent.showed('tags', ['one']))
  assert.ok(!sent.showed('speakers', ['Ada']) && !sent.showed('tags', ['Ada', 'Rena Former']))
  const body = { name: 'Rena Current' }
  await call('PATCH', '/api/v2/speaker/rena-former', { token, body })
  const send = async (fields: Record<string, string>) => {
    const form = await oldToken(talk.id, { shown: talk })
    return client.submit(page, pathOf(talk), { form, ...fields })
  }
  const link = linkOf(await send({ title: 'Renamed!' }))
  assert.deepEqual((await rowOf(idOf(link))).fields, { title: 'Renamed!' })
  assert.equal((await send({})).status, 400, 'nothing is changed')
  const added = linkOf(await send({ speakers: 'Ada\r\nRena Former\r\nEve' }))
  await decide(added, 'accept', {})
  const { json } = await call('GET', `/api/v2/video/${talk.id}`)
  assert.deepEqual(json.speakers, ['Ada', 'Rena Current', 'Eve'])
})

test('a form shows no version but the current one, whatever it claims', async () => {
  const talk = await make({ title: 'Live title', summary: 'Unpublished words', state: 2 })
  const body = { summary: 'Published', state: 1 }
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body })
  const forged = (await oldToken(talk.id, { revision: 2 })).replace(/\.2\./, '.1.')
  for (const form of ['', 'x', forged, await oldToken(talk.id, { revision: 2, ageMs: -60_000 })])
    for (const fields of [{ website: 'x' }, { recorded: 'soon' }, { comment: 'x' }]) {
      const sent = { kind: 'correction', revision: '1', base_revision: '1', form, ...fields }
      const { status, html } = await reader().post(pathOf(talk), sent)
      assert.equal(status, 400)
      assert.doesNotMatch(html, /Unpublished/)
      assert.match(html, /Published/)
    }
})

test('a form of a version that does not exist or is not public has expired', async () => {
  const talk = await make({ title: 'Unpublished title', state: 2 })
  const body = { title: 'Restored', state: 1 }
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body })
  const { json: current } = await call('GET', `/api/v2/video/${talk.id}`)
  // As after a restore from a backup: the signed number is that of another version, or of none.
  for (const revision of [1, 9]) {
    const form = await oldToken(talk.id, { revision })
    const expired = await suggest(current, { title: 'Typed' }, { form })
    assert.equal(expired.status, 400)
    assert.match(expired.html, /no longer valid/)
    assert.doesNotMatch(expired.html, /Unpublished/)
    const again = formTo(expired, pathOf(current)).fields
    assert.deepEqual([again.title, again.form?.split('.')[2]], ['Typed', '2'])
  }
})

test('a form about a talk that was merged meanwhile is about the talk that was kept', async () => {
  const [merged, kept] = [
    await make({ title: 'Merged', summary: 'Of the merged one' }),
    await make({ title: 'Kept', summary: 'Of the kept one' }),
  ]
  const client = reader()
  const page = await client.get(pathOf(merged))
  const into = { into: kept.id }
  await call('POST', `/api/v2/video/${merged.id}/merge`, { token, body: into })
  const before = await call('GET', `/api/v2/video/${kept.id}`, { token })
  const form = await oldToken(merged.id)
  const fields = { form, speakers: 'Ada' }
  const refused = await client.submit(page, pathOf(merged), { ...fields, recorded: 'soon' })
  assert.equal(refused.status, 400)
  const shown = formTo(refused, pathOf(kept)).fields
  assert.deepEqual(
    [shown.speakers?.trim(), shown.summary?.trim()],
    ['Ada', before.json.summary],
    'only what was typed replaces what the kept talk has',
  )
  // Also if the form is refused before it is read.
  const fast = await oldToken(merged.id, { ageMs: -60_000 })
  const early = await client.submit(page, pathOf(merged), { form: fast, speakers: 'Ada' })
  assert.match(early.html, /That was very fast/)
  const left = formTo(early, pathOf(kept)).fields
  assert.deepEqual(
    [left.speakers?.trim(), left.summary?.trim(), left.title],
    ['Ada', before.json.summary, before.json.title],
  )
  const link = linkOf(await client.submit(page, pathOf(merged), fields))
  const spaces = { ...fields, speakers: 'Ada\r\n ' }
  assert.equal(linkOf(await client.submit(page, pathOf(merged), spaces)), link, 'the same text')
  const row = await rowOf(idOf(link))
  assert.deepEqual([Number(row.video_id), row.fields], [kept.id, { speakers: ['Ada'] }])
})

test('only the secret link shows the outcome, and its secret is stored nowhere', async () => {
  const talk = await make({ title: 'Secret' })
  const link = linkOf(await suggest(talk, { title: 'Hidden words' }))
  const [, , id, secret = ''] = link.split('/')
  const other = linkOf(await suggest(talk, { title: 'Another' }))
  const client = reader()
  for (const path of [
    `/suggestion/${id}/${'x'.repeat(43)}`,
    `/suggestion/${id}/x`,
    `/suggestion/${idOf(other)}/${secret}`,
  ]) {
    assert.equal((await client.get(path)).status, 404)
    for (const action of ['withdraw', 'reply'])
      assert.equal((await client.post(`${path}/${action}`, { reply: 'x' })).status, 404)
  }
  for (const table of ['suggestion', 'suggestion_sender', 'suggestion_key', 'change']) {
    const rows = await query(`select t::text as row from ${table} t`)
    assert.ok(!JSON.stringify(rows).includes(secret))
    assert.ok(!JSON.stringify(rows).includes(Buffer.from(secret, 'base64url').toString('hex')))
  }
  assert.doesNotMatch(redactLinks(`/prefer?to=${encodeURIComponent(link)}`), new RegExp(secret))
  assert.equal(redactLinks(link), `/suggestion/${id}/:secret`)
})

test('the author withdraws, or replies once, which opens a declined suggestion again', async () => {
  const talk = await make({ title: 'Answered' })
  const client = reader()
  const link = linkOf(await suggest(talk, { title: 'Answered!' }))
  await decide(link, 'decline', { reason: 'not-verified' })
  const declined = await client.get(link)
  assert.match(declined.html, /Declined\..*We could not verify this/s)
  assert.equal((await client.submit(declined, `${link}/reply`, { reply: ' ' })).status, 400)
  await client.submit(declined, `${link}/reply`, { reply: 'See the slides' })
  assert.equal(await stateOf(link), 'open')
  const { json } = await call('GET', `/api/v2/suggestion/${idOf(link)}`, { token })
  assert.equal(json.reply, 'See the slides')
  assert.equal((await client.post(`${link}/reply`, { reply: 'Again' })).status, 409)
  await decide(link, 'decline', { reason: 'Words of an <i>editor' })
  const again = await client.get(link)
  assert.match(again.html, /Words of an &lt;i>editor/)
  assert.ok(!again.forms.some(({ action }) => action.endsWith('/reply')))

  const withdrawn = linkOf(await suggest(talk, { title: 'Private mistake', name: 'Me' }))
  await client.submit(await client.get(withdrawn), `${withdrawn}/withdraw`)
  const row = await rowOf(idOf(withdrawn))
  assert.deepEqual([row.state, row.fields, row.comment, row.name], ['withdrawn', {}, '', null])
  assert.equal((await decide(withdrawn, 'accept', {})).status, 409)
  const accepted = linkOf(await suggest(talk, { title: 'Accepted' }))
  await decide(accepted, 'accept', {})
  assert.equal((await client.post(`${accepted}/withdraw`, {})).status, 409)
})

test('a reply is refused if the same suggestion is open, or the talk was taken down', async () => {
  const talk = await make({ title: 'Replied' })
  const client = reader()
  const link = linkOf(await suggest(talk, { title: 'Replied!' }))
  await decide(link, 'decline', { reason: 'Private words of an editor' })
  const again = linkOf(await suggest(talk, { title: 'Replied!' }))
  const refused = await client.post(`${link}/reply`, { reply: 'See the slides' })
  assert.equal(refused.status, 409)
  assert.deepEqual([await stateOf(link), (await rowOf(idOf(link))).reply], ['declined', null])
  const { content_hash } = await rowOf(idOf(link))
  const body = { reason: 'Asked for it' }
  await call('POST', `/api/v2/video/${talk.id}/takedown`, { token: archive.admin, body })
  assert.equal((await client.post(`${link}/reply`, { reply: 'See the slides' })).status, 410)
  const row = await rowOf(idOf(link))
  assert.deepEqual([row.state, row.reason, row.reply], ['declined', 'taken-down', null])
  assert.notDeepEqual(row.content_hash, content_hash)
  assert.match((await client.get(link)).html, /This talk was removed/)
  assert.equal(await stateOf(again), 'done')
  const events = await query(`select detail::text from audit_event`)
  assert.doesNotMatch(JSON.stringify(events), /Private words of an editor/)
})

test('a reply counts what was sent at the same moment', async () => {
  const talk = await make({ title: 'Replies' })
  const link = linkOf(await suggest(talk, { comment: 'Declined' }))
  await decide(link, 'decline', { reason: 'unclear' })
  const reply = await withDatabase(databaseUrl, async (run) => {
    // As a new suggestion does, whose transaction has not ended yet.
    await run('begin')
    await run(`select pg_advisory_xact_lock(hashtext('suggestions'))`)
    const sent = reader().post(`${link}/reply`, { reply: 'See the slides' })
    await until('a reply that waits', async () => {
      const waiting = await run(
        `select from pg_stat_activity
         where datname = current_database() and wait_event = 'advisory'`,
      )
      return waiting.length > 0
    })
    await run(
      `insert into suggestion (kind, video_id, base_revision, fields, comment, show_name,
                               secret_hash, content_hash, low_priority)
       select 'correction', $1, 1, '{}', 'Others', false, sha256(('r' || n)::bytea),
              sha256(('r' || n)::bytea), false
       from generate_series(1, 20) n`,
      [talk.id],
    )
    await run('commit')
    return sent
  })
  assert.equal(reply.status, 409)
  assert.match(reply.html, /Editors have too many open suggestions/)
  const kept = formTo(reply, `${link}/reply`).fields.reply
  assert.equal(kept?.trim(), 'See the slides', 'nothing typed is lost')
  assert.equal(await stateOf(link), 'declined')
  await query(`delete from suggestion where comment = 'Others'`)
})

test('authors get credit for corrections that changed a talk, and remove their names', async () => {
  const [merged, kept] = [await make({ title: 'Credit 1' }), await make({ title: 'Credit 2' })]
  const credit = (name: string) => ({ name, show_name: '1' })
  const first = linkOf(await suggest(merged, { title: 'Credit', ...credit('First Reader') }))
  const note = linkOf(await suggest(kept, { comment: 'A note', ...credit('Noting Reader') }))
  const removal = { comment: 'Please', ...credit('Private Reader') }
  const hiding = linkOf(await suggest(kept, removal, { kind: 'removal' }))
  assert.equal((await rowOf(idOf(hiding))).show_name, false)
  const form = (await reader().get(`${pathOf(kept)}?kind=removal`)).html
  assert.doesNotMatch(form, /name="show_name"/)
  await decide(first, 'accept', {})
  await decide(note, 'accept', {})
  await decide(hiding, 'accept', {})
  await call('PATCH', `/api/v2/video/${kept.id}`, { token, body: { state: 1 } })
  await call('POST', `/api/v2/video/${merged.id}/merge`, { token, body: { into: kept.id } })
  const { json } = await call('GET', `/api/v2/video/${kept.id}`)
  const talkPage = async () => (await reader().get(`/video/${kept.id}/${json.slug}`)).html
  assert.match(await talkPage(), /First Reader/)
  assert.doesNotMatch(await talkPage(), /Noting Reader|Private Reader/)
  await query(`update edge_purge set target = 'test'`)
  const followed = await reader().get(first)
  assert.equal((await reader().submit(followed, `${first}/remove-name`)).status, 303)
  assert.doesNotMatch(await talkPage(), /First Reader/)
  const { name, show_name } = await rowOf(idOf(first))
  assert.deepEqual([name, show_name], [null, false])
  const [edge] = await query(`update edge_purge set target = '' returning hard_keys`)
  assert.deepEqual(edge?.hard_keys, [`v${kept.id}`])
  assert.ok(!(await reader().get(first)).forms.some(({ action }) => /remove-name/.test(action)))
})

test('the page of the author does not tell which hidden aliases exist', async () => {
  const talk = await make({ title: 'Aliases', speakers: ['Ada', 'Dora Former'] })
  const own = linkOf(await suggest(talk, { speakers: 'Ada\r\nDora Former\r\nEve' }))
  const body = { name: 'Nora Current' }
  await call('PATCH', '/api/v2/speaker/dora-former', { token, body })
  const follow = async (link: string) => (await reader().get(link)).html
  assert.match(await follow(own), /Eve/)
  assert.doesNotMatch(await follow(own), /Dora/, 'a name that the talk had follows the rename')
  const other = await make({ title: 'Guess', speakers: ['Ada'] })
  const guess = linkOf(await suggest(other, { speakers: 'Ada\r\nDora Former' }))
  assert.match(await follow(guess), /Dora Former/)
  assert.doesNotMatch(await follow(guess), /Nora/)
  const same = linkOf(await suggest(other, { speakers: 'Ada\r\nNora Current' }))
  assert.notEqual(same, guess, 'the same for editors only')
  // Editors see who is meant, and that nothing is left to do. The author does not.
  const speakers = { speakers: ['Ada', 'Nora Current'] }
  await call('PATCH', `/api/v2/video/${other.id}`, { token, body: speakers })
  const { json } = await call('GET', `/api/v2/suggestion/${idOf(guess)}`, { token })
  assert.deepEqual(json.fields[0].suggested, ['Ada', 'Nora Current'])
  assert.deepEqual([json.state, json.fields[0].state], ['open', 'already-applied'])
  assert.doesNotMatch(await follow(guess), /Others have already done this|has this already/)
  assert.match(await follow(same), /Others have already done this/)
})

test('the page of the author shows no name that readers do not see', async () => {
  const talk = await make({ title: 'Names', speakers: ['Ada', 'Dana Former'], tags: ['old tag'] })
  const typed = { speakers: 'Ada\r\nDana Former\r\nEve', tags: 'old tag\r\nnew tag' }
  const link = linkOf(await suggest(talk, typed))
  const removed = { speakers: ['Ada'], tags: [] }
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: removed })
  const { status } = await call('PATCH', '/api/v2/speaker/dana-former', {
    token,
    body: { name: 'Dana Unpublished' },
  })
  assert.equal(status, 200)
  await call('PATCH', '/api/v2/tag/old-tag', { token, body: { name: 'unpublished tag' } })
  const follow = async () => (await reader().get(link)).html
  assert.doesNotMatch(await follow(), /unpublished/i)
  assert.match(await follow(), /Dana Former.*Eve/s, 'what the author typed')
  // On another talk it is public, but not that it is the same person.
  await make({ speakers: ['Dana Unpublished'] })
  assert.doesNotMatch(await follow(), /Dana Unpublished/)
  const back = { speakers: ['Ada', 'Dana Unpublished'] }
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: back })
  assert.doesNotMatch(await follow(), /Dana Former/, 'it follows the rename')
})

test('a former version does not confirm guesses of names that are not public', async () => {
  const talk = await make({ title: 'Guessed', speakers: ['Ada', 'Gala Former'] })
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { speakers: ['Ada'] } })
  const body = { name: 'Gala Unpublished' }
  await call('PATCH', '/api/v2/speaker/gala-former', { token, body })
  const guess = async (name: string, as?: string) => {
    const fields = { speakers: ['Ada', name] }
    const body = { kind: 'correction', video: talk.id, base_revision: 1, fields }
    const headers = { 'x-forwarded-for': '10.9.9.9' }
    const sent = await call('POST', '/api/v2/suggestion', {
      body,
      headers,
      ...(as && { token: as }),
    })
    return [sent.status, sent.json.errors?.[0].code]
  }
  assert.deepEqual(await guess('Gala Unpublished'), [400, 'unknown-revision'])
  assert.deepEqual(await guess('Wrong Guess'), [400, 'unknown-revision'])
  assert.deepEqual(await guess('Gala Unpublished', token), [400, 'required'], 'an editor knows it')
  await make({ speakers: ['Gala Unpublished'] })
  assert.deepEqual(await guess('Eve'), [201, undefined])
})

test('the page of the author shows nothing of a draft', async () => {
  const talk = await make({ title: 'Live title' })
  const link = linkOf(await suggest(talk, { title: 'Mine' }))
  const body = { state: 2, title: 'Draft title' }
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body })
  const { html, status } = await reader().get(link)
  assert.equal(status, 200)
  assert.doesNotMatch(html, /Draft title|Live title/)
  assert.match(html, /Mine/)
  assert.equal((await reader().get(pathOf(talk))).status, 404)
  // That a draft has the suggested value closes the suggestion only when the draft is published.
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { title: 'Mine' } })
  await call('GET', `/api/v2/suggestion/${idOf(link)}`, { token })
  assert.match((await reader().get(link)).html, /An editor has not decided yet/)
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { state: 1 } })
  assert.match((await reader().get(link)).html, /Others have already done this/)
})

test('a form is signed, some seconds old, about this talk and used once', async () => {
  const [talk, other] = [await make({ title: 'Signed' }), await make()]
  const send = (form: string, title = 'Signed!') => suggest(talk, { title }, { form })
  const fast = await send(await oldToken(talk.id, { ageMs: -60_000 }))
  assert.equal(fast.status, 400)
  assert.match(fast.html, /That was very fast/)
  assert.equal(formTo(fast, pathOf(talk)).fields.title, 'Signed!')
  const valid = await oldToken(talk.id)
  for (const form of [
    '',
    'x.y.z',
    await oldToken(other.id),
    await oldToken(null),
    await oldToken(talk.id, { ageMs: 90_000_000 }),
    valid.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    valid.replace(/\.\d+\./, `.${Date.now() - 9000}.`),
  ]) {
    const { status, html } = await send(form)
    assert.equal(status, 400, form)
    assert.match(html, /no longer valid/)
  }
  const link = linkOf(await send(valid))
  assert.equal(linkOf(await send(valid)), link, 'sent twice, it is one')
  const used = await send(valid, 'Another text')
  assert.equal(used.status, 400)
  assert.match(used.html, /no longer valid/)
  const { fields } = formTo(used, pathOf(talk))
  assert.equal(fields.title, 'Another text', 'nothing typed is lost')
  assert.notEqual(fields.form, valid)
  const [{ count } = {}] = await query(
    'select count(*)::integer from suggestion where video_id = $1',
    [talk.id],
  )
  assert.equal(count, 1)
  const trap = await suggest(talk, { title: 'Trapped', website: 'https://spam.example' })
  assert.equal(trap.status, 400)
  const foreign = await reader().post(
    pathOf(talk),
    { title: 'x' },
    { 'sec-fetch-site': 'cross-site' },
  )
  assert.equal(foreign.status, 403)
})

test('the same suggestion twice is one', async () => {
  const talk = await make({ title: 'Same' })
  const link = linkOf(await suggest(talk, { title: 'Same!' }))
  const again = await suggest(talk, { title: 'Same!', name: 'Another reader' })
  assert.equal(again.status, 200)
  assert.match(again.html, /The same suggestion is open already/)
  assert.doesNotMatch(again.html, new RegExp(link))
  const body = { kind: 'correction', video: talk.id, fields: { title: 'Same!' } }
  const { json } = await call('POST', '/api/v2/suggestion', { token, body })
  assert.deepEqual(json, { id: idOf(link), url: null })
  await decide(link, 'decline', { reason: 'unclear' })
  const later = linkOf(await suggest(talk, { title: 'Same!' }))
  assert.notEqual(idOf(later), idOf(link))
  const reopened = await call('POST', `/api/v2/suggestion/${idOf(link)}/reopen`, { token })
  assert.equal(reopened.status, 409)
})

test('a suggestion is stored if the same one is decided at the same moment', async () => {
  const talk = await make({ title: 'Decided' })
  const first = linkOf(await suggest(talk, { title: 'Decided!' }))
  // Closes the first one after the statement that finds it open.
  await query(
    `create function close_first() returns trigger language plpgsql as $$
     begin
       update suggestion set state = 'done', closed = now()
       where id = ${idOf(first)} and state = 'open';
       return null;
     end $$`,
  )
  await query(
    `create trigger close_first after insert on suggestion
     for each statement execute function close_first()`,
  )
  const second = linkOf(await suggest(talk, { title: 'Decided!' }))
  await query('drop trigger close_first on suggestion')
  await query('drop function close_first')
  assert.notEqual(idOf(second), idOf(first))
  assert.deepEqual([await stateOf(first), await stateOf(second)], ['done', 'open'])
})

test('a network may send 5 in an hour and 20 in a day', async () => {
  const talk = await make({ title: 'Limited' })
  const address = (host: number) => `192.0.2.${host}`
  const send = (number: number, from = address(number)) =>
    suggest(talk, { title: `Limited ${number}` }, { client: reader(from) })
  for (const number of [1, 2, 3, 4, 5]) linkOf(await send(number))
  const refused = await send(6)
  assert.equal(refused.status, 429)
  assert.match(refused.html, /many suggestions from your network/)
  assert.equal(formTo(refused, pathOf(talk)).fields.title, 'Limited 6', 'nothing typed is lost')
  const body = { kind: 'correction', video: talk.id, comment: 'By the API' }
  const headers = { 'x-forwarded-for': address(9) }
  const api = await call('POST', '/api/v2/suggestion', { body, headers })
  assert.deepEqual([api.status, api.headers['retry-after']], [429, '3600'])
  const invalid = { kind: 'correction', video: talk.id, fields: { recorded: 'soon' } }
  const unread = await call('POST', '/api/v2/suggestion', { body: invalid, headers })
  assert.equal(unread.status, 429, 'before it is read')
  linkOf(await send(7, '192.0.3.1'))
  const ipv6 = (group: string) => `2001:db8:1:${group}::5`
  for (const [number, group] of ['aa00', 'aa01', 'aaff', 'aa10', 'aa11'].entries())
    linkOf(await send(20 + number, ipv6(group)))
  assert.equal((await send(30, ipv6('aa77'))).status, 429, 'the same /56')
  linkOf(await send(31, ipv6('ab00')))
  await query(`update suggestion_sender set at = at - interval '2 hours'`)
  await query(`update suggestion set state = 'withdrawn', closed = now() where video_id = $1`, [
    talk.id,
  ])
  linkOf(await send(40, address(1)))
  await query(
    `insert into suggestion (kind, fields, comment, show_name, secret_hash, content_hash,
                             low_priority, state, closed)
     select 'missing', '{}', '', false, sha256(n::text::bytea), sha256(n::text::bytea), false,
            'withdrawn', now()
     from generate_series(1, 14) n`,
  )
  await query(
    `insert into suggestion_sender (suggestion_id, network, at)
     select id, (select network from suggestion_sender order by suggestion_id desc limit 1),
            now() - interval '3 hours'
     from suggestion where kind = 'missing' and fields = '{}'`,
  )
  assert.equal((await send(41, address(2))).status, 429, '20 in a day')
})

test('a token of someone who is no editor any more has the limits of anyone', async () => {
  const talk = await make({ title: 'Drafted', state: 2 })
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { title: 'Live', state: 1 } })
  const { id } = await signIn(archive, 'Demi', 'editor')
  const created = { name: 'Demi', role: 'editor', days: 1, person: id } as const
  const { token: own } = await createToken(pool, created)
  let sent = 0
  const send = async (as: string, more: object = {}) => {
    const body = { kind: 'correction', video: talk.id, comment: `Demi ${++sent}`, ...more }
    const headers = { 'x-forwarded-for': '192.0.8.1' }
    const { status, json } = await call('POST', '/api/v2/suggestion', { body, token: as, headers })
    return [status, json.errors?.[0].code]
  }
  const ofDraft = { base_revision: 1, fields: { title: 'Better' } }
  assert.deepEqual(await send(own, ofDraft), [201, undefined])
  await query(`update person set role = 'suggester' where id = $1`, [id])
  assert.deepEqual(await send(own, ofDraft), [400, 'unknown-revision'])
  for (let number = 0; number < 5; number++)
    assert.deepEqual(await send(own), [201, undefined], `${number}`)
  assert.deepEqual(await send(own), [429, undefined])
  const [row] = await query(`select low_priority from suggestion where comment = 'Demi 5'`)
  assert.equal(row?.low_priority, true, 'as without a token')
  await query(`delete from token where name = 'Demi'`)
  assert.deepEqual(await send(own), [401, undefined], 'a token that was deleted is not anyone')
  assert.deepEqual(await send(token), [201, undefined], 'editors have no limits')
  await query(`update suggestion set state = 'withdrawn', closed = now() where video_id = $1`, [
    talk.id,
  ])
})

test('networks are stored as keyed hashes, and deleted after 7 days', async () => {
  const text = JSON.stringify(await query('select t::text as row from suggestion_sender t'))
  for (const network of ['192.0.2.1', '192.0.2.0/24'])
    for (const form of [network, Buffer.from(network).toString('hex')])
      assert.ok(!text.includes(form), form)
  const plain = createHash('sha256').update('network 192.0.2.0/24').digest('hex')
  assert.ok(!text.includes(plain))
})

test('suspicious suggestions have a low priority', async () => {
  const talk = await make({ title: 'Queue', description: 'https://a.example https://b.example' })
  const isLowPriority = async (link: string) => (await rowOf(idOf(link))).low_priority
  const known = 'https://a.example https://b.example and more'
  assert.equal(await isLowPriority(linkOf(await suggest(talk, { description: known }))), false)
  const links = 'https://c.example https://d.example www.e.example'
  assert.equal(await isLowPriority(linkOf(await suggest(talk, { comment: links }))), true)
  const client = reader('198.51.100.1')
  const declined = linkOf(await suggest(talk, { comment: 'Bad' }, { client }))
  assert.equal(await isLowPriority(declined), false)
  await decide(declined, 'decline', { reason: 'abuse' })
  const neighbour = reader('198.51.100.200')
  assert.equal(
    await isLowPriority(linkOf(await suggest(talk, { comment: 'New' }, { client: neighbour }))),
    true,
  )
  const body = { kind: 'correction', video: talk.id, comment: 'By the API' }
  const headers = { 'x-forwarded-for': '203.0.113.5' }
  const { json } = await call('POST', '/api/v2/suggestion', { body, headers })
  assert.equal((await rowOf(json.id)).low_priority, true)
})

test('only while many arrive, a browser that did some work is before the others', async () => {
  const talk = await make({ title: 'Flood' })
  const isLowPriority = async (reply: DeskReply) => (await rowOf(idOf(linkOf(reply)))).low_priority
  assert.doesNotMatch((await reader().get(pathOf(talk))).html, /data-proof-of-work/)
  await query(
    `insert into suggestion (kind, fields, comment, show_name, secret_hash, content_hash,
                             low_priority, state, closed)
     select 'missing', '{"title": "flood"}', '', false, sha256(('f' || n)::bytea),
            sha256(('f' || n)::bytea), false, 'withdrawn', now()
     from generate_series(1, 60) n`,
  )
  await query(
    `insert into suggestion_sender (suggestion_id, network)
     select id, sha256(id::text::bytea) from suggestion where fields @> '{"title": "flood"}'`,
  )
  assert.match((await reader().get(pathOf(talk))).html, /data-proof-of-work="18"/)
  const asking = () => oldToken(talk.id, { asksProofOfWork: true })
  const without = await suggest(talk, { comment: 'Without work' }, { form: await asking() })
  assert.equal(await isLowPriority(without), true)
  const form = await asking()
  const work = solve(form)
  const wrong = String(Number(work) + 1)
  const keys = await readKeys(pool)
  const hasProof = (proofOfWork: string) =>
    readForm(keys, talk.id, { token: form, proofOfWork })?.hasProofOfWork
  assert.deepEqual([hasProof(work), hasProof(wrong), hasProof('')], [true, false, false])
  const fields = { comment: 'With work', proof_of_work: work }
  assert.equal(await isLowPriority(await suggest(talk, fields, { form })), false)
  const opened = await suggest(talk, { comment: 'Opened before the flood' })
  assert.equal(await isLowPriority(opened), false, 'the form did not ask for it')
  const claimed = (await asking()).replace(/\.1\./, '.0.')
  assert.equal((await suggest(talk, { comment: 'Forged' }, { form: claimed })).status, 400)
  await query(`delete from suggestion where fields @> '{"title": "flood"}'`)
})

/** Finds a proof of work of 18 bits, as the script of the form does. */
function solve(form: string): string {
  const [nonce] = form.split('.')
  for (let number = 0; ; number++) {
    const digest = createHash('sha256').update(`${nonce}.${number}`).digest()
    if (digest.readUInt32BE() < 2 ** 14) return String(number)
  }
}

test('a talk has at most 20 open suggestions, the archive 500, and the form says so', async () => {
  const talk = await make({ title: 'Full' })
  for (let number = 0; number < 20; number++)
    linkOf(await suggest(talk, { comment: `Number ${number}` }))
  const full = await reader().get(pathOf(talk))
  assert.match(full.html, /Editors have many open suggestions/)
  assert.equal(full.forms.filter(({ action }) => action === pathOf(talk)).length, 0)
  const form = await oldToken(talk.id)
  const late = await reader().post(pathOf(talk), { kind: 'correction', form, comment: 'Late' })
  assert.equal(late.status, 409)
  assert.match(late.html, /Editors have too many open suggestions/)
  const kept = formTo(late, pathOf(talk)).fields
  assert.deepEqual([kept.comment?.trim(), kept.form], ['Late', form], 'nothing typed is lost')
  const other = await make()
  linkOf(await suggest(other, { comment: 'Elsewhere' }))
  const [{ open } = {}] = await query(
    `select count(*)::integer as open from suggestion where state = 'open'`,
  )
  await query(
    `insert into suggestion (kind, fields, comment, show_name, secret_hash, content_hash,
                             low_priority)
     select 'missing', '{"title": "many"}', '', false, sha256(('m' || n)::bytea),
            sha256(('m' || n)::bytea), n <= 300
     from generate_series(1, 499 - $1::integer) n`,
    [open],
  )
  // Those with a low priority leave room for others.
  const spam = await suggest(other, { comment: 'www.a.example www.b.example www.c.example' })
  assert.equal(spam.status, 409)
  assert.match(spam.html, /www\.a\.example/)
  // Of many at the same moment, one is stored.
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, number) => suggest(other, { comment: `At once ${number}` })),
  )
  assert.deepEqual(
    replies.map(({ status }) => status).filter((status) => status !== 409),
    [303],
  )
  assert.match((await reader().get('/suggest')).html, /Editors have many open suggestions/)
  const body = { kind: 'missing', fields: { title: 'By the API' } }
  const refused = await call('POST', '/api/v2/suggestion', { token, body })
  assert.deepEqual([refused.status, refused.json.type.split('/').at(-1)], [409, 'queue-full'])
  await query(`delete from suggestion where fields @> '{"title": "many"}'`)
  await query(`update suggestion set state = 'withdrawn', closed = now() where state = 'open'`)
})

test('editors decide in the inbox and on the page of a suggestion', async () => {
  const { client } = await signIn(archive, 'Edith', 'editor')
  const talk = await make({ title: 'Inbxo', summary: 'Sumary' })
  const links = [
    linkOf(await suggest(talk, { title: 'Inbox', summary: 'Summary', name: 'Zoë' })),
    linkOf(await suggest(talk, { comment: 'It is <script>alert(1)</script>' })),
  ]
  const [first = 0, second = 0] = links.map(idOf)
  await query(`update suggestion set created = now() - interval '3 days' where id = $1`, [first])
  const inbox = await client.get('/desk')
  assert.match(inbox.html, /2 open suggestions; the oldest was sent 3 days ago/)
  assert.match(inbox.html, /<del><span class="unseen">\[Removed: <\/span>Inbxo/)
  assert.doesNotMatch(inbox.html, /<script>alert/)
  const accept = `/desk/suggestion/${first}/accept`
  // The client sends one box of several: a title without the summary.
  const accepted = await client.submit(inbox, accept, { field: 'title' })
  assert.equal(accepted.headers.location, `/desk?done=suggestion-accepted&decided=${first}`)
  const { json } = await call('GET', `/api/v2/video/${talk.id}`, { token })
  assert.deepEqual([json.title, json.summary], ['Inbox', 'Sumary'])
  assert.match((await client.get(`/desk/talk/${talk.id}/history`)).html, /Suggestion \d+/)
  const after = await client.follow(accepted)
  assert.match(after.html, /Accepted\. The talk was changed\./)
  const undone = await client.submit(after, `/desk/suggestion/${first}/reopen`)
  assert.match((await client.follow(undone)).html, /open again/)
  assert.equal((await call('GET', `/api/v2/video/${talk.id}`)).json.title, 'Inbxo')

  const page = await client.get(`/desk/suggestion/${first}`)
  const none = await client.post(accept, {
    form_token: String(formTo(page, accept).fields.form_token),
    revision: String(formTo(page, accept).fields.revision),
    has_fields: '1',
  })
  assert.equal(none.status, 400)
  assert.match(none.html, /Tick at least one field/)
  const blank = await client.submit(page, accept, { field: 'title', title: '   ' })
  assert.equal(blank.status, 400)
  assert.match(blank.html, /Some values are not valid/)
  await call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { summary: 'Third' } })
  const stale = await client.submit(page, accept, { field: 'summary', summary: 'Edited' })
  assert.equal(stale.status, 409)
  assert.match(stale.html, /was changed meanwhile/)
  const edited = await client.submit(stale, accept, { field: 'summary', summary: 'Edited' })
  assert.equal(edited.status, 303)
  assert.equal((await call('GET', `/api/v2/video/${talk.id}`)).json.summary, 'Edited')
  const twice = await client.submit(stale, accept, { field: 'summary', summary: 'Again' })
  assert.equal(twice.status, 409)
  assert.match(twice.html, /decided meanwhile/)

  const decline = `/desk/suggestion/${second}/decline`
  const other = await client.get(`/desk/suggestion/${second}`)
  assert.equal((await client.submit(other, decline, { reason: ' ' })).status, 400)
  // Enter in the field of an own reason presses the first button of its form.
  const reasonForm = other.html.split('<form').find((form) => form.includes('name="reason"')) ?? ''
  assert.match(reasonForm, /<button/)
  assert.doesNotMatch(reasonForm, /name="code"/)
  const both = { code: 'abuse', reason: 'My own reason' }
  assert.equal((await client.submit(other, decline, both)).status, 303)
  assert.equal((await rowOf(second)).reason, 'My own reason')
  await call('POST', `/api/v2/suggestion/${second}/reopen`, { token })
  const declined = await client.submit(other, decline, { code: 'unclear' })
  assert.equal(declined.headers.location, `/desk?done=suggestion-declined&decided=${second}`)
  assert.match((await client.get('/desk')).html, /Nothing waits for you/)
  const { client: admin } = await signIn(archive, 'Ada', 'admin')
  assert.match((await admin.get('/desk/audit')).html, /declined a suggestion/)
})

test('a missing talk is accepted as a new talk, a duplicate as a merge', async () => {
  const { client } = await signIn(archive, 'Eve', 'editor')
  const [talk, twin] = [await make({ title: 'Twin' }), await make({ title: 'Twin' })]
  const body = { kind: 'missing', fields: { title: 'Wanted', speakers: ['Ada'] } }
  const { json } = await call('POST', '/api/v2/suggestion', { token, body })
  const duplicate = { kind: 'duplicate', video: talk.id, duplicate_of: twin.id }
  const { json: other } = await call('POST', '/api/v2/suggestion', { token, body: duplicate })
  const inbox = await client.get('/desk')
  const created = await client.submit(inbox, `/desk/suggestion/${json.id}/accept`)
  assert.equal(created.headers.location, `/desk/talk/new?suggestion=${json.id}`)
  assert.equal(formTo(await client.follow(created), '/desk/talk/new').fields.title, 'Wanted')
  const merged = await client.submit(inbox, `/desk/suggestion/${other.id}/accept`)
  assert.equal(merged.headers.location, `/desk/talk/${talk.id}/same?with=${twin.id}`)
})

test('the archive is consistent afterwards', () => checkInvariants(databaseUrl))
