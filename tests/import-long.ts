// node tests/import-long.ts mutations [--cases 100000] | model [--sequences 20000]
//   [--seed N] [--lanes 2] [--postgres 15|18]
//
// Runs the cases of import-mutations.test.ts or import-model.test.ts in any number, on a private
// PostgreSQL. The model sometimes kills real server processes.

import { parseArgs } from 'node:util'
import { type FreshDatabase, freshDatabase } from './support/database.ts'
import { openModelEnvironment } from './support/import-model.ts'
import { openImportEnvironment, runFile } from './support/import-mutations.ts'
import { migratedDatabase, type PostgresMajor, startPostgres } from './support/postgres.ts'

const perFile = 50
const perRound = 10
const kills = 0.002

const { values, positionals } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    sequences: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    first: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '2' },
    postgres: { type: 'string', default: '15' },
  },
  allowPositionals: true,
})
const [seed, lanes] = [Number(values.seed), Number(values.lanes)]

/** A kind of cases, which are identified by numbers. */
interface Work {
  readonly unit: string
  readonly count: number
  /** How many units one number has. */
  readonly size: number
  openLane(): Promise<{ run(number: number): Promise<void>; close(): Promise<void> }>
}

const works: Record<string, Work> = {
  mutations: {
    unit: 'mutations',
    count: Math.ceil(Number(values.cases) / perFile),
    size: perFile,
    async openLane() {
      const database = await freshDatabase()
      const environment = await openImportEnvironment(database.url, seed)
      return {
        run: (number) => runFile(environment, seed, number, perFile),
        close: () => closeAll(environment, database),
      }
    },
  },
  model: {
    unit: 'sequences',
    count: Number(values.sequences),
    size: 1,
    async openLane() {
      const database = await freshDatabase()
      const environment = await openModelEnvironment(database.url, { kills })
      let done = 0
      async function run(number: number): Promise<void> {
        await environment.run(seed, number)
        if (++done % perRound === 0) await environment.finishRound()
      }
      return { run, close: () => closeAll(environment, database) }
    },
  },
}

process.exitCode = await main()

async function closeAll(
  environment: { close(): Promise<void> },
  database: FreshDatabase,
): Promise<void> {
  await environment.close()
  await database.drop()
}

async function main(): Promise<number> {
  const work = works[positionals[0] ?? '']
  if (!work || ![seed, lanes, work.count].every(Number.isSafeInteger))
    throw new Error('Say what to run, mutations or model; numbers are whole')
  const postgres = await startPostgres({ version: Number(values.postgres) as PostgresMajor })
  try {
    process.env.TEST_TEMPLATE = 'talkshelf_template'
    process.env.TEST_DATABASE_URL = postgres.url('postgres')
    await migratedDatabase(postgres, process.env.TEST_TEMPLATE)
    return await run(work)
  } finally {
    await postgres.stop()
  }
}

async function run(work: Work): Promise<number> {
  const first = Number(values.first)
  const start = performance.now()
  let [next, done, failures] = [first, 0, 0]
  const printProgress = () => {
    const seconds = (performance.now() - start) / 1000
    console.log(
      `${done * work.size} ${work.unit} in ${seconds.toFixed(0)} s, ` +
        `${failures} failures, seed ${seed}`,
    )
  }
  const ticking = setInterval(printProgress, 30_000)
  async function lane(): Promise<void> {
    const { run: runOne, close } = await work.openLane()
    while (next < first + work.count) {
      const number = next++
      try {
        await runOne(number)
      } catch (error) {
        failures++
        console.error(error)
        if (failures >= 5) next = first + work.count
      }
      done++
    }
    await close()
  }
  try {
    await Promise.all(Array.from({ length: lanes }, lane))
  } finally {
    clearInterval(ticking)
  }
  printProgress()
  return failures === 0 ? 0 : 1
}
