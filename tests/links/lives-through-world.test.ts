import { test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { lives } from './lives.ts'
import { playThroughWorld } from './play-through-world.ts'

const database = await freshDatabase()

for (const life of lives.filter(({ name }) => /region|closed/.test(name)))
  test(`a life through the world: ${life.name}`, { skip: life.isKilled }, async (t) => {
    t.diagnostic(await playThroughWorld(life, database.url))
  })
