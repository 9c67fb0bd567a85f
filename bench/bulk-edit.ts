// npm run bulk-edit -- [--records N]
//
// Changes the licence of records with a bulk edit, and that of as many other records with an import
// of a table, both over HTTP and from the plan to the last batch. The pieces alternate, so that
// other load on the machine affects both. Fails if the bulk edit takes more than 1.5 times as long.

import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { call, runCommand, startServer, type TestArchive } from '../tests/support/harness.ts'
import { type ImportClient, importClient } from '../tests/support/import-client.ts'
import { checkInvariants } from '../tests/support/invariants.ts'
import { migratedDatabase, startPostgres } from '../tests/support/postgres.ts'

const { values } = parseArgs({ options: { records: { type: 'string', default: '10000' } } })
const records = Number(values.records)
const pieceSize = Math.min(2000, records)
const maxRatio = 1.5
const [licenceBefore, licenceAfter] = ['CC BY 3.0', 'CC BY 4.0']

const postgres = await startPostgres({ version: 15 })
process.exitCode = await main().finally(() => postgres.stop())

/** Returns the exit code. */
async function main(): Promise<number> {
  const databaseUrl = await migratedDatabase(postgres, 'bulk_edit')
  const settings = { DATABASE_URL: databaseUrl }
  const tokenCommand = ['token', 'create', '--name', 'Bench', '--role', 'editor']
  const token = (await runCommand(tokenCommand, settings)).stdout.trim()
  const server = await startServer({ ...settings })
  try {
    const send: TestArchive['call'] = (method, path, options) =>
      call(server.url, method, path, options)
    return await compare(importClient({ call: send }, token), databaseUrl)
  } finally {
    await server.stop()
  }
}

async function compare(client: ImportClient, databaseUrl: string): Promise<number> {
  const total = { edit: 0, import: 0 }
  for (let first = 0; first < records; first += pieceSize) {
    const size = Math.min(pieceSize, records - first)
    const [edited, imported] = [`Edited ${first}`, `Imported ${first}`]
    for (const category of [edited, imported])
      await importTable(client, category, size, licenceBefore)
    const editMs = await timeMs(() => editLicence(client, edited, size))
    const importMs = await timeMs(() => importTable(client, imported, size, licenceAfter))
    total.edit += editMs
    total.import += importMs
    console.log(
      `${String(first + size).padStart(6)}: bulk edit ${Math.round(editMs)} ms, ` +
        `import ${Math.round(importMs)} ms, ratio ${(editMs / importMs).toFixed(2)}`,
    )
  }
  await checkInvariants(databaseUrl)
  const ratio = total.edit / total.import
  const seconds = (ms: number) => (ms / 1000).toFixed(1)
  console.log(
    `${records} records: bulk edit ${seconds(total.edit)} s, import ${seconds(total.import)} s, ` +
      `ratio ${ratio.toFixed(2)}, at most ${maxRatio}`,
  )
  return ratio <= maxRatio ? 0 : 1
}

async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

async function editLicence(client: ImportClient, category: string, size: number) {
  const { json } = await client.send('POST', 'edit', {
    filter: { category: category.toLowerCase().replace(' ', '-') },
    operations: [{ op: 'set', field: 'copyright_text', value: licenceAfter }],
  })
  await client.until(json.id, 'planned')
  const { outcome } = await client.apply(json.id)
  assert.equal(outcome.changed, size)
}

/** Creates or changes the talks of an event with a table that has their licence. */
async function importTable(client: ImportClient, category: string, size: number, licence: string) {
  const rows = Array.from(
    { length: size },
    (_, index) => `${index},Talk ${index} of ${category},Speaker ${index % 100},${licence}`,
  )
  const { id } = await client.plan({
    text: ['key,title,speakers,copyright_text', ...rows].join('\n'),
    format: 'csv',
    name: `${category}.csv`,
    category,
    language: 'en',
  })
  const { outcome } = await client.apply(id)
  assert.equal((outcome.created ?? 0) + (outcome.changed ?? 0), size)
}
