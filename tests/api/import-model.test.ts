import { after, test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { openModelStage } from '../support/import-model.ts'

// npm test runs this many; `npm run import-model -- --sequences 20000` goes on from here.
const sequences = Number(process.env.IMPORT_SEQUENCES ?? 100)
const seed = Number(process.env.IMPORT_SEED ?? 20_261_115)
const perRound = 10

const database = await freshDatabase()
const stage = await openModelStage(database.url)
after(() => stage.close())

test(`${sequences} sequences of imports, undoing, restarts and work by hand end as the model says`, async () => {
  for (let number = 1; number <= sequences; number++) {
    await stage.run(seed, number)
    if (number % perRound === 0) await stage.finishRound()
  }
  await stage.finishRound()
})
