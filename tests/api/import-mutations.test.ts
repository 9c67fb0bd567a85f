import { after, test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { openImportEnvironment, runFile } from '../support/import-mutations.ts'

// Cases in npm test; `npm run import-mutations -- --cases 100000` runs more.
const cases = Number(process.env.IMPORT_MUTATIONS ?? 300)
const seed = Number(process.env.IMPORT_SEED ?? 20_261_115)
const perFile = 50

const database = await freshDatabase()
const environment = await openImportEnvironment(database.url, seed)
after(() => environment.close())

test(`finishes every import of ${cases} mutated export lines, ${perFile} in a file`, async () => {
  for (let number = 0; number * perFile < cases; number++)
    await runFile(environment, seed, number, perFile)
})
