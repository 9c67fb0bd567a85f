import { createHash } from 'node:crypto'
import { type CategoryInput, Problem, VideoInput, validate } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import { changeEntity, createCategory, pickProfile } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { slugify } from '../platform/slug.ts'
import { createVideo } from '../videos/videos.ts'
import { loadedTalks, occupancy } from './queries.ts'
import { type ExampleSpeaker, exampleCategories, exampleSpeakers, exampleTalks } from './talks.ts'

// Loads the example talks. The request id of a created record stays in its history, so a later demo
// recognizes by this prefix which talks it has already loaded.
const prefix = 'demo:'

/** Tells whether the database contains records, and no demo has ever created any in it. */
export async function isOccupied(pool: Pool): Promise<boolean> {
  const { used, demo } = await occupancy(pool, prefix)
  return used && !demo
}

/**
 * Creates the example talks that no earlier demo has created, one by one, with the clip at this URL
 * as their recording. Returns how many it created and the id of a talk to show, live if there is
 * one.
 */
export async function loadExamples(
  pool: Pool,
  clipUrl: string,
): Promise<{ loaded: number; id: number }> {
  const existing = new Set((await loadedTalks(pool, prefix)).map(({ request }) => request))
  for (const category of exampleCategories) await ensureCategory(pool, category)
  let loaded = 0
  for (const { key, ...talk } of exampleTalks) {
    const request = requestFor(key, talk)
    if (existing.has(request.origin.request)) continue
    await createVideo(
      pool,
      validate(VideoInput, { state: 1, video_webm_url: clipUrl, ...talk }),
      request,
      undefined,
    )
    loaded++
  }
  // Only in the first demo: later ones keep what was changed since.
  if (existing.size === 0) for (const speaker of exampleSpeakers) await describe(pool, speaker)
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

/** Adds the profile of a speaker, whom a talk has created. */
function describe(pool: Pool, { name, ...profile }: ExampleSpeaker): Promise<unknown> {
  const patch = { profile: pickProfile('speaker', profile) }
  return pool.transaction((tx) =>
    changeEntity(tx, 'speaker', slugify(name), patch, requestFor(name, profile)),
  )
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
