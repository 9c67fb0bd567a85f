import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Source } from '@talkshelf/contract'
import { runCommand, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// `talkshelf links`: lists, makes due, reports and pins.

const archive = await startArchive()
const { call, editor: token, databaseUrl } = archive
const DATABASE_URL = databaseUrl
const other = 'Other Days'
await call('POST', '/api/v2/category', { token, body: { title: other } })

async function makeIn(state: string, source_url: string, fields: object = {}): Promise<Source> {
  const { id } = await archive.make({ title: `Talk at ${source_url}`, source_url, ...fields })
  await withDatabase(databaseUrl, (query) =>
    query(`update source set state = $1, next_check = now() + interval '9 days' where url = $2`, [
      state,
      source_url,
    ]),
  )
  const { json } = await call('GET', `/api/v2/video/${id}/sources`, { token })
  return { ...json.results[0], video: id }
}
const gone = await makeIn('gone', 'https://a.example/gone.mp4')
const suspect = await makeIn('suspect', 'https://b.example/suspect.mp4', { category: other })
await makeIn('ok', 'https://a.example/ok.mp4')

const links = (args: string[], environment: Record<string, string> = {}) =>
  runCommand(['links', ...args], { DATABASE_URL, ...environment })

test('lists unhealthy sources', async () => {
  const { code, stdout, stderr } = await links(['list'])
  assert.equal(code, 0, stderr)
  const lines = stdout.trim().split('\n')
  assert.match(lines[0] ?? '', /^ID +STATE +SINCE +CHECKED +TALK +HOST +URL +TITLE$/)
  assert.equal(lines.length, 3)
  assert.match(
    stdout,
    /gone +\d{4}-\d\d-\d\d +- +\d+ +a\.example +https:\/\/a\.example\/gone\.mp4 +Talk at/,
  )
  assert.match(stderr, /^Sources: 2\.$/m)
  const urlsOf = async (args: string[]) => {
    const { stdout, stderr, code } = await links(['list', '--json', ...args])
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout).map(({ url }: Source) => url)
  }
  assert.deepEqual(await urlsOf(['--state', 'suspect']), [suspect.url])
  assert.deepEqual(await urlsOf(['--host', 'A.example']), [gone.url])
  assert.deepEqual(await urlsOf(['--event', other]), [suspect.url])
  assert.deepEqual(await urlsOf(['--limit', '1']), [gone.url])
  assert.match((await links(['list', '--limit', '1'])).stderr, /There may be more: raise --limit/)
  const unknown = await links(['list', '--event', 'Other Day'])
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /“Other Day”/)
})

test('makes the sources of a talk due, by its id or URL', async () => {
  const { video } = gone as Source & { video: number }
  const isDue = async () => {
    const [row] = await withDatabase(databaseUrl, (query) =>
      query(`select next_check <= now() as due from source where id = $1`, [gone.id]),
    )
    await withDatabase(databaseUrl, (query) =>
      query(`update source set next_check = now() + interval '9 days' where id = $1`, [gone.id]),
    )
    return row?.due
  }
  for (const talk of [
    String(video),
    `#${video}`,
    `https://talks.example/archive/video/${video}/a-title?t=3`,
    `http://127.0.0.1/api/v2/video/${video}`,
    `/embed/${video}`,
  ]) {
    const { code, stdout, stderr } = await links(['check', talk])
    assert.equal(code, 0, stderr)
    assert.deepEqual(
      stdout.split('\n').map((line) => line.split(/ +/)),
      [['ID', 'STATE', 'URL'], [String(gone.id), 'gone', gone.url], ['']],
    )
    assert.match(stderr, /Due now: 1\..*healthy sources are not listed.*CHECK_LINKS is off here/s)
    assert.equal(await isDue(), true, talk)
  }
  const settings = { CHECK_LINKS: 'on', PUBLIC_URL: 'https://talks.example' }
  const { stderr } = await links(['check', String(video)], settings)
  assert.doesNotMatch(stderr, /CHECK_LINKS is off/)
  const empty = await archive.make({ source_url: null })
  for (const [talk, code, message] of [
    ['999999', 1, /This record does not exist/],
    [String(empty.id), 1, /has no source that can be checked. Add the URL of its video/],
    ['https://talks.example/category/1', 2, /Expected the URL of a talk/],
    ['x', 2, /Expected a whole number/],
  ] as const) {
    const refused = await links(['check', talk])
    assert.equal(refused.code, code, refused.stderr)
    assert.match(refused.stderr, message)
    assert.equal(refused.stdout, '')
  }
})

test('reports how many talks are at risk', async () => {
  const { code, stdout, stderr } = await links(['report'])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^Talks: 4\. Sources: 3, of which 0 were checked\.$/m)
  assert.match(stdout, /^Talks with no recording that can be reached: 1$/m)
  assert.match(stdout, /^1 +2$/m)
  assert.match(stdout, /^a\.example +1 +2 +1$/m)
  assert.match(stdout, /^EVENT +AT MOST ONE +TALKS +UNAVAILABLE$/m)
})

test('pins a source or a whole host, and ends pins', async () => {
  const stateOf = async (id: number) => {
    const { json } = await call('GET', `/api/v2/source?page_size=100`, { token })
    const found = json.results.find((source: Source) => source.id === id)
    return [found.state, found.pinned_until?.slice(0, 10) ?? null]
  }
  const pin = ['--state', 'private', '--until', '2999-01-31']
  const pinned = await links(['pin', String(suspect.id), ...pin])
  assert.equal(pinned.code, 0, pinned.stderr)
  assert.match(pinned.stderr, /is private until 2999-01-31/)
  assert.deepEqual(await stateOf(suspect.id), ['private', '2999-01-31'])
  const { json: history } = await call('GET', `/api/v2/source/${suspect.id}/history`)
  assert.equal(history.results[0].to, 'private')
  assert.match((await links(['pin', `#${suspect.id}`, '--end'])).stderr, /private, and not pinned/)
  assert.deepEqual(await stateOf(suspect.id), ['private', null])

  const host = await links(['pin', 'A.example', '--state', 'gone', '--until', '2999-12-31'])
  assert.match(host.stderr, /Sources of a\.example that were changed: 2\./)
  assert.deepEqual(await stateOf(gone.id), ['gone', '2999-12-31'])
  assert.match((await links(['pin', 'a.example', '--end'])).stderr, /were changed: 2/)
  assert.match(
    (await links(['pin', 'b.example.org', '--end'])).stderr,
    /No source of b\.example\.org was changed: there is none, .*hosts of unhealthy sources\./,
  )
  for (const [args, code, message] of [
    [
      ['999999', ...pin],
      1,
      /There is no such source\. .*'talkshelf links check' those of a talk\./,
    ],
    [[String(gone.id)], 2, /Set --state and --until, or end the pin with --end/],
    [[String(gone.id), '--state', 'gone'], 2, /Set --state and --until/],
    [[String(gone.id), '--end', '--state', 'gone'], 2, /cannot be used with/],
    [[String(gone.id), '--state', 'suspect', '--until', '2999-01-01'], 2, /Allowed choices/],
    [[String(gone.id), '--state', 'gone', '--until', '2001-01-01'], 2, /not in the past/],
    [[String(gone.id), '--state', 'gone', '--until', '2999-02-30'], 2, /YYYY-MM-DD/],
    [['a host', '--end'], 2, /the id of a source or the name of a host/],
  ] as const) {
    const refused = await links(['pin', ...args])
    assert.equal(refused.code, code, `${args.join(' ')}: ${refused.stderr}`)
    assert.match(refused.stderr, message)
  }
})
