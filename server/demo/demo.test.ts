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
import { exampleCategories, exampleTalks } from './talks.ts'

// The demo as somebody types it. tests/project/package.test.ts does the same with what npm
// installs.

interface Demo {
  process: ChildProcess
  /** Everything on the terminal so far, the progress and the answer. */
  said(): string
  /** Waits for words on the terminal; fails when the demo ends without them. */
  says(words: RegExp): Promise<RegExpExecArray>
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
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const says = async (words: RegExp) => {
    for (;;) {
      const found = words.exec(said)
      if (found) return found
      if (child.exitCode !== null || child.signalCode !== null)
        assert.fail(`The demo ended without saying ${words}:\n${said}`)
      await sleep(20)
    }
  }
  return { process: child, said: () => said, says, ended }
}

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

async function becomesTrue(fact: () => boolean, limitMs = 15_000): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!fact() && performance.now() < deadline) await sleep(20)
  assert.ok(fact(), String(fact))
}

test('a second demo on the same database adds nothing, even when a talk was renamed', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const counts = () =>
    withDatabase(DATABASE_URL, async (query) => {
      const [row] = await query(
        `select (select count(*)::integer from video) as videos, (select count(*)::integer from category) as categories,
                (select count(*)::integer from change where via = 'command') as changes`,
      )
      return row
    })
  const expected = {
    videos: exampleTalks.length,
    categories: exampleCategories.length,
    changes: exampleTalks.length + exampleCategories.length,
  }

  const first = startDemo(t, { DATABASE_URL, PORT: '0' })
  const [, url = ''] = await first.says(/Pages +(\S+)\n/)
  const [, token = ''] = await first.says(/Token +(\S+)\n/)
  assert.deepEqual(await counts(), expected)
  const patched = await call(url, 'PATCH', '/api/v2/video/1', {
    token,
    body: { title: 'Eleven years of tiny queues' },
  })
  assert.equal(patched.status, 200)
  first.process.kill('SIGINT')
  assert.equal(await first.ended, 0)

  const second = startDemo(t, { DATABASE_URL, PORT: '0' })
  await second.says(/all talks are there from an earlier demo/)
  await second.says(/Ctrl-C stops it/)
  assert.deepEqual(await counts(), expected)
  second.process.kill('SIGTERM')
  assert.equal(await second.ended, 0)
})

test('the demo keeps out of an archive that somebody keeps', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  await withDatabase(DATABASE_URL, (query) =>
    query("insert into category (slug, title) values ('mine', 'Mine')"),
  )
  const demo = startDemo(t, { DATABASE_URL, PORT: '0' })
  assert.equal(await demo.ended, 1)
  assert.match(demo.said(), /There is an archive in this database[\s\S]*Name an empty database/)
  assert.deepEqual(
    await withDatabase(DATABASE_URL, (query) =>
      query('select count(*)::integer as videos from video'),
    ),
    [{ videos: 0 }],
  )
})

test('what is wrong is said with what to do next, and nothing is left', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const { url } = await freshDatabase(t)
  const wrong: [Record<string, string>, RegExp][] = [
    [{ PORT: 'many', LOG_LEVEL: 'loud' }, /PORT must be a whole number[\s\S]*LOG_LEVEL must be/],
    [{ PG_BIN: '/nowhere' }, /PG_BIN is \/nowhere[\s\S]*Install PostgreSQL/],
    [
      { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' },
      /cannot be used[\s\S]*With DATABASE_URL unset/,
    ],
    [{ DATABASE_URL: url, PORT: String(port) }, /Choose another PORT/],
  ]
  for (const [environment, words] of wrong) {
    const demo = startDemo(t, environment)
    assert.equal(await demo.ended, 1)
    assert.match(demo.said(), words)
    assert.doesNotMatch(demo.said(), /\n\s+at /, 'a stack')
  }
})

test('a demo that is stopped or killed half way leaves no process and no folder', async (t) => {
  // A place of its own, where nothing else comes and goes. PostgreSQL may run as another user, who
  // must get in.
  const TMPDIR = mkdtempSync(join(tmpdir(), 'demo-'))
  chmodSync(TMPDIR, 0o755)
  t.after(() => rmSync(TMPDIR, { recursive: true, force: true }))
  const isEmpty = () => readdirSync(TMPDIR).length === 0

  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const early = startDemo(t, { PORT: '0', TMPDIR })
    await early.says(/starting a PostgreSQL of its own/)
    early.process.kill(signal)
    assert.equal(await early.ended, signal === 'SIGINT' ? 130 : null)
    if (signal === 'SIGINT') assert.ok(isEmpty(), 'all gone when the prompt is back')
    else await becomesTrue(isEmpty)

    const late = startDemo(t, { PORT: '0', TMPDIR })
    const [, dir = ''] = await late.says(/PostgreSQL \S+ runs in (\S+)\n/)
    const pid = Number(readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    await late.says(/making the tables/)
    late.process.kill(signal)
    await late.ended
    if (signal === 'SIGINT') assert.ok(isEmpty() && isGone(pid), 'all gone when the prompt is back')
    else await becomesTrue(isEmpty)
  }
})
