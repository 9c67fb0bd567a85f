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
import { promisify } from 'node:util'
import { ConfigSchema } from '../../server/config.ts'
import { root } from '../support/harness.ts'
import { until } from '../support/until.ts'

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

test('the lock file has the manifests of this repository, and npm links the command', async () => {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const { packages } = read('package-lock.json')
  for (const folder of ['contract', 'client', 'server', 'web']) {
    const manifest = read(`${folder}/package.json`)
    for (const key of ['version', 'bin', 'engines', 'dependencies', 'optionalDependencies'])
      assert.deepEqual(packages[folder][key], manifest[key], `${key} of ${folder}: run npm install`)
  }
  const { stdout } = await run(join(root, 'node_modules/.bin/talkshelf'), ['--version'], { env })
  assert.equal(stdout.trim(), read('server/package.json').version)
})

test('a tarball has exactly the expected files', async () => {
  const always = 'LICENSE|README[.]md|package[.]json'
  const expected: Record<string, { files: RegExp; among: string[] }> = {
    'talkshelf-contract': {
      files: new RegExp(`^(${always}|[a-z-]+[.](js|d[.]ts))$`),
      among: ['contract.js', 'contract.d.ts'],
    },
    'talkshelf-client': {
      files: new RegExp(
        `^(${always}|(client|follow|errors|operations|pages|request|retry)[.](js|d[.]ts))$`,
      ),
      among: ['client.js', 'client.d.ts', 'follow.js', 'follow.d.ts'],
    },
    talkshelf: {
      files: new RegExp(
        `^(${[
          always,
          '(talkshelf|main|decoder|matcher-thread|matching|openid-client|undici)[.]js',
          '(smtp|rolldown-runtime)[.]js',
          'THIRD-PARTY[.]md',
          'sbom[.]cdx[.]json',
          'migrations/\\d{4}[.](do|index|fill|contract)[.][a-z-]+[.]sql',
          'clip[.]webm',
          'talkshelf[.]1',
          '[a-z-]+/triggers[.]sql',
          'deploy/(talkshelf[.](service|sh)|edge/varnish[.]vcl|proxy/(Caddyfile|nginx[.]conf))',
          'deploy/cluster/(hosts[.]conf|render[.]sh|templates/[\\w.-]+)',
          'deploy/postgresql/major-upgrade[.]sh',
          'deploy/(grafana/talkshelf[.]json|prometheus/(prometheus|(talkshelf|cluster)[.]rules)[.]yml)',
          'web/(desk-)?manifest[.]json',
          'web/assets/[\\w-]+[.](js|css)([.](br|gz))?',
        ].join('|')})$`,
      ),
      among: [
        'talkshelf.js',
        'main.js',
        'matcher-thread.js',
        'decoder.js',
        'clip.webm',
        'talkshelf.1',
        'undici.js',
        'openid-client.js',
        'smtp.js',
        'web/desk-manifest.json',
        'THIRD-PARTY.md',
        'sbom.cdx.json',
        ...globSync(['migrations/*.sql', '*/triggers.sql'], { cwd: join(root, 'server') }),
        'LICENSE',
        'README.md',
        'deploy/talkshelf.service',
        'deploy/talkshelf.sh',
        ...globSync('deploy/cluster/**/*.*', { cwd: root }),
        'deploy/postgresql/major-upgrade.sh',
        'deploy/proxy/Caddyfile',
        'deploy/proxy/nginx.conf',
        'deploy/prometheus/cluster.rules.yml',
        'deploy/prometheus/talkshelf.rules.yml',
        'deploy/grafana/talkshelf.json',
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

test('an old Node is refused with one sentence', async (t) => {
  for (const version of ['20', '22']) {
    const name = `node-linux-${process.arch}`
    const folder = join(scratch, `node-${version}`)
    const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts']
    try {
      await run('npm', [...install, `${name}@${version}`], { env, timeout: 300_000 })
    } catch (error) {
      t.diagnostic(`Skipped: ${name}@${version} can't be installed: ${String(error)}`)
      continue
    }
    const node = join(folder, 'node_modules', name, 'bin', 'node')
    const program = join(packed, 'talkshelf', 'talkshelf.js')
    const result = await run(node, [program, 'serve'], { env }).catch((error: unknown) => error)
    const { code, stdout, stderr } = result as { code: number; stdout: string; stderr: string }
    assert.deepEqual([code, stdout], [1, ''], version)
    assert.match(
      stderr,
      new RegExp(`^Talkshelf needs Node 24 or newer, and this is v${version}[.].*\\n$`),
    )
  }
})

test('the packed demo serves a record within a minute, and ends completely', async (t) => {
  const startedMs = performance.now()
  const seconds = () => (performance.now() - startedMs) / 1000
  mkdirSync(empty)
  const tarballs = globSync('*.tgz', { cwd: packed }).map((file) => join(packed, file))
  await run('npm', ['install', '--prefix', empty, '--no-audit', '--no-fund', ...tarballs], {
    cwd: empty,
    env,
    timeout: 300_000,
  })
  const installed = seconds()

  // The leader of a process group: like Ctrl-C, a signal to the group reaches all processes.
  const demo = spawn('npx', ['talkshelf', 'demo'], { cwd: empty, env, detached: true })
  const group = -(demo.pid ?? assert.fail('npx was not started'))
  let output = ''
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (data) => (output += data))
  const ended = once(demo, 'close')
  t.after(() => {
    if (demo.exitCode === null && demo.signalCode === null) process.kill(group, 'SIGTERM')
    return ended
  })
  await until(
    'the demo to be ready or to end',
    () => output.includes('Press Ctrl-C to stop.') || demo.exitCode !== null,
    { limitMs: 120_000 },
  )
  assert.equal(demo.exitCode, null, output)

  // A command begins with curl, two columns in, and goes on while a line ends with a backslash.
  const commands = output.match(/^ {2}curl (?:.*\\\n)*.*$/gm) ?? []
  assert.equal(commands.length, 3, output)
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
        `From the tarball to a served record: ${served.toFixed(1)} s, ` +
          `of which npm install took ${installed.toFixed(1)} s`,
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

  const [, address = ''] = /Pages +(\S+)/.exec(output) ?? []
  const [, reference = ''] = /Reference +(\S+)/.exec(output) ?? []
  assert.equal((await fetch(reference)).status, 200)
  // Drawn by the decoder, in a process of its own; readers who do not wait so long get an SVG.
  const preview = async () =>
    (await fetch(new URL('/picture/1/preview', address))).headers.get('content-type')
  while ((await preview()) !== 'image/jpeg') assert.ok(seconds() < 180, 'no preview was made')

  const [, dir = ''] = /PostgreSQL \S+ is running in (\S+)/.exec(output) ?? []
  const postmaster = Number(
    readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0],
  )
  assert.ok(isThere(postmaster))
  process.kill(group, 'SIGINT')
  // The output ends when no process has it open any more.
  await ended
  assert.match(output, /The demo has stopped/)
  assert.ok(!existsSync(dir))
  assert.ok(!isThere(postmaster))
  await assert.rejects(fetch(address))
})

test('the installed client has types for TypeScript', async () => {
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
 * Returns the environment of a machine without Talkshelf: no settings, and no variables of the
 * tests or of npm. Our Node comes first in the path.
 */
function cleanEnvironment(): NodeJS.ProcessEnv {
  // Variables for the registry stay: without NODE_EXTRA_CA_CERTS, npm behind a company's proxy
  // retries for many minutes.
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
    // The process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
