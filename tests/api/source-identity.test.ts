import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { identify } from '../../server/links/probes/probes.ts'
import { freshDatabase } from '../support/database.ts'

// The SQL function source_identity decides which URLs are one row of sources; `identify` decides
// whom to ask about it. They must agree about what is the same video.

const db = new pg.Client(await freshDatabase().then(({ url }) => url))
await db.connect()
after(() => db.end())

const ids = ['abcdefghijk', 'a-_defghijk']
const uuid = '8ac2f8c8-0b0b-4f1e-9d0e-0123456789ab'
const addresses = [
  ...ids.flatMap((id) => [
    ...['https://www.', 'http://', 'https://m.', 'https://music.'].flatMap((start) => [
      `${start}youtube.com/watch?v=${id}`,
      `${start}youtube.com/watch?t=3&v=${id}&list=x`,
      `${start}youtube.com/watch/?v=${id}`,
    ]),
    ...['embed', 'e', 'v', 'shorts', 'live'].map((path) => `https://youtube.com/${path}/${id}?t=1`),
    `https://www.youtube-nocookie.com/embed/${id}`,
    `https://youtu.be/${id}?t=3`,
  ]),
  'https://www.youtube.com/playlist?list=abcdefghijk',
  'https://www.youtube.com/watch?v=tooshort',
  'https://www.youtube.com/@abcdefghijk',
  'https://vimeo.com/12345',
  'http://www.vimeo.com/12345/',
  'https://player.vimeo.com/video/12345?h=abcdef0123',
  'https://vimeo.com/channels/staff/12345',
  'https://vimeo.com/groups/talks/videos/12345',
  'https://vimeo.com/54321',
  'https://vimeo.com/about',
  'https://archive.org/details/a.talk_1',
  'http://www.archive.org/embed/a.talk_1',
  'https://archive.org/download/a.talk_1/a.mp4',
  'https://archive.org/details/other',
  `https://tube.example.org/w/${uuid}`,
  `https://tube.example.org/w/${uuid}#t=1`,
  'https://media.ccc.de/v/a-talk',
  'http://files.example.org/a.mp4',
  'https://www.files.example.org/a.mp4#t=3',
  'https://files.example.org/b.mp4',
  'https://example.org/talk?utm_source=x',
  'https://example.org/talk/',
]

test('the same identity is the same video, and another one another video', async () => {
  const { rows } = await db.query(
    'select address, source_identity(address) as identity from unnest($1::text[]) as address',
    [addresses],
  )
  const kinds = ['youtube', 'vimeo', 'archive.org']
  const seen = new Map<string, string>()
  let compared = 0
  for (const { address, identity } of rows) {
    const source = identify(address)
    const [prefix] = identity.split(':')
    // Where the database recognizes a video, its host can be asked about the same one.
    if (!kinds.includes(prefix)) {
      assert.ok(!source || !kinds.includes(source.kind), address)
      continue
    }
    assert.equal(`${source?.kind}:${source?.id}`, identity, address)
    compared++
  }
  assert.ok(compared > 40, `${compared}`)
  for (const { address, identity } of rows) {
    const source = identify(address)
    const kind = source?.kind ?? ''
    const known = seen.get(identity) ?? kind
    seen.set(identity, known)
    assert.equal(kind, known, `${address} is of another kind than the same source`)
  }
})
