import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startArchive } from '../support/harness.ts'
import { properties } from '../support/properties.ts'

// Runs the property-based tests (tests/support/properties.ts), each with its share of the cases.

// Cases in npm test; `npm run properties -- --cases 1000000` runs more.
const caseCount = Number(process.env.PROPERTY_CASES ?? 5_000)
// A fixed seed makes runs repeatable; the long run takes a new one each time.
const seed = Number(process.env.PROPERTY_SEED ?? 20_261_115)

const archive = await startArchive()
let ran = 0

for (const { name, property, share } of properties)
  test(name, async (t) => {
    const start = performance.now()
    const count = await property(archive, Math.ceil(caseCount * share), seed)
    ran += count
    t.diagnostic(
      `${count} cases in ${((performance.now() - start) / 1000).toFixed(1)} s, seed ${seed}`,
    )
  })

test('tries as many cases as requested', (t) => {
  t.diagnostic(`${ran} cases, PROPERTY_SEED=${seed}`)
  assert.ok(caseCount > 0 && ran >= caseCount, `only ${ran} of ${caseCount} ran`)
})
