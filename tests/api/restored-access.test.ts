import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import {
  createLinkFor,
  createToken,
  invitePerson,
  setDisabled,
  setEventEditor,
} from '../../server/auth/auth.ts'
import { backup, restore } from '../../server/backup/backup.ts'
import { findPrograms } from '../../server/platform/db/programs.ts'
import { createSpeakerLink } from '../../server/speaker-links/speaker-links.ts'
import { emptyDatabase } from '../support/database.ts'
import { call, category, root, runCommand, startArchive, startServer } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// What was revoked after a backup stays revoked when the backup is restored.

const archive = await startArchive({ PUBLIC_URL: 'https://talks.example.org' })
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-access-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const origin = { actor: 'tests', person: null, request: 'tests' }

const major = await withDatabase(archive.databaseUrl, async (query) =>
  Number(
    (await query(`select current_setting('server_version_num')::int / 10000 as major`))[0]?.major,
  ),
)
const newest = findPrograms('pg_dump', process.env)[0]?.major ?? 0
const options = {
  skip: newest < major && `needs a pg_dump of PostgreSQL ${major}; the newest here is ${newest}`,
}

const access = (databaseUrl: string, ...args: string[]) =>
  runCommand(['access', ...args], { DATABASE_URL: databaseUrl })

/** Restores a backup into a new database, and returns its URL. */
async function restored(t: TestContext, file: string): Promise<string> {
  const { url, name } = await emptyDatabase(t)
  await withDatabase(process.env.TEST_DATABASE_URL as string, (query) =>
    query(`alter database ${name} owner to talkshelf`),
  )
  const context = { environment: process.env, schemaFolder: join(root, 'server'), say: () => {} }
  await restore(url, file, context)
  return url
}

const rows = (url: string, statement: string) =>
  withDatabase(url, async (query) =>
    (await query(statement)).map((row): unknown => Object.values(row)[0]),
  )

const events = `select category_id from event_editor join person on person.id = person_id
  where name = 'Former Editor'`
const links = 'select speaker_id from speaker_link where revoked is null order by id'

/** Adds a passkey and a connected account. Nobody signs in with them here. */
const addCredentials = (person: number) =>
  withDatabase(archive.databaseUrl, (query) =>
    query(`
      with added as (
        insert into passkey (credential_id, person_id, public_key, counter, rp_id, name)
        select decode(md5(name || ${person}), 'hex'), ${person}, '', 0, 'talks.example.org', name
        from unnest(array['kept', 'removed']) as name)
      insert into openid_identity (issuer, subject, person_id)
      select 'https://id.example.org', name || ${person}, ${person}
      from unnest(array['kept', 'removed']) as name`),
  )

test('what was revoked after a backup stays revoked', options, async (t) => {
  const { pool, databaseUrl } = archive
  const tokenOf = (name: string) => createToken(pool, { name, role: 'editor', days: 9 })
  const kept = await tokenOf('kept')
  const revoked = await tokenOf('revoked')
  const person = async (name: string, role: 'editor' | 'admin' | 'suggester' = 'editor') =>
    (await invitePerson(pool, { name, role, mail: `${name.slice(0, 3)}@example.org` }, origin)).id
  const [lovely, leaver, demoted, moved, formerEditor] = [
    await person('Lovely Editor'),
    await person('Leaver'),
    await person('Demoted', 'admin'),
    await person('Moved'),
    await person('Former Editor', 'suggester'),
  ]
  await setEventEditor(pool, formerEditor, category, true, origin)
  for (const id of [lovely, leaver]) await addCredentials(id)
  const { speakers } = await archive.make({ speakers: ['Ann Archer', 'Bo Bowman'] })
  const ids = await rows(databaseUrl, 'select id from speaker order by name')
  assert.equal(speakers.length, 2)
  for (const id of ids) await createSpeakerLink(pool, Number(id), origin)
  const file = join(folder, 'archive.dump')
  const context = { environment: process.env, schemaFolder: join(root, 'server'), say: () => {} }
  await backup(databaseUrl, file, context)

  // Everything after this is unknown to the backup.
  await runCommand(['token', 'revoke', String(revoked.id)], { DATABASE_URL: databaseUrl })
  await setDisabled(pool, leaver, true, origin)
  await runCommand(['person', 'role', String(demoted), '--role', 'editor'], {
    DATABASE_URL: databaseUrl,
  })
  await setEventEditor(pool, formerEditor, category, false, origin)
  await withDatabase(databaseUrl, async (query) => {
    await query(`update person set mail = 'new@example.org' where id = ${moved}`)
    await query("delete from passkey where name = 'removed'")
    await query("delete from openid_identity where subject like 'removed%'")
    await query(`update speaker_link set revoked = now() where speaker_id = ${ids[1]}`)
  })
  const later = await tokenOf('later')
  const saved = join(folder, 'access.json')
  const reply = await access(databaseUrl, 'save', saved)
  assert.equal(reply.code, 0, reply.stderr)
  assert.match(reply.stderr, /^Saved the access of \d tokens and 4 people to /)
  assert.equal(statSync(saved).mode & 0o777, 0o600)
  for (const secret of [kept.token, revoked.token, later.token, 'new@example.org'])
    assert.ok(!readFileSync(saved, 'utf8').includes(secret))

  const url = await restored(t, file)
  const before = await rows(url, 'select name from token where revoked is null order by name')
  assert.ok(
    before.some((name) => name === 'revoked'),
    'the backup knows nothing of it',
  )
  const restricted = await access(url, 'restrict', saved, '--json')
  assert.equal(restricted.code, 0, restricted.stderr)
  const { sessions: _, links: __, ...counts } = JSON.parse(restricted.stdout)
  assert.deepEqual(counts, {
    tokens: 1,
    people: 1,
    roles: 1,
    mail_addresses: 1,
    passkeys: 2,
    accounts: 2,
    event_editors: 1,
    speaker_links: 1,
  })
  const server = await startServer({ DATABASE_URL: url })
  t.after(() => server.stop())
  const statusOf = async ({ token }: { token: string }) =>
    (await call(server.url, 'GET', '/api/v2/import', { token })).status
  assert.deepEqual(
    [await statusOf(kept), await statusOf(revoked), await statusOf(later)],
    [200, 401, 401],
  )
  const people = 'select name || coalesce(mail, role) from person where disabled is null order by 1'
  assert.deepEqual(await rows(url, people), [
    'DemotedDem@example.org',
    'Former EditorFor@example.org',
    'Lovely EditorLov@example.org',
    'Movededitor',
  ])
  assert.deepEqual(await rows(url, "select role from person where name = 'Demoted'"), ['editor'])
  assert.deepEqual(await rows(url, events), [])
  assert.deepEqual(await rows(url, links), [ids[0]])
  assert.deepEqual(await rows(url, 'select name from passkey'), ['kept', 'kept'])
  assert.deepEqual(await rows(url, 'select hash from one_time_token'), [])
  const audit = "select actor from audit_event where kind = 'access-restricted'"
  assert.equal((await rows(url, audit)).length, 1)

  // Once more: nothing is left to take away.
  const again = JSON.parse((await access(url, 'restrict', saved, '--json')).stdout)
  assert.deepEqual(new Set(Object.values(again)), new Set([0]))
})

test('takes away all access without a file', options, async (t) => {
  const file = join(folder, 'all.dump')
  const context = { environment: process.env, schemaFolder: join(root, 'server'), say: () => {} }
  const { id } = await invitePerson(
    archive.pool,
    { name: 'Somebody', role: 'admin', mail: null },
    origin,
  )
  await createLinkFor(archive.pool, id, origin)
  await backup(archive.databaseUrl, file, context)
  const url = await restored(t, file)
  const { code, stderr } = await access(url, 'restrict', '--all')
  assert.equal(code, 0, stderr)
  assert.match(stderr, /Nobody has access now/)
  for (const left of [
    'select id from token where revoked is null',
    'select id from person where disabled is null',
    'select name from passkey',
    'select hash from session',
    'select hash from one_time_token',
    links,
  ])
    assert.deepEqual(await rows(url, left), [], left)
})

test('refuses files that are no list of access', async () => {
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const { databaseUrl } = archive
  const before = await rows(databaseUrl, 'select count(*) from token where revoked is null')
  for (const [args, code, message] of [
    [[join(folder, 'nowhere.json')], 1, /cannot be read.*\n.*access save/],
    [[write('text.json', 'tokens')], 1, /cannot be read/],
    [[write('list.json', '[]')], 1, /is not a list of access/],
    [[write('empty.json', '{"format":1,"saved":"x"}')], 1, /is not a list of access/],
    [
      [
        write(
          'person.json',
          JSON.stringify({
            format: 1,
            saved: 'x',
            granted: {
              tokens: [],
              people: { somebody: { role: 'owner', mail: null } },
              passkeys: [],
              accounts: [],
              event_editors: [],
            },
            speaker_links: [],
          }),
        ),
      ],
      1,
      /is not a list of access/,
    ],
    [[], 2, /--all/],
    [['x.json', '--all'], 2, /--all/],
  ] as const) {
    const reply = await access(databaseUrl, 'restrict', ...args)
    assert.equal(reply.code, code, reply.stderr)
    assert.match(reply.stderr, message)
  }
  const existing = await access(databaseUrl, 'save', join(folder, 'text.json'))
  assert.equal(existing.code, 1)
  assert.match(existing.stderr, /exist/)
  assert.deepEqual(
    await rows(databaseUrl, 'select count(*) from token where revoked is null'),
    before,
  )
})
