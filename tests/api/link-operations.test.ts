import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig, redactedConfig } from '../../server/config.ts'
import { openArchive, runCommand, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// Link checks for operators: settings, metrics and hints of `talkshelf doctor`.

const settings = { CHECK_LINKS: 'on', PUBLIC_URL: 'https://talks.example.org' }
const archive = await startArchive({ RESUME_SECONDS: '0' })
const { databaseUrl } = archive
const query = (sql: string, values: unknown[] = []) =>
  withDatabase(databaseUrl, (run) => run(sql, values))

test('links are checked only by archives that say who they are', () => {
  const read = (environment: Record<string, string>) =>
    readConfig({ DATABASE_URL: 'postgres://localhost/x', ...environment })
  assert.equal(read({}).CHECK_LINKS, 'off')
  assert.equal(read(settings).CHECK_LINKS, 'on')
  for (const [wrong, message] of [
    [{ CHECK_LINKS: 'on' }, /PUBLIC_URL is required if CHECK_LINKS is on/],
    [{ CHECK_LINKS: 'yes' }, /CHECK_LINKS/],
    [{ YOUTUBE_KEY: 'a key' }, /YOUTUBE_KEY must be an API key/],
  ] as const)
    assert.throws(
      () => read(wrong),
      (error: Error) => error instanceof ConfigError && message.test(error.message),
    )
  const shown = Object.fromEntries(redactedConfig(read({ YOUTUBE_KEY: 'AIza-secret_1' })))
  assert.equal(shown.YOUTUBE_KEY, '***')
})

test('the metrics tell states, what is due and which hosts are paused', async () => {
  for (const host of ['a', 'b', 'c', 'd'])
    await archive.make({ source_url: `https://${host}.example/video.mp4` })
  await query(`update source set next_check = now() + interval '1 day', state = 'ok'`)
  await query(
    `update source set state = 'gone', next_check = now() - interval '1 hour'
     where host = 'a.example'`,
  )
  // A host that is paused, and one whose budget is spent: their sources wait as they should.
  await query(
    `update source set next_check = now() - interval '9 days' where host in ('b.example', 'c.example')`,
  )
  await query(
    `insert into link_host (host, pace, next_turn)
     select host, jsonb_build_object('pausedUntil', paused), now() + interval '5 hours'
     from (values ('b.example', (extract(epoch from now()) * 1000)::bigint + 18000000),
                  ('c.example', 0)) as hosts (host, paused)`,
  )
  await query(
    `insert into link_host (host, pace, next_turn)
     values ('a.example', '{"pausedUntil": 0}', now() + interval '5 seconds')`,
  )
  const checking = await openArchive(databaseUrl, { ...settings, RESUME_SECONDS: '0' })
  try {
    const { text } = await checking.call('GET', '/metrics')
    const figure = (name: string) =>
      Number(text.match(new RegExp(`^talkshelf_${name} (\\S+)$`, 'm'))?.[1])
    assert.equal(figure('links_sources{state="gone"}'), 1)
    assert.equal(figure('links_sources{state="ok"}'), 3)
    assert.equal(figure('links_hosts_paused'), 1)
    const due = figure('links_due_seconds')
    assert.ok(due >= 3600 && due < 86_400, String(due))
    assert.equal(figure('links_checks_total{verdict="refused"}'), 0)
  } finally {
    await checking.close()
  }
  const { text } = await archive.call('GET', '/metrics')
  assert.doesNotMatch(text, /talkshelf_links_/, 'this server checks none')
})

test('doctor says whether links are checked', async () => {
  const linksOf = async (environment: Record<string, string>) => {
    const printed = await runCommand(['doctor', '--json'], {
      DATABASE_URL: databaseUrl,
      ...environment,
    })
    assert.equal(printed.code, 0, printed.stderr)
    const findings = JSON.parse(printed.stdout) as Record<string, string>[]
    const found = findings.find(({ check }) => check === 'Links')
    return `${found?.state}: ${found?.detail}`
  }
  assert.match(await linksOf({}), /^ok: Not checked: set CHECK_LINKS=on/)
  assert.equal(await linksOf(settings), 'ok: Checked; hosts that refuse and are paused: 1')
  await query(
    `update source set next_check = now() - interval '100 hours' where host = 'a.example'`,
  )
  assert.match(
    await linksOf(settings),
    /^warning: Sources have been due for 4 days: .*YOUTUBE_KEY makes it faster$/,
  )
  assert.doesNotMatch(await linksOf({ ...settings, YOUTUBE_KEY: 'AIza' }), /YOUTUBE_KEY/)
})
