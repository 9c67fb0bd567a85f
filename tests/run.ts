// What `npm test` runs: node tests/run.ts [--postgres 15|18] [--only word] [--without word]...
// [files or parts of their names...] Starts a PostgreSQL, migrates a template database with the
// real command, and runs the test files against it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildPages } from '../scripts/build.ts'
import { bundleServer } from '../scripts/bundle.ts'
import { migratedDatabase, type PostgresMajor, startPostgres } from './support/postgres.ts'

const root = resolve(import.meta.dirname, '..')
const template = 'talkshelf_template'

process.exitCode = await main()

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      postgres: { type: 'string', default: '15' },
      only: { type: 'string' },
      without: { type: 'string', multiple: true, default: [] },
    },
    allowPositionals: true,
  })
  if (values.postgres !== '15' && values.postgres !== '18')
    throw new Error('--postgres takes 15 or 18')
  const files = testFiles(values.only, values.without, positionals)
  if (files.length === 0) {
    console.error(
      `No test file matches ${[values.only, ...positionals].filter((word) => word !== undefined).join(' ') || 'at all'}`,
    )
    return 1
  }

  const tests: { child?: ChildProcess } = {}
  // Before PostgreSQL's own listeners, so that its users go first. They are one process group:
  // whatever a test started goes as well.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => killGroup(tests.child))

  const postgres = await startPostgres({ version: Number(values.postgres) as PostgresMajor })
  try {
    console.log(
      `Node ${process.versions.node}, PostgreSQL ${postgres.version}, ${files.length} test files`,
    )
    await migratedDatabase(postgres, template)
    // A file that never ends must fail and not hold up everything. The slowest takes a small part
    // of this.
    const options = ['--test', '--test-concurrency=2', '--test-timeout=600000']
    const summary = join(postgres.dir, 'tests.tap')
    // Commands are started some hundred times.
    const program = join(postgres.dir, 'talkshelf')
    mkdirSync(program)
    symlinkSync(join(root, 'node_modules'), join(program, 'node_modules'))
    await buildPages()
    await bundleServer(program)
    options.push('--test-reporter=spec', '--test-reporter-destination=stdout')
    options.push('--test-reporter=tap', `--test-reporter-destination=${summary}`)
    const child = spawn(process.execPath, [...options, ...files], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined, // Set when a test runs us; the inner tests would report to the outer runner.
        TEST_DATABASE_URL: postgres.url('postgres'),
        TEST_TEMPLATE: template,
        TEST_PROGRAM: join(program, 'main.js'),
        NODE_COMPILE_CACHE: join(postgres.dir, 'compiled'),
        TZ: 'America/New_York', // Neither the server's zone nor UTC: who forgets a time zone is found out.
      },
    })
    tests.child = child
    const [code, signal] = await once(child, 'exit')
    if (signal) {
      console.error(`The tests were ended by ${signal}`)
      return 1
    }
    // Node is content when all are skipped. It may be right, where what they need is not at hand,
    // but it must be seen.
    if (/^# pass 0$/m.test(readFileSync(summary, 'utf8')))
      console.error('NOTHING WAS TESTED: no test passed')
    return code
  } finally {
    killGroup(tests.child)
    await postgres.stop()
  }
}

function testFiles(only: string | undefined, without: string[], words: string[]): string[] {
  const all = globSync('{contract,client,server,web,bench,tests}/**/*.test.ts', {
    cwd: root,
    exclude: (path) => path.endsWith('node_modules'),
  })
  // A word may be a path as the shell completes it, from wherever we are.
  const parts = words.map((word) => relative(root, resolve(word))).concat(words)
  return all
    .filter((file) => only === undefined || file.includes(only))
    .filter((file) => !without.some((word) => file.includes(word)))
    .filter(
      (file) => words.length === 0 || parts.some((part) => part !== '' && file.includes(part)),
    )
    .sort()
}

function killGroup(child: ChildProcess | undefined): void {
  if (child?.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // Nobody is left.
  }
}
