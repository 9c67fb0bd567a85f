import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '@talkshelf/contract'
import { appendNextEntries } from '../../server/change-feed/append.ts'
import { hashTitle } from '../../server/matches/sides.ts'
import {
  applyNameChange,
  beginNameChange,
  choosePlaces,
  nextNameChangeBatch,
  readNameChange,
} from '../../server/name-changes/name-changes.ts'
import { derivedTables, settingTables, tableRules } from '../../server/name-changes/tables.ts'
import { hashNames, readKeys, signForm } from '../../server/suggestions/limits.ts'
import { playlistJson, scheduleJson } from '../support/conference.ts'
import { freshDatabase } from '../support/database.ts'
import { operator, signIn } from '../support/desk-client.ts'
import { readFeed, replay } from '../support/feed-replay.ts'
import { call, runCommand, spawnServer, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// What a name change must not do: change accounts and settings, rename others, bring a name back,
// or leave it in copies.

// No process but this test runs batches.
const archive = await startArchive({ RESUME_SECONDS: '0' })
const { pool, url, editor: token, admin } = archive
const query = (text: string, values: unknown[] = []) =>
  withDatabase(archive.databaseUrl, (run) => run(text, values))

async function ok(method: string, path: string, body: object, as = token) {
  const reply = await archive.call(method, `/api/v2/${path}`, { token: as, body })
  assert.ok(reply.status < 300, reply.text)
  return reply.json
}

interface Names {
  readonly speaker: string
  readonly name: string
  readonly oldNames: readonly string[]
  readonly inLinks?: boolean
}

/** Appends all entries to the feed. */
async function completeFeed(): Promise<void> {
  while (await appendNextEntries(pool, 500));
}

async function begin({ speaker, inLinks = false, ...names }: Names): Promise<number> {
  const { json } = await archive.call('GET', `/api/v2/speaker/${speaker}`, { token })
  return beginNameChange(pool, { ...names, speaker: json.id, inLinks }, operator)
}

async function runBatches(): Promise<void> {
  for (let count = 0; count < 10_000; count++) if (!(await nextNameChangeBatch(pool, url))) return
  throw new Error('The name change does not end')
}

async function plan(names: Names): Promise<number> {
  const id = await begin(names)
  await runBatches()
  return id
}

async function apply(id: number): Promise<number> {
  await applyNameChange(pool, id, operator)
  await runBatches()
  assert.equal((await readNameChange(pool, id, 0, 1)).change.state, 'applied')
  return id
}

const refusedFor = (pointer: string) => (error: Problem) => {
  assert.equal(error.problem, 'invalid-fields', String(error))
  assert.equal((error.more.errors as { pointer: string }[])[0]?.pointer, pointer)
  return true
}

test('accounts and settings are listed, but not changed', async () => {
  await archive.make({ speakers: ['Vera Wren'] })
  await query(`insert into person (name, mail, role) values ('Vera Wren', $1, 'admin')`, [
    'vera.wren@example.org',
  ])
  await query(
    `insert into openid_identity (issuer, subject, person_id)
     select 'https://vera.wren.example', 'vera-wren', max(id) from person`,
  )
  await query(
    `insert into token (name, role, hash, expires) values ('Vera Wren', 'editor', 'x', now())`,
  )
  await completeFeed()
  await ok('POST', 'webhook', { url: 'https://127.0.0.1/vera-wren' }, admin)
  await ok('POST', 'followed-source', {
    url: 'https://127.0.0.1/vera-wren.json',
    options: { name: 'Talks of Vera Wren', category: 'Example Days 2026' },
  })
  await query(
    `insert into audit_event (actor, kind, detail, request_id)
     values ('Vera Wren', 'vera wren', '{"name": "Vera Wren"}', 'r')`,
  )
  const id = await plan({
    ...{ speaker: 'vera-wren', name: 'Ivo Wren', oldNames: ['Vera Wren'], inLinks: true },
  })
  const listed = async () =>
    (await readNameChange(pool, id, 0, 1000)).places
      .filter(({ refusal }) => refusal === 'account')
      .map(({ subject, field, before }) => `${subject}.${field}${before}`)
      .sort()
  const expected = [
    ...['audit_event.kind', 'followed_source.url', 'openid_identity.issuer'],
    ...['openid_identity.subject', 'person.mail', 'token.name', 'webhook.url'],
  ]
  assert.deepEqual(await listed(), expected)
  await apply(id)
  assert.deepEqual(await listed(), expected)
  const [person] = await query(`select name, mail from person where mail is not null`)
  assert.deepEqual({ ...person }, { name: 'Ivo Wren', mail: 'vera.wren@example.org' })
  const [identity] = await query('select issuer, subject from openid_identity')
  assert.deepEqual({ ...identity }, { issuer: 'https://vera.wren.example', subject: 'vera-wren' })
  const [event] = await query(`select actor, kind, detail from audit_event where request_id = 'r'`)
  assert.deepEqual(
    { ...event },
    { actor: 'Ivo Wren', kind: 'vera wren', detail: { name: 'Ivo Wren' } },
  )
  const [hook] = await query('select url from webhook')
  assert.equal(hook?.url, 'https://127.0.0.1/vera-wren')
  const [source] = await query(`select url, options ->> 'name' as name from followed_source`)
  assert.deepEqual(
    { ...source },
    { url: 'https://127.0.0.1/vera-wren.json', name: 'Talks of Ivo Wren' },
  )
})

test('each table is changed, only searched, or left out, by a decision', async () => {
  const rows = await query(
    `select distinct table_name as name
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'public' and table_type = 'BASE TABLE'
       and (data_type in ('text', 'character varying', 'jsonb', 'json') or udt_name = '_text')
       and table_name !~ '^video_search'
     order by 1`,
  )
  const decided = [...Object.keys(tableRules), ...settingTables, ...derivedTables]
  assert.deepEqual(
    rows.map(({ name }) => String(name)).filter((name) => !decided.includes(name)),
    [],
  )
  assert.equal(new Set(decided).size, decided.length)
})

test('only a name of the speaker is replaced, and only by the new name', async () => {
  await archive.make({ speakers: ['Otto van Stern', 'Zébulon Stark'] })
  const speaker = 'otto-van-stern'
  const name = 'Olga van Stern'
  for (const old of ['corp example => evil example', 'Otto Berlin', 'open source', 'Otto => Kim'])
    await assert.rejects(
      begin({ speaker, name, oldNames: ['Otto van Stern', old] }),
      refusedFor('/old_names'),
      old,
    )
  // Another speaker has it, in another spelling.
  await assert.rejects(
    begin({ speaker, name: 'ZEBULON STARK', oldNames: ['Otto van Stern'] }),
    refusedFor('/name'),
  )
  const oldNames = ['Otto van Stern', 'Otto Stern => Olga Stern', 'Stern, Otto', 'Otto => Olga']
  const id = await plan({ speaker, name, oldNames })
  // Meanwhile another speaker has the new name.
  const other = await archive.make({ speakers: ['Olga Van Stern'] })
  await assert.rejects(applyNameChange(pool, id, operator), refusedFor('/name'))
  await ok('PATCH', 'speaker/olga-van-stern', { name: 'Other Person' })
  await ok('PATCH', 'speaker/other-person', { aliases: [] })
  await apply(id)
  assert.equal((await archive.call('GET', `/api/v2/video/${other.id}`)).status, 200)
})

test('a change is refused if the speaker was merged since it was planned', async () => {
  await archive.make({ speakers: ['Una Mere', 'Una B. Mere'] })
  const id = await plan({ speaker: 'una-mere', name: 'Uli Mere', oldNames: ['Una Mere'] })
  await ok('POST', 'speaker/una-mere/merge', { into: 'una-b-mere' })
  await assert.rejects(applyNameChange(pool, id, operator), { problem: 'wrong-state' })
})

test('forms that were open during the change do not bring the name back', async () => {
  const { client } = await signIn(archive, 'Edith', 'editor')
  const talk = await archive.make({
    ...{ title: 'Lea Fern at home', summary: 'Lea Fern', speakers: ['Lea Fern'] },
  })
  const path = `/desk/talk/${talk.id}`
  const page = await client.get(path)
  const edited = page.forms.find(({ action }) => action === path)
  assert.ok(edited)
  const suggestPath = `/video/${talk.id}/${talk.slug}/suggest`
  const suggesting = await client.get(suggestPath)
  await apply(await plan({ speaker: 'lea-fern', name: 'Leo Fern', oldNames: ['Lea Fern'] }))
  const [, copyToken = ''] = /data-copy-token="([^"]+)"/.exec(page.html) ?? []
  const copy = await client.post(`${path}/copy`, {
    ...edited.fields,
    ...{ summary: 'Lea Fern, the guest', form_token: copyToken },
  })
  assert.equal(copy.status, 200, copy.html)
  const forms = await query('select form from working_copy')
  assert.doesNotMatch(JSON.stringify(forms), /Lea/)
  const saved = await client.submit(page, path, { whiteboard: 'Checked' })
  assert.equal(saved.status, 303, saved.html)
  const { json } = await archive.call('GET', `/api/v2/video/${talk.id}`, { token })
  assert.deepEqual(
    [json.title, json.summary, json.speakers, json.whiteboard],
    ['Leo Fern at home', 'Leo Fern', ['Leo Fern'], 'Checked'],
  )
  const again = await client.submit(page, path, { summary: 'Lea Fern, the guest' })
  assert.equal(again.status, 303, again.html)
  const second = await archive.call('GET', `/api/v2/video/${talk.id}`, { token })
  assert.equal(second.json.summary, 'Leo Fern, the guest')

  // A reader corrected the tags only.
  const namesHash = hashNames({})
  const terms = { video: talk.id, revision: 1, asksProofOfWork: false, namesHash }
  const sent = await client.submit(suggesting, suggestPath, {
    form: signForm(await readKeys(pool), terms, Date.now() - 4000),
    tags: 'plants',
  })
  assert.equal(sent.status, 303, sent.html)
  const [suggestion] = await query('select fields from suggestion')
  assert.deepEqual(suggestion?.fields, { tags: ['plants'] })
})

test('mirrors get the new reason of a takedown', async () => {
  const talk = await archive.make({ title: 'Taken', speakers: ['Ron Gale'] })
  await ok('POST', `video/${talk.id}/takedown`, { reason: 'Ron Gale asked' }, admin)
  await completeFeed()
  const { url: DATABASE_URL } = await freshDatabase()
  const copy = async () => {
    const { code, stderr } = await runCommand(['mirror', url, '--database', '--once'], {
      DATABASE_URL,
    })
    assert.equal(code, 0, stderr)
  }
  await copy()
  await apply(await plan({ speaker: 'ron-gale', name: 'Rae Gale', oldNames: ['Ron Gale'] }))
  await completeFeed()
  await copy()
  const mirror = await spawnServer({ DATABASE_URL })
  const { json } = await call(mirror.url, 'GET', `/api/v2/video/${talk.id}`)
  assert.equal(json.reason, 'Rae Gale asked')
  const state = replay((await readFeed(archive)).entries)
  assert.equal(state.get(`video:${talk.id}`)?.state, 'taken-down')
})

test('a merge can be undone after the change', async () => {
  await archive.make({ speakers: ['Nia Moor'] })
  const spelled = await archive.make({ speakers: ['Nia, Moor'] })
  await ok('POST', 'speaker/nia-moor-1/merge', { into: 'nia-moor' })
  await apply(
    await plan({ speaker: 'nia-moor', name: 'Nat Moor', oldNames: ['Nia Moor', 'Nia, Moor'] }),
  )
  const [merged] = await query(`select slug from speaker where merged_into is not null
                                order by id desc limit 1`)
  await ok('POST', `speaker/${merged?.slug}/unmerge`, {})
  const { json } = await archive.call('GET', `/api/v2/video/${spelled.id}`)
  assert.match(json.speakers[0], /^Nat Moor \(\d+\)$/)
  await checkInvariants(archive.databaseUrl)
})

test('a text that is too long stays; the other texts of the row change', async () => {
  const long = 'x'.repeat(1990)
  const talk = await archive.make({ speakers: ['Eli Ash'], summary: 'Eli Ash' })
  await ok('PATCH', 'speaker/eli-ash', {
    aliases: [{ name: 'Eli B. Ash', shown: true }],
    pronouns: `${'y'.repeat(40)} Eli Ash`,
    description: 'Eli Ash is a botanist',
  })
  await query(
    `insert into speaker_request (speaker_id, kind, comment)
     select id, 'name', $1 from speaker where slug = 'eli-ash'`,
    [`Eli Ash ${long}`],
  )
  const id = await apply(
    await plan({
      ...{ speaker: 'eli-ash', name: 'Elisabetta Ashworth-Longname' },
      oldNames: ['Eli Ash', 'Eli B. Ash'],
    }),
  )
  const { json } = await archive.call('GET', '/api/v2/speaker/elisabetta-ashworth-longname')
  assert.equal(json.name, 'Elisabetta Ashworth-Longname')
  assert.equal(json.description, 'Elisabetta Ashworth-Longname is a botanist')
  const [request] = await query('select comment from speaker_request')
  assert.doesNotMatch(String(request?.comment), /Eli Ash/)
  const { places } = await readNameChange(pool, id, 0, 1000)
  assert.deepEqual(
    places.map(({ subject, field, refusal }) => [subject, field, refusal]),
    json.pronouns.includes('Eli Ash') ? [['speaker', 'pronouns', 'invalid']] : [],
  )
  const read = await archive.call('GET', `/api/v2/video/${talk.id}`)
  assert.equal(read.json.summary, 'Elisabetta Ashworth-Longname')
})

test('a key that another record of the source has is refused; the rest of the row changes', async () => {
  const [first, second] = [await archive.make({ speakers: ['Ida Lake'] }), await archive.make()]
  await query(
    `insert into source_record (source, key, video_id, state)
     values ('s', 'talks/ida-lake', $1, '{"fields": {"title": "Ida Lake"}, "facts": []}'),
            ('s', 'talks/ivy-lake', $2, '{"fields": {}, "facts": []}')`,
    [first.id, second.id],
  )
  const id = await apply(
    await plan({ speaker: 'ida-lake', name: 'Ivy Lake', oldNames: ['Ida Lake'] }),
  )
  const [row] = await query(
    `select source, key, state #>> '{fields,title}' as title
     from source_record where video_id = ${first.id}`,
  )
  assert.deepEqual({ ...row }, { source: 's', key: 'talks/ida-lake', title: 'Ivy Lake' })
  const { places } = await readNameChange(pool, id, 0, 1000)
  assert.deepEqual(
    places.map(({ subject, field, refusal }) => [subject, field, refusal]),
    [['source_record', 'key', 'invalid']],
  )
})

test('decisions about matches hold although their titles have the new name', async () => {
  await archive.make({ speakers: ['Kai Reed'] })
  const { id } = await ok('POST', 'match', {
    schedule: {
      text: scheduleJson([
        { guid: 'a', title: 'Lunch with Kai Reed', speakers: ['Kai Reed'], time: '12:00' },
        { guid: 'b', title: 'Gardens of data', speakers: ['Ada'], time: '13:00' },
      ]),
      source: 'schedule',
    },
    playlist: {
      text: playlistJson([{ id: 'kkkkkkkkkk1', title: 'Kai Reed: something else' }]),
      name: 'playlist.json',
      source: 'videos',
    },
    category: 'Example Days 2026',
  })
  const pair = { verdict: 'pair', talk: 'a', recording: 'youtube:kkkkkkkkkk1' }
  await ok('POST', `match/${id}/decision`, pair)
  await apply(await plan({ speaker: 'kai-reed', name: 'Kim Reed', oldNames: ['Kai Reed'] }))
  const [decision] = await query('select talk_title, recording_title from match_decision')
  assert.deepEqual(
    { ...decision },
    {
      talk_title: hashTitle('Lunch with Kim Reed'),
      recording_title: hashTitle('Kim Reed: something else'),
    },
  )
})

test('what is left out of the plan follows the table, and what is listed does not', async () => {
  const talk = await archive.make({ title: 'Sam Dell', speakers: ['Sam Dell'] })
  const gone = await archive.make({ title: 'Sam Dell again', speakers: ['Sam Dell'] })
  await ok('POST', `video/${gone.id}/takedown`, { reason: 'Asked' }, admin)
  const id = await plan({ speaker: 'sam-dell', name: 'Sue Dell', oldNames: ['Sam Dell'] })
  const { places } = await readNameChange(pool, id, 0, 1000)
  const table = places.find(({ subject, subject_id }) => subject === 'video' && subject_id === 0)
  assert.ok(table, 'taken-down records are one place')
  const taken = places.filter((place) => place !== table).map(({ position }) => position)
  await choosePlaces(pool, id, { from: 1, to: 10_000, taken })
  await apply(id)
  assert.equal((await archive.call('GET', `/api/v2/video/${talk.id}`)).json.title, 'Sue Dell')
  const [row] = await query(`select title from video where id = ${gone.id}`)
  assert.equal(row?.title, 'Sam Dell again')
})
