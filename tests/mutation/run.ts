// npm run mutants -- [--only TEXT] [--shard 1/4] [--list] [--resume] [--write] [--workers 2]
//   [--results file] [--first 1]
//
// Mutation testing: removes or flips one condition at a time, in the code and the SQL of the write
// path, and checks that a test fails. Each mutant is a copy of the tree with one change; its tests
// run until the first failure. `--only` takes a part of a file name, a group or an id. `--resume`
// keeps the results of earlier runs (tests/mutation/results.jsonl) and runs the other mutants;
// `--first 1` runs only the most likely test of each mutant. Fails if a survivor is not explained
// in tests/mutation/survivors.json, or if less than 95 % are caught.

import { spawn } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { buildPages } from '../../scripts/build.ts'
import { migratedDatabase, type Postgres, startPostgres } from '../support/postgres.ts'
import { type Group, groups } from './groups.ts'
import { type Mutant, mutantsOf, mutated } from './mutants.ts'
import { type MutantOutcome, mutationTable, type Result, report } from './report.ts'

const root = resolve(import.meta.dirname, '../..')
const template = 'talkshelf_template'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    shard: { type: 'string', default: '1/1' },
    list: { type: 'boolean', default: false },
    resume: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    first: { type: 'string', default: '99' },
    workers: { type: 'string', default: '2' },
    results: { type: 'string', default: join(import.meta.dirname, 'results.jsonl') },
  },
})

const trees = new Set<string>()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, removeTrees)

process.exitCode = await main()

interface Planned extends Mutant {
  readonly group: Group
  readonly source: string
}

async function main(): Promise<number> {
  const all = planned()
  const chosen = all.filter(isChosen)
  if (options.list) {
    for (const { id, file, line, operator, was, becomes } of chosen)
      console.log(`${id} ${file}:${line} ${operator}: ${was} -> ${becomes}`)
    console.log(`${chosen.length} mutants`)
    return 0
  }
  const results = new Map(
    options.resume && existsSync(options.results)
      ? readResults().map((result) => [result.id, result])
      : [],
  )
  mkdirSync(dirname(options.results), { recursive: true })
  if (!options.resume) writeFileSync(options.results, '')
  const remaining = chosen.filter((mutant) => !isDone(mutant, results.get(mutant.id)))
  if (remaining.length > 0) {
    await buildPages()
    const postgres = await startPostgres({ version: 15 })
    try {
      await migratedDatabase(postgres, template)
      await runAll(postgres, remaining, results)
    } finally {
      removeTrees()
      await postgres.stop()
    }
  }
  const chosenResults = chosen.flatMap((mutant) => results.get(mutant.id) ?? [])
  if (options.write)
    writeFileSync(
      join(root, 'docs', 'mutation-testing.md'),
      mutationTable(all, [...results.values()]),
    )
  return report(chosen, chosenResults) ? 0 : 1
}

function testsOf({ tests }: Group): readonly string[] {
  return tests.slice(0, Number(options.first))
}

/** Tells whether a mutant needs no further run. A survivor is done when all its tests were run. */
function isDone({ group }: Planned, result: Result | undefined): boolean {
  return (
    result !== undefined && (result.outcome !== 'survived' || result.tests >= testsOf(group).length)
  )
}

function planned(): Planned[] {
  return groups.flatMap((group) =>
    group.files.flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8')
      return mutantsOf(file, source).map((mutant) => ({ ...mutant, group, source }))
    }),
  )
}

function isChosen({ id, file, group }: Planned): boolean {
  const [shard = 1, shards = 1] = options.shard.split('/').map(Number)
  const isInShard = Number.parseInt(id, 16) % shards === shard - 1
  const { only } = options
  return (
    isInShard &&
    (only.length === 0 ||
      only.some((word) => id === word || file.includes(word) || group.name.includes(word)))
  )
}

function readResults(): Result[] {
  return readFileSync(options.results, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result)
}

async function runAll(
  postgres: Postgres,
  remaining: readonly Planned[],
  results: Map<string, Result>,
): Promise<void> {
  const queue = [...remaining]
  const baselines = new Map<string, number>()
  const worker = async () => {
    const tree = copyOfTree()
    try {
      for (;;) {
        const mutant = queue.shift()
        if (!mutant) return
        const startedMs = performance.now()
        const outcome = await test(postgres, tree, mutant, baselines)
        const result: Result = {
          id: mutant.id,
          ...outcome,
          tests: testsOf(mutant.group).length,
          seconds: Math.round((performance.now() - startedMs) / 100) / 10,
        }
        results.set(mutant.id, result)
        appendFileSync(options.results, `${JSON.stringify(result)}\n`)
        const where = `${mutant.file}:${mutant.line}`
        console.log(
          `${result.outcome.padEnd(8)} ${result.seconds}s ${mutant.id} ${where} ` +
            `${mutant.operator}: ${mutant.was} ${result.by ?? ''}`,
        )
      }
    } finally {
      rmSync(tree, { recursive: true, force: true })
    }
  }
  const tests = [...new Set(remaining.flatMap(({ group }) => testsOf(group)))]
  if (!options.resume) await measure(postgres, tests, baselines)
  await Promise.all(Array.from({ length: Number(options.workers) }, worker))
}

/** Runs every test without a mutant: it has to pass, and its duration sets the timeout. */
async function measure(
  postgres: Postgres,
  tests: readonly string[],
  baselines: Map<string, number>,
): Promise<void> {
  const tree = copyOfTree()
  for (const test of tests) {
    const startedMs = performance.now()
    const outcome = await failure(postgres, tree, test, template, 600_000)
    if (outcome !== undefined) throw new Error(`${test} fails without any mutant: ${outcome}`)
    baselines.set(test, performance.now() - startedMs)
    console.log(`${test} ${((baselines.get(test) as number) / 1000).toFixed(1)} s`)
  }
}

/** Creates a tree with copies of the code and its tests, and links to everything else. */
function copyOfTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'mutants-'))
  trees.add(tree)
  for (const name of readdirSync(root)) {
    if (name === 'server' || name === 'tests')
      cpSync(join(root, name), join(tree, name), { recursive: true })
    else if (name !== '.git') symlinkSync(join(root, name), join(tree, name))
  }
  return tree
}

function removeTrees(): void {
  for (const tree of trees) rmSync(tree, { recursive: true, force: true })
}

/** Runs the tests of a mutant until the first failure. */
async function test(
  postgres: Postgres,
  tree: string,
  { id, file, source, edits, group }: Planned,
  baselines: ReadonlyMap<string, number>,
): Promise<{ outcome: MutantOutcome; by?: string }> {
  const isSchema = file.endsWith('.sql')
  const database = isSchema ? `mutant_${id}` : template
  writeFileSync(join(tree, file), mutated(source, edits))
  try {
    if (isSchema && !(await isMigrated(postgres, tree, database))) return { outcome: 'invalid' }
    for (const test of testsOf(group)) {
      const limitMs = 20_000 + 8 * (baselines.get(test) ?? 10_000)
      const failed = await failure(postgres, tree, test, database, limitMs)
      if (failed !== undefined)
        return { outcome: failed === 'timeout' ? 'timeout' : 'caught', by: `${test}: ${failed}` }
    }
    return { outcome: 'survived' }
  } finally {
    writeFileSync(join(tree, file), source)
    if (isSchema) await dropDatabases(postgres, database)
  }
}

/** Migrates a database with a mutated schema. Returns false if PostgreSQL refuses it. */
async function isMigrated(postgres: Postgres, tree: string, database: string): Promise<boolean> {
  await query(postgres, `create database ${database} owner talkshelf`)
  const env = { ...process.env, DATABASE_URL: postgres.url(database, 'talkshelf') }
  const child = spawn(process.execPath, ['server/main.ts', 'migrate'], {
    cwd: tree,
    env,
    stdio: 'ignore',
  })
  return new Promise((done) => child.once('exit', (code) => done(code === 0)))
}

/** Runs a test file. Returns the name of the first test that fails; undefined if all pass. */
async function failure(
  postgres: Postgres,
  tree: string,
  test: string,
  database: string,
  limitMs: number,
): Promise<string | undefined> {
  const child = spawn(process.execPath, ['--test-reporter=tap', test], {
    cwd: tree,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TEST_DATABASE_URL: postgres.url('postgres'),
      TEST_TEMPLATE: database,
      NODE_COMPILE_CACHE: join(postgres.dir, 'compiled'),
      TZ: 'America/New_York',
      // A part of the slow tests is enough to catch most mutants.
      IMPORT_SEQUENCES: '15',
      IMPORT_MUTATIONS: '200',
    },
  })
  let output = ''
  const failed = await new Promise<string | undefined>((done) => {
    const timer = setTimeout(() => done('timeout'), limitMs)
    const onData = (data: Buffer) => {
      output += data.toString()
      const [, name] = /^\s*not ok \d+ - (.*)$/m.exec(output) ?? []
      if (name !== undefined) done(name)
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
    child.once('exit', (code) => done(code === 0 ? undefined : `exit ${code}`))
    child.once('exit', () => clearTimeout(timer))
  })
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    // The process has already ended.
  }
  if (failed !== undefined) await dropDatabases(postgres, `test_${child.pid}_%`)
  return failed
}

async function dropDatabases(postgres: Postgres, pattern: string): Promise<void> {
  for (const { datname } of await query(
    postgres,
    'select datname from pg_database where datname like $1',
    [pattern],
  ))
    await query(postgres, `drop database if exists ${datname} with (force)`)
}

async function query(
  postgres: Postgres,
  text: string,
  values: string[] = [],
): Promise<{ datname: string }[]> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}
