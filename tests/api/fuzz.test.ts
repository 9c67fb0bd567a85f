import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain, fuzz } from '../fuzz/fuzz.ts'
import { freshDatabase } from '../support/database.ts'
import { checkInvariants } from '../support/invariants.ts'

// `npm run fuzz -- --inputs 1000000` runs more.
const inputCount = Number(process.env.FUZZ_INPUTS ?? 8_000)
// Most inputs are the same in every run; a tenth of them is new.
const fixedSeed = 20_261
const randomSeed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000)

const database = await freshDatabase()

for (const [name, seed, inputs] of [
  ['fixed inputs', fixedSeed, Math.ceil(inputCount * 0.9)],
  ['new inputs', randomSeed, Math.ceil(inputCount * 0.1)],
] as const)
  test(`breaks no parser with ${name}`, async (t) => {
    const { results, findings } = await fuzz({ inputs, seed, databaseUrl: database.url })
    const ran = results.reduce((sum, result) => sum + result.inputs, 0)
    t.diagnostic(`${ran} inputs for ${results.length} targets, FUZZ_SEED=${seed}`)
    assert.deepEqual(findings.map((finding) => explain(finding, seed)).join('\n'), '')
    assert.ok(ran >= inputs && results.length >= 30, `${ran} inputs for ${results.length} targets`)
    // A target that covers nothing tests nothing. Few inputs, new in every run, may cover little.
    if (seed === fixedSeed)
      for (const { name, branches } of results)
        assert.ok(branches >= 3, `${name} reached ${branches} branches`)
  })

test('keeps the archive consistent after fuzzing', () => checkInvariants(database.url))

test('finds exactly the planted faults', async () => {
  const names = ['failure', 'refusal', 'hang', 'slowness', 'crash', 'stray rejection'].map(
    (fault) => `planted ${fault}`,
  )
  const { findings } = await fuzz({
    inputs: 30_000,
    seed: 1,
    only: names,
    databaseUrl: '',
    maxCpuMs: 100,
    hangCpuSeconds: 3,
  })
  assert.deepEqual(
    findings.map(({ target, kind }) => `${target}: ${kind}`),
    [
      'planted failure: failure',
      'planted hang: hang',
      'planted slowness: slow',
      'planted crash: crash',
      'planted stray rejection: failure',
    ],
  )
  const [failure] = findings
  assert.ok(failure)
  // Coverage guided the fuzzer to it, and the input is minimized.
  assert.equal(Buffer.from(failure.input, 'base64').toString('latin1'), 'f1g2h3i4j5')
  assert.match(
    explain(failure, 1),
    /npm run fuzz -- --only 'planted failure' --input ZjFnMmgzaTRqNQ==/,
  )
})
