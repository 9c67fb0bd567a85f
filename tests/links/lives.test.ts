import { test } from 'node:test'
import { lives } from './lives.ts'
import { playLife } from './play-life.ts'

for (const life of lives)
  test(`a life as it was told: ${life.name}`, () => {
    for (let seed = 1; seed <= (life.subjects > 1 ? 3 : 20); seed++) playLife(life, seed)
  })
