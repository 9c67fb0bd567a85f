import assert from 'node:assert/strict'
import { call } from './harness.ts'
import { withDatabase } from './invariants.ts'
import { until } from './until.ts'

// Compares what anyone gets from an archive and from its mirror.

export interface ComparedArchives {
  readonly url: string
  readonly databaseUrl: string
  readonly mirrorUrl: string
}

const lists = [
  '/api/v2/video?page_size=100',
  '/api/v2/video?q=talk',
  '/api/v2/video?q=speaker+1&include=facets',
  '/api/v2/speaker?page_size=100',
  '/api/v2/tag?page_size=100',
  '/api/v2/category?page_size=100',
  '/api/v2/language',
]

/** Checks that both answer the same for every record and entity. Returns how many they compared. */
export async function assertSameResponses(compared: ComparedArchives): Promise<number> {
  const paths = [...lists, ...(await pathsOf(compared.databaseUrl))]
  for (const path of lists) assert.equal((await readAs(compared.url, path)).status, 200, path)
  // Both may answer from memory for a moment.
  for (const path of paths)
    await until(`${path} to be the same`, async () => {
      const [expected, actual] = await Promise.all([
        readAs(compared.url, path),
        readAs(compared.mirrorUrl, path),
      ])
      assert.deepEqual(actual, expected, path)
      return true
    })
  return paths.length
}

async function pathsOf(databaseUrl: string): Promise<string[]> {
  return withDatabase(databaseUrl, async (query) => {
    const videos = await query('select id from video order by id')
    const entities = await query(`
      select 'category' as kind, slug from category where merged_into is null
      union all select 'speaker', slug from speaker where merged_into is null
      union all select 'tag', slug from tag where merged_into is null`)
    return [
      ...videos.flatMap(({ id }) => [`/api/v2/video/${id}`, `/api/v2/video/${id}/facts`]),
      ...entities.map(({ kind, slug }) => `/api/v2/${kind}/${slug}`),
    ]
  })
}

/** Reads what a mirror must have too. The URL of the archive itself is left out. */
async function readAs(url: string, path: string) {
  const headers = { accept: 'application/json' }
  const { status, headers: received, text } = await call(url, 'GET', path, { headers })
  const isRecord = /^\/api\/v2\/video\/\d+$/.test(path)
  // Entities that have no public talks are only known to the source.
  const isUnknown = status === 404 || (/\/(speaker|tag)\//.test(path) && /"talks":0\b/.test(text))
  if (isUnknown) return { status: 404 }
  return {
    status,
    etag: isRecord ? received.etag : undefined,
    location: received.location?.replace(url, ''),
    text: text.replaceAll(url, '').replace(/"instance":"[^"]*"/, ''),
  }
}
