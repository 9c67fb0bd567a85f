import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freshDatabase } from '../../tests/support/database.ts'
import { call, program, root } from '../../tests/support/harness.ts'
import { withDatabase } from '../../tests/support/invariants.ts'
import { exampleCategories, exampleSpeakers, exampleTalks } from './talks.ts'

// Runs `talkshelf demo` from the source. tests/project/package.test.ts runs the installed package.

interface Demo {
  process: ChildProcess
  /** Everything written to standard output and standard error so far. */
  output(): string
  /** Waits for a match in the output; fails if the demo ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<number | null>
}

function startDemo(
  t: { after(done: () => unknown): void },
  environment: Record<string, string> = {},
): Demo {
  const { DATABASE_URL: _, PORT: __, ...inherited } = process.env
  const child = spawn(process.execPath, [program, 'demo'], {
    cwd: root,
    env: { ...inherited, ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const waitFor = async (pattern: RegExp) => {
    for (;;) {
      const match = pattern.exec(output)
      if (match) return match
      if (child.exitCode !== null || child.signalCode !== null)
        assert.fail(`The demo ended without printing ${pattern}:\n${output}`)
      await sleep(20)
    }
  }
  return { process: child, output: () => output, waitFor, ended }
}

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

async function waitUntil(condition: () => boolean, limitMs = 15_000): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!condition() && performance.now() < deadline) await sleep(20)
  assert.ok(condition(), String(condition))
}

test('a second demo on the same database adds nothing, even when a talk was renamed', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const counts = () =>
    withDatabase(DATABASE_URL, async (query) => {
      const [row] = await query(
        `select
           (select count(*)::integer from video) as videos,
           (select count(*)::integer from category) as categories,
           (select count(*)::integer from change where via = 'command') as changes`,
      )
      return row
    })
  const expected = {
    videos: exampleTalks.length,
    categories: exampleCategories.length,
    changes: exampleTalks.length + exampleCategories.length + exampleSpeakers.length,
  }

  const first = startDemo(t, { DATABASE_URL, PORT: '0' })
  const [, url = ''] = await first.waitFor(/Pages +(\S+)\n/)
  const [, token = ''] = await first.waitFor(/Token +(\S+)\n/)
  assert.deepEqual(await counts(), expected)
  const { video_webm_url: clip } = JSON.parse((await call(url, 'GET', '/api/v2/video/1')).text)
  const part = await fetch(clip, { headers: { range: 'bytes=10-19' } })
  assert.deepEqual(
    [part.status, part.headers.get('content-type'), (await part.arrayBuffer()).byteLength],
    [206, 'video/webm', 10],
  )
  assert.match(part.headers.get('content-range') ?? '', /^bytes 10-19\/\d{5,6}$/)
  assert.equal((await fetch(clip, { headers: { range: 'bytes=9-1' } })).status, 200)
  const patched = await call(url, 'PATCH', '/api/v2/video/1', {
    token,
    body: { title: 'Eleven years of tiny queues' },
  })
  assert.equal(patched.status, 200)
  first.process.kill('SIGINT')
  assert.equal(await first.ended, 0)

  const second = startDemo(t, { DATABASE_URL, PORT: '0' })
  await second.waitFor(/all talks were loaded by an earlier demo/)
  await second.waitFor(/Press Ctrl-C to stop/)
  assert.deepEqual(await counts(), expected)
  second.process.kill('SIGTERM')
  assert.equal(await second.ended, 0)
})

test('the demo does not write to a database that contains an archive', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  await withDatabase(DATABASE_URL, (query) =>
    query("insert into category (slug, title) values ('mine', 'Mine')"),
  )
  const demo = startDemo(t, { DATABASE_URL, PORT: '0' })
  assert.equal(await demo.ended, 1)
  assert.match(
    demo.output(),
    /This database contains an archive[\s\S]*DATABASE_URL to an empty database/,
  )
  assert.deepEqual(
    await withDatabase(DATABASE_URL, (query) =>
      query('select count(*)::integer as videos from video'),
    ),
    [{ videos: 0 }],
  )
})

test('errors name the remedy and print no stack', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const { url } = await freshDatabase(t)
  const cases: [Record<string, string>, RegExp][] = [
    [{ PORT: 'many', LOG_LEVEL: 'loud' }, /PORT must be a whole number[\s\S]*LOG_LEVEL must be/],
    [{ PG_BIN: '/nowhere' }, /PG_BIN \(\/nowhere\) contains no[\s\S]*Install PostgreSQL/],
    [
      { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' },
      /Cannot connect[\s\S]*unset DATABASE_URL/,
    ],
    [{ DATABASE_URL: url, PORT: String(port) }, /choose another PORT/],
    [{ PORT: String(port) }, /demo\n.*EADDRINUSE.*\n.*choose another PORT/],
  ]
  for (const [environment, pattern] of cases) {
    const demo = startDemo(t, environment)
    assert.equal(await demo.ended, 1)
    assert.match(demo.output(), pattern)
    assert.doesNotMatch(demo.output(), /\n\s+at /, 'a stack')
  }
})

test('a demo stopped or killed during startup leaves no process or directory', async (t) => {
  // PostgreSQL may run as another user, which must be able to enter the directory.
  const TMPDIR = mkdtempSync(join(tmpdir(), 'demo-'))
  chmodSync(TMPDIR, 0o755)
  t.after(() => rmSync(TMPDIR, { recursive: true, force: true }))
  const isEmpty = () => readdirSync(TMPDIR).length === 0

  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const early = startDemo(t, { PORT: '0', TMPDIR })
    await early.waitFor(/starting a temporary PostgreSQL/)
    early.process.kill(signal)
    assert.equal(await early.ended, signal === 'SIGINT' ? 130 : null)
    if (signal === 'SIGINT') assert.ok(isEmpty(), 'everything is removed before the command ends')
    else await waitUntil(isEmpty)

    const late = startDemo(t, { PORT: '0', TMPDIR })
    const [, dir = ''] = await late.waitFor(/PostgreSQL \S+ is running in (\S+)\n/)
    const pid = Number(readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    await late.waitFor(/creating the tables/)
    late.process.kill(signal)
    await late.ended
    if (signal === 'SIGINT')
      assert.ok(isEmpty() && isGone(pid), 'everything is removed before the command ends')
    else await waitUntil(isEmpty)
  }
})
