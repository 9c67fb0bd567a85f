import { createHash } from 'node:crypto'
import { type CategoryInput, Problem, VideoInput, validate } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import { createCategory } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { createVideo } from '../videos/videos.ts'
import { loadedTalks, occupancy } from './queries.ts'
import { exampleCategories, exampleTalks } from './talks.ts'

// The id of the request that made a record is in its history for ever: by it a later demo knows
// what it need not load again.
const prefix = 'demo:'

/** Invented talks have no business in an archive that somebody keeps. */
export async function isOccupied(pool: Pool): Promise<boolean> {
  const { used, demo } = await occupancy(pool, prefix)
  return used && !demo
}

/**
 * Loads what is not there yet, through the front doors. Tells how many talks that were, and the id
 * of one to look at.
 */
export async function loadExamples(pool: Pool): Promise<{ loaded: number; id: number }> {
  const before = new Set((await loadedTalks(pool, prefix)).map(({ request }) => request))
  for (const category of exampleCategories) await ensureCategory(pool, category)
  let loaded = 0
  for (const { key, ...talk } of exampleTalks) {
    const request = requestFor(key, talk)
    if (before.has(request.origin.request)) continue
    await createVideo(pool, validate(VideoInput, { state: 1, ...talk }), request, undefined)
    loaded++
  }
  const talks = await loadedTalks(pool, prefix)
  const talk = talks.find(({ live }) => live) ?? talks[0]
  if (!talk) throw new Error('No talk was loaded')
  return { loaded, id: talk.id }
}

async function ensureCategory(pool: Pool, category: CategoryInput): Promise<void> {
  try {
    await createCategory(pool, category, requestFor(category.title, category))
  } catch (error) {
    if (!(error instanceof Problem && error.problem === 'category-exists')) throw error
  }
}

function requestFor(key: string, input: object): WriteContext {
  return {
    origin: {
      actor: { role: 'editor', name: 'talkshelf demo', token: null },
      via: 'command',
      request: prefix + key,
    },
    ifMatch: undefined,
    hash: createHash('sha256').update(JSON.stringify(input)).digest(),
  }
}
