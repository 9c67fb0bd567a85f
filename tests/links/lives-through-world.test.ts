import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { lives } from './lives.ts'
import { playThroughWorld } from './play-through-world.ts'

// Some lives of sources, played by the real checker. `npm run links` plays all of them.

const database = await freshDatabase()

for (const name of ['one bad day', 'certificate', 'region', 'moved'])
  test(`plays the life “${name}” through the world`, async () => {
    const life = lives.find((one) => one.name === name)
    assert.ok(life)
    await playThroughWorld(life, database.url)
  })
