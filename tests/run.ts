// npm test -- [--postgres 15|18] [--only word] [--without word]... [parts of file names...]
//
// Starts a PostgreSQL, migrates a template database with the real command, and runs the test files
// against it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildPages } from '../scripts/build.ts'
import { bundleServer } from '../scripts/bundle.ts'
import {
  migratedDatabase,
  type Postgres,
  type PostgresMajor,
  startPostgres,
} from './support/postgres.ts'

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
  const filesFor = (words: string[]) => testFiles(values.only, values.without, words)
  const unmatched = positionals.filter((word) => filesFor([word]).length === 0)
  const files = filesFor(positionals)
  if (unmatched.length > 0 || files.length === 0) {
    const words = unmatched.length > 0 ? unmatched.join(' or ') : (values.only ?? '')
    console.error(`No test file matches ${words}`)
    return 1
  }

  const tests: { child?: ChildProcess } = {}
  // Registered before the listeners of PostgreSQL, so that the tests end first. They are one
  // process group: the processes that they started end too.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => killGroup(tests.child))

  const postgres = await startPostgres({ version: Number(values.postgres) as PostgresMajor })
  try {
    console.log(
      `Node ${process.versions.node}, PostgreSQL ${postgres.version}, ${files.length} test files`,
    )
    await buildPages()
    await migratedDatabase(postgres, template)
    const program = await bundle(postgres)
    const summary = join(postgres.dir, 'tests.tap')
    tests.child = startTests(postgres, program, summary, files)
    const [code, signal] = await once(tests.child, 'exit')
    if (signal) {
      console.error(`The tests were ended by ${signal}`)
      return 1
    }
    // Node reports success if all tests are skipped. That may be right if what they need is
    // missing, but it must be visible.
    if (/^# pass 0$/m.test(readFileSync(summary, 'utf8')))
      console.error('NOTHING WAS TESTED: no test passed')
    return code
  } finally {
    killGroup(tests.child)
    await postgres.stop()
  }
}

/** Bundles the server, because tests start its commands several hundred times. */
async function bundle({ dir }: Postgres): Promise<string> {
  const folder = join(dir, 'talkshelf')
  mkdirSync(folder)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  await bundleServer(folder)
  return join(folder, 'main.js')
}

function startTests(
  postgres: Postgres,
  program: string,
  summary: string,
  files: readonly string[],
): ChildProcess {
  const options = [
    '--test',
    // One more than CI has processors: many tests wait for clients and timers.
    '--test-concurrency=3',
    // A file that hangs must fail and not block the others. The slowest takes a small part of this.
    '--test-timeout=600000',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${summary}`,
  ]
  return spawn(process.execPath, [...options, ...files], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    env: {
      ...process.env,
      // Set if a test runs this script; the inner tests would report to the outer runner.
      NODE_TEST_CONTEXT: undefined,
      TEST_DATABASE_URL: postgres.url('postgres'),
      TEST_TEMPLATE: template,
      TEST_PROGRAM: program,
      NODE_COMPILE_CACHE: join(postgres.dir, 'compiled'),
      // Neither UTC nor the zone of PostgreSQL: finds code that ignores time zones.
      TZ: 'America/New_York',
    },
  })
}

function testFiles(only: string | undefined, without: string[], words: string[]): string[] {
  const all = globSync('{contract,client,server,web,bench,tests}/**/*.test.ts', {
    cwd: root,
    exclude: (path) => path.endsWith('node_modules'),
  })
  // A word may be a path that the shell completed, relative to the current folder.
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
    // The group has ended already.
  }
}
