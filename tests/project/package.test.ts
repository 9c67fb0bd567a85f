import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ConfigSchema } from '../../server/config.ts'
import { root } from '../support/harness.ts'

// What people install, as they install it: tarballs into an empty folder, far from this repository,
// and `npx talkshelf demo` there.

const scratch = mkdtempSync(join(tmpdir(), 'package-'))
const packed = join(scratch, 'packed')
const empty = join(scratch, 'empty')
after(() => rmSync(scratch, { recursive: true, force: true }))

const run = promisify(execFile)
const env = cleanEnvironment()

before(async () => {
  await run(process.execPath, ['scripts/pack.ts', '--out', packed], { cwd: root, env })
})

test('a tarball has what belongs in it and nothing else', async () => {
  const always = 'LICENSE|README[.]md|package[.]json'
  const expected: Record<string, { files: RegExp; among: string[] }> = {
    'talkshelf-contract': {
      files: new RegExp(`^(${always}|[a-z]+[.](js|d[.]ts))$`),
      among: ['contract.js', 'contract.d.ts'],
    },
    'talkshelf-client': {
      files: new RegExp(`^(${always}|client[.](js|d[.]ts))$`),
      among: ['client.js', 'client.d.ts'],
    },
    talkshelf: {
      files: new RegExp(
        `^(${always}|(main|decoder|undici|rolldown-runtime)[.]js|THIRD-PARTY[.]md|migrations/\\d{4}[.]do[.][a-z-]+[.]sql|web/manifest[.]json|web/assets/[\\w-]+[.](js|css)([.](br|gz))?)$`,
      ),
      among: [
        'main.js',
        'decoder.js',
        'undici.js',
        'THIRD-PARTY.md',
        ...globSync('migrations/*.sql', { cwd: join(root, 'server') }),
        'LICENSE',
        'README.md',
      ],
    },
  }
  const found = globSync('*.tgz', { cwd: packed }).map((file) =>
    file.replace(/-\d+[.]\d+[.]\d+[.]tgz$/, ''),
  )
  assert.deepEqual(found.sort(), Object.keys(expected).sort())
  for (const file of globSync('*.tgz', { cwd: packed })) {
    const { stdout } = await run('tar', ['-tzf', join(packed, file)])
    const names = stdout
      .trim()
      .split('\n')
      .map((name) => name.replace(/^package[/]/, ''))
    const { files, among } =
      expected[file.replace(/-\d+[.]\d+[.]\d+[.]tgz$/, '')] ?? assert.fail(file)
    assert.deepEqual(
      names.filter((name) => !files.test(name) || /test|golden/.test(name)),
      [],
      file,
    )
    assert.deepEqual(
      among.filter((name) => !names.includes(name)),
      [],
      file,
    )
  }
})

test('from the tarball to a served record takes less than a minute, the printed commands work, and Ctrl-C leaves nothing', async (t) => {
  const begun = performance.now()
  const seconds = () => (performance.now() - begun) / 1000
  mkdirSync(empty)
  const tarballs = globSync('*.tgz', { cwd: packed }).map((file) => join(packed, file))
  await run('npm', ['install', '--prefix', empty, '--no-audit', '--no-fund', ...tarballs], {
    cwd: empty,
    env,
    timeout: 120_000,
  })
  const installed = seconds()

  // The leader of a group of its own, so that a signal to the group is what Ctrl-C is: all of them
  // get it, npx as well.
  const demo = spawn('npx', ['talkshelf', 'demo'], { cwd: empty, env, detached: true })
  const group = -(demo.pid ?? assert.fail('npx was not started'))
  let said = ''
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (data) => (said += data))
  const ended = once(demo, 'close')
  t.after(() => {
    if (demo.exitCode === null && demo.signalCode === null) process.kill(group, 'SIGTERM')
    return ended
  })
  while (!said.includes('Ctrl-C stops it.')) {
    assert.equal(demo.exitCode, null, said)
    assert.ok(seconds() < 120, said)
    await sleep(20)
  }

  // A command begins with curl, two columns in, and goes on while a line ends with a backslash.
  const commands = said.match(/^ {2}curl (?:.*\\\n)*.*$/gm) ?? []
  assert.equal(commands.length, 3, said)
  const answers: {
    title?: string
    summary?: string
    count?: number
    results?: { by: string; via: string; fields: string[] }[]
  }[] = []
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', command], { env })
    if (answers.length === 0) {
      const served = seconds()
      console.log(
        `From the tarball to a served record: ${served.toFixed(1)} s, of which npm install took ${installed.toFixed(1)} s`,
      )
      assert.ok(served < 60, `${served} s`)
    }
    answers.push(JSON.parse(stdout))
  }
  const [read, corrected, revisions] = answers
  assert.equal(read?.title, 'Ten years of tiny queues')
  assert.equal(corrected?.summary, 'Small queues, long memories.')
  assert.equal(revisions?.count, 2)
  assert.deepEqual(
    revisions?.results?.map(({ by, via }) => [by, via]),
    [
      ['Demo editor', 'api'],
      ['talkshelf demo', 'command'],
    ],
  )

  const [, address = ''] = /Pages +(\S+)/.exec(said) ?? []
  const [, reference = ''] = /Reference +(\S+)/.exec(said) ?? []
  assert.equal((await fetch(reference)).status, 200)
  // Drawn by the decoder, in a process of its own; readers who do not wait so long get an SVG.
  const preview = async () =>
    (await fetch(new URL('/picture/1/preview', address))).headers.get('content-type')
  while ((await preview()) !== 'image/jpeg') assert.ok(seconds() < 180, 'no preview was made')

  const [, dir = ''] = /PostgreSQL \S+ runs in (\S+)/.exec(said) ?? []
  const postmaster = Number(
    readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0],
  )
  assert.ok(isThere(postmaster))
  process.kill(group, 'SIGINT')
  // All who had the terminal are gone.
  await ended
  assert.match(said, /Nothing of the demo is running any more/)
  assert.ok(!existsSync(dir))
  assert.ok(!isThere(postmaster))
  await assert.rejects(fetch(address))
})

test('who writes TypeScript against the installed client gets its types', async () => {
  writeFileSync(
    join(empty, 'reader.ts'),
    `import { createClient } from '@talkshelf/client'
export async function titleOf(id: number): Promise<string> {
  const { data } = await createClient({ baseUrl: 'http://127.0.0.1:8000' }).readVideo({ id })
  // @ts-expect-error a title is no number
  const wrong: number = data.title
  return data.title + wrong
}
`,
  )
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--lib',
    'es2024,dom',
    '--types',
    '',
  ]
  await run(tsc, [...options, 'reader.ts'], { cwd: empty }).catch(({ stdout }) =>
    assert.fail(stdout),
  )
})

/**
 * As on a machine that has never heard of us: no settings, nothing of the tests or of the npm that
 * runs them; our Node first.
 */
function cleanEnvironment(): NodeJS.ProcessEnv {
  // How to reach a registry stays: without NODE_EXTRA_CA_CERTS, npm behind a company's proxy tries
  // again for many minutes.
  const foreign =
    /^(npm_(?!config_(registry|cafile|proxy|https_proxy|noproxy)$)|PG|TEST_|NODE_(?!EXTRA_CA_CERTS$))/
  const kept = Object.entries(process.env).filter(
    ([name]) => !foreign.test(name) && !(name in ConfigSchema.properties),
  )
  return {
    ...Object.fromEntries(kept),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is somebody else's, but it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
