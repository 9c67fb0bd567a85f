import { after, test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { openImportEnvironment, runFile } from '../support/import-mutations.ts'

// npm test tries this many; `npm run import-mutations -- --cases 100000` goes on from here.
const cases = Number(process.env.IMPORT_MUTATIONS ?? 1000)
const seed = Number(process.env.IMPORT_SEED ?? 20_261_115)
const perFile = 50

const database = await freshDatabase()
const stage = await openImportEnvironment(database.url, seed)
after(() => stage.close())

test(`${cases} mutations of exports, ${perFile} in a file: each import ends, and the archive stays usable`, async () => {
  for (let number = 0; number * perFile < cases; number++)
    await runFile(stage, seed, number, perFile)
})
