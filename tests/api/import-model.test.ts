import { after, test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { openModelEnvironment } from '../support/import-model.ts'

// Sequences in npm test; `npm run import-model -- --sequences 20000` runs more.
const sequences = Number(process.env.IMPORT_SEQUENCES ?? 25)
const seed = Number(process.env.IMPORT_SEED ?? 20_261_115)
const perRound = 10

const database = await freshDatabase()
const model = await openModelEnvironment(database.url)
after(() => model.close())

test(`matches the model in ${sequences} sequences of imports, undos and edits`, async () => {
  for (let number = 1; number <= sequences; number++) {
    await model.run(seed, number)
    if (number % perRound === 0) await model.finishRound()
  }
  await model.finishRound()
})
