// npm run fuzz -- [--inputs 1000000] [--seed N] [--only TEXT]... [--save DIR] [--postgres 15|18]
//   [--input BASE64 or FILE]
//
// Feeds mutated inputs to every parser, guided by coverage, on a PostgreSQL of its own.

import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { buildPages } from '../../scripts/build.ts'
import { migratedDatabase, type PostgresMajor, startPostgres } from '../support/postgres.ts'
import { fuzz } from './fuzz.ts'

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', multiple: true, default: [] },
    save: { type: 'string' },
    input: { type: 'string' },
    postgres: { type: 'string', default: '15' },
  },
})
const [inputs, seed] = [Number(values.inputs), Number(values.seed)]
if (!Number.isSafeInteger(inputs) || !Number.isSafeInteger(seed))
  throw new Error('--inputs and --seed must be integers')
const input =
  values.input !== undefined && existsSync(values.input)
    ? readFileSync(values.input).toString('base64')
    : values.input

await buildPages()
const postgres = await startPostgres({ version: Number(values.postgres) as PostgresMajor })
try {
  const databaseUrl = await migratedDatabase(postgres, 'fuzz')
  const startedMs = performance.now()
  console.log(`Seed ${seed}, ${input === undefined ? `${inputs} inputs` : 'one input'}`)
  const { save, only } = values
  const { results, findings } = await fuzz({
    inputs,
    seed,
    only,
    databaseUrl,
    save,
    input,
    onProgress: console.log,
  })
  const rows = results.map(({ name, inputs, branches, corpusSize, cpuSeconds, slowest }) => ({
    target: name,
    inputs,
    branches,
    corpus: corpusSize,
    'CPU s': Number(cpuSeconds.toFixed(1)),
    'slowest (CPU ms)': Math.round(slowest.cpuMs),
    'bytes of slowest': slowest.bytes,
    findings: findings.filter(({ target }) => target === name).length,
  }))
  if (rows.length > 0) console.table(rows)
  const ran = results.reduce((sum, result) => sum + result.inputs, 0)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
  console.log(`${ran} inputs in ${seconds} s, ${findings.length} findings, seed ${seed}`)
  process.exitCode = findings.length > 0 ? 1 : 0
} finally {
  await postgres.stop()
}
