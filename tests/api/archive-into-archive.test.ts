import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { seededRandom } from '../../server/pictures/seeded-random.ts'
import { freshDatabase } from '../support/database.ts'
import {
  assertImported,
  type ExportedJson,
  exportLines,
  namesOfExport,
  recordOf,
} from '../support/exported-lines.ts'
import { openArchive } from '../support/harness.ts'
import { exportAll, importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { fillArchive } from '../support/random-archive.ts'
import { openSavedStates } from '../support/saved-states.ts'

// The export of one archive is imported into another that has records of its own.

const pairs = Number(process.env.ARCHIVE_PAIRS ?? 3)
const seed = process.env.IMPORT_SEED ?? '20261115'

const { url: databaseUrl } = await freshDatabase()
// Contents of the database that can be restored by name.
const states = await openSavedStates(databaseUrl)
await states.save('empty')
const archive = await openArchive(databaseUrl, { CACHE_MB: '0' })
after(async () => {
  await archive.close()
  await states.close()
})
const client = importClient(archive, archive.admin)

const withoutTime = (text: string) => text.replace(/"at":"[^"]+"/, '')

async function importText(text: string) {
  const { id } = await client.plan({ text, name: 'export.ndjson' })
  const { outcome } = await client.apply(id)
  const rows = new Map((await client.rows(id)).map((row) => [row.position, row]))
  return { outcome, rows }
}

/** Returns whether an import matches the two records: the same id, and the same slug or title. */
function isSameRecord(mine: ExportedJson, theirs: ExportedJson): boolean {
  const [one, other] = [recordOf(mine), recordOf(theirs)]
  return (
    mine.kind === theirs.kind &&
    one.id === other.id &&
    (one.slug === other.slug || one.title === other.title)
  )
}

/** Imports an export into a saved state, and checks every line of both. */
async function importInto(state: string, text: string): Promise<void> {
  await states.restore(state)
  const before = exportLines(await exportAll(databaseUrl))
  const { rows } = await importText(text)
  const theirs = exportLines(text)
  const knownNames = await withDatabase(databaseUrl, namesOfExport)
  for (const [index, line] of theirs.entries()) {
    const row = rows.get(index + 1)
    const isMatch = line.kind === 'video' && before.some((mine) => isSameRecord(mine, line))
    if (!isMatch)
      await assertImported(archive, line, row, {
        known: knownNames,
        as: 'admin',
        isEmpty: before.length === 0,
      })
    else assert.ok(row?.outcome && row.outcome !== 'created', JSON.stringify(row))
  }
  const now = new Set(exportLines(await exportAll(databaseUrl)).map((line) => JSON.stringify(line)))
  for (const line of before)
    if (line.kind !== 'video' || !theirs.some((other) => isSameRecord(line, other)))
      assert.ok(now.has(JSON.stringify(line)), `an existing line changed: ${JSON.stringify(line)}`)
  await checkInvariants(databaseUrl)

  // A second import changes nothing.
  const whole = withoutTime(await exportAll(databaseUrl))
  const again = await importText(text)
  assert.deepEqual([again.outcome.created, again.outcome.changed], [0, 0])
  assert.equal(withoutTime(await exportAll(databaseUrl)), whole)
}

for (let pair = 1; pair <= pairs; pair++)
  test(`imports all of archive ${pair} into another one and keeps its records`, async () => {
    const random = seededRandom('archives', seed, String(pair))
    await states.restore('empty')
    await fillArchive(archive, random, { word: `b${pair}`, videos: 12 })
    await states.save(`b${pair}`)
    await states.restore('empty')
    await fillArchive(archive, random, { word: `a${pair}`, videos: 16 })
    const whole = await exportAll(databaseUrl)
    // The test client decodes responses as Latin-1, which keeps all bytes.
    const { text } = await archive.call('GET', '/api/v2/export.ndjson')
    const publicExport = Buffer.from(text, 'latin1').toString()

    // An import of its own export changes nothing.
    const { outcome } = await importText(whole)
    assert.deepEqual([outcome.created, outcome.changed, outcome.kept], [0, 0, 0])
    assert.equal(withoutTime(await exportAll(databaseUrl)), withoutTime(whole))

    await importInto(`b${pair}`, whole)
    await importInto(`b${pair}`, publicExport)
    await importInto('empty', whole)
  })
