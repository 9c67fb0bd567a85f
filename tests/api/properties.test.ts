import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startArchive } from '../support/harness.ts'
import { properties } from '../support/properties.ts'

// npm test runs this many; `npm run properties -- --cases 1000000` goes on from here.
const wanted = Number(process.env.PROPERTY_CASES ?? 20_500)
// One seed, so that what passes today passes tomorrow; the long run takes another one each time.
const seed = Number(process.env.PROPERTY_SEED ?? 20_261_115)

const archive = await startArchive()
let ran = 0

for (const { name, property, share } of properties)
  test(name, async (t) => {
    const start = performance.now()
    const count = await property(archive, Math.ceil(wanted * share), seed)
    ran += count
    t.diagnostic(
      `${count} cases in ${((performance.now() - start) / 1000).toFixed(1)} s, seed ${seed}`,
    )
  })

test('as many cases were tried as were wanted', (t) => {
  t.diagnostic(`${ran} cases, PROPERTY_SEED=${seed}`)
  assert.ok(wanted > 0 && ran >= wanted, `only ${ran} of ${wanted} ran`)
})
