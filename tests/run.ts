// npm test -- [--postgres 15|18] [--only word] [--without word]... [parts of file names...]
//
// Starts a PostgreSQL, migrates a template database with the real command, and runs the test files
// against it. With REPEAT_FAILED=1, as in CI, up to three files that failed run once more, alone:
// tests that pass then are listed as flaky, and do not fail the run.

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
import { repeatFailed } from './support/repeat-failed.ts'
import type { TestResult } from './support/results-reporter.ts'

const root = resolve(import.meta.dirname, '..')
const template = 'talkshelf_template'

/** If more files fail, the cause is not a race of single tests. */
const maxRepeatedFiles = 3

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
    // One more than CI has processors: many tests wait for clients and timers.
    const run = (chosen: readonly string[], concurrency = 3) =>
      runFiles(tests, postgres, program, chosen, concurrency)
    const { code, results } = await run(files)
    // Node reports success if all tests are skipped. That may be right if what they need is
    // missing, but it must be visible.
    if (!results.some(({ passed }) => passed)) console.error('NOTHING WAS TESTED: no test passed')
    const failed = results.filter(({ passed }) => !passed)
    const failedFiles = [...new Set(failed.map(({ file }) => relative(root, file)))]
    if (code === 0 || !repeatFailed || !isRepeatable(failedFiles)) return code
    console.log(`\nRunning again, alone: ${failedFiles.join(', ')}`)
    const repeated = await run(failedFiles, 1)
    if (repeated.code !== 0) return repeated.code
    console.log('\nFLAKY: failed beside other tests, but passed alone. Find the race:')
    for (const { file, name } of failed) console.log(`  ${relative(root, file)}: ${name}`)
    return 0
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

/** Tells whether these files may be run again. A file that Node does not name cannot. */
function isRepeatable(failedFiles: readonly string[]): boolean {
  return (
    failedFiles.length > 0 &&
    failedFiles.length <= maxRepeatedFiles &&
    failedFiles.every((file) => file.endsWith('.test.ts'))
  )
}

/** Runs test files to their end. Stores the process, so that a signal can end it. */
async function runFiles(
  running: { child?: ChildProcess },
  postgres: Postgres,
  program: string,
  files: readonly string[],
  concurrency: number,
): Promise<{ code: number; results: TestResult[] }> {
  const resultsFile = join(postgres.dir, 'results.jsonl')
  const options = [
    '--test',
    `--test-concurrency=${concurrency}`,
    // A file that hangs must fail and not block the others. The slowest takes a small part of this.
    '--test-timeout=600000',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${join(import.meta.dirname, 'support', 'results-reporter.ts')}`,
    `--test-reporter-destination=${resultsFile}`,
  ]
  const child = spawn(process.execPath, [...options, ...files], {
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
  running.child = child
  const [code, signal] = await once(child, 'exit')
  const lines = readFileSync(resultsFile, 'utf8').split('\n').filter(Boolean)
  const results = lines.map((line) => JSON.parse(line) as TestResult)
  if (signal === null) return { code, results }
  console.error(`The tests were ended by ${signal}`)
  return { code: 1, results: [] }
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
