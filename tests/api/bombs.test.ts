import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Video } from '@talkshelf/contract'
import { call, type Reply, type Server, spawnServer, startArchive } from '../support/harness.ts'
import { photo, startImageServer } from '../support/picture-archive.ts'
import { avifOfSize, gifOfSize, jpegOfSize, pngOf, webpOfSize } from '../support/picture-bombs.ts'
import { residentMegabytes, slowdownOf } from '../support/process-metrics.ts'

// Content from strangers that costs as much as it can. Whatever it is, all processes of the server
// stay below a limit of memory together, and other readers hardly notice.

const maxMegabytes = 512
const maxExtraWaitMs = 300

const archive = await startArchive()
const innocent = await archive.make({
  title: 'An innocent talk',
  description: '# Nothing *special*',
})
const others = [`/api/v2/video/${innocent.id}`, `/video/${innocent.id}/${innocent.slug}`]

interface Observed {
  /** The longest that a reader of something else waited. */
  readonly slowestMs: number
  /** How much longer the server took than on a machine of its own: 1 is no longer. */
  readonly slowdown: number
  readonly megabytes: number
}

/** Reads something else, and watches the memory of the server, until the work is done. */
async function observe(server: Server, work: () => Promise<unknown>): Promise<Observed> {
  const pid = server.process.pid ?? assert.fail('not started')
  let [slowestMs, megabytes, isDone] = [0, 0, false]
  const watch = async (everyMs: number, look: () => unknown) => {
    while (!isDone) {
      await look()
      await sleep(everyMs)
    }
  }
  const since = (fromMs: number) => performance.now() - fromMs
  const watching = [
    watch(20, () => {
      megabytes = Math.max(megabytes, residentMegabytes(pid))
    }),
    ...others.map((path) =>
      watch(5, async () => {
        const fromMs = performance.now()
        const { status } = await call(server.url, 'GET', path)
        assert.equal(status, 200)
        slowestMs = Math.max(slowestMs, since(fromMs))
      }),
    ),
  ]
  const slowdown = slowdownOf(pid)
  try {
    await work()
  } finally {
    isDone = true
    await Promise.all(watching)
  }
  return { slowestMs, slowdown: slowdown(), megabytes }
}

/** What is asked of the server: the same of harmless records, then of hostile ones. */
interface Trial {
  harmless(): Promise<unknown>
  hostile(): Promise<unknown>
}

/**
 * Judges trials. A machine that is shared can be slow at any moment, so one of five has to be
 * quick; memory is judged in every one.
 */
async function judge(server: Server, prepare: (attempt: number) => Promise<Trial>): Promise<void> {
  const seen: string[] = []
  for (let attempt = 0; attempt < 5; attempt++) {
    const { harmless, hostile } = await prepare(attempt)
    const usual = await observe(server, harmless)
    const { slowestMs, slowdown, megabytes } = await observe(server, hostile)
    seen.push(
      `${slowestMs.toFixed()} ms, usually ${usual.slowestMs.toFixed()} ms, on a machine ${slowdown.toFixed(1)} times as slow`,
    )
    console.log(`The slowest other reader waited ${seen.at(-1)}; ${megabytes.toFixed()} MB`)
    assert.ok(megabytes < maxMegabytes, `${megabytes} MB`)
    if (slowestMs <= usual.slowestMs + maxExtraWaitMs * slowdown) return
  }
  assert.fail(`The slowest other reader waited ${seen.join('; ')}`)
}

async function read(server: Server, path: string): Promise<Reply> {
  const reply = await call(server.url, 'GET', path)
  assert.equal(reply.status, 200, path)
  return reply
}

const readAll = (server: Server, paths: readonly string[]) =>
  Promise.all(paths.map((path) => read(server, path)))

test('images that are bombs cost their decoder, and readers get covers', {
  timeout: 300_000,
}, async () => {
  const images = await startImageServer()
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl }, [
    'tests/support/bombs-server.ts',
    `${images.port}`,
  ])
  const disguise =
    '<!--ftyp avif --><svg xmlns="http://www.w3.org/2000/svg" width="64" height="36">'
  const tooLarge: Record<string, Buffer> = {
    'an SVG disguised as AVIF': Buffer.from(`${disguise}${'<g/>'.repeat(2_000_000)}</svg>`),
    'an interlaced PNG of 8,700 by 8,700': await pngOf(8700, { bits: 16, isInterlaced: true }),
    'a JPEG header of 65,500 by 65,500': await jpegOfSize(65_500),
    'a GIF header of 65,535 by 65,535': await gifOfSize(65_535),
    'a WebP header of 16,383 by 16,383': await webpOfSize(16_383),
    'an AVIF header of 60,000 by 60,000': await avifOfSize(60_000),
  }
  const bombs = {
    ...tooLarge,
    // As large as may be: these are decoded, as far as it goes.
    'an interlaced PNG of 3,400 by 3,400': await pngOf(3400, { bits: 16, isInterlaced: true }),
    'a JPEG header of 3,400 by 3,400': await jpegOfSize(3400),
    'a GIF header of 3,400 by 3,400': await gifOfSize(3400),
    'an AVIF header of 3,400 by 3,400': await avifOfSize(3400),
  }
  const harmless = await photo(640, 360).png().toBuffer()
  const forms = ['320', '640', '1280', 'preview']
  await judge(server, async (attempt) => {
    const made = async (name: string, bytes: Buffer) => {
      const path = `/${attempt}/${encodeURIComponent(name)}`
      const { id } = await archive.make({ thumbnail_url: images.at(path, bytes) })
      return { id, name, path }
    }
    const hostile = await Promise.all(
      Object.entries(bombs).map(([name, bytes]) => made(name, bytes)),
    )
    const usual = await Promise.all(Array.from(hostile, (_, at) => made(`usual ${at}`, harmless)))
    const last = await made('last', harmless)
    const all = (talks: readonly { id: number }[]) =>
      talks.flatMap(({ id }) => forms.map((form) => `/picture/${id}/${form}`))
    return {
      harmless: () => readAll(server, all(usual)),
      hostile: async () => {
        for (let round = 0; round < 2; round++) await readAll(server, all(hostile))
        // Readers get covers first. When this one is there, all before it were decoded, or given
        // up.
        const isThere = async () =>
          (await read(server, `/picture/${last.id}/320`)).headers['content-type'] === 'image/webp'
        while (!(await isThere())) await sleep(100)
        for (const { id, name, path } of hostile) {
          const { headers } = await read(server, `/picture/${id}/640`)
          if (name in tooLarge) assert.equal(headers['content-type'], 'image/svg+xml', name)
          assert.equal(images.countOf(path), 1, name)
        }
      },
    }
  })
  await server.stop()
})

const units = [
  ...[
    '[a][\n',
    'https://a.b/c',
    '[a\n',
    '[a[b](c)',
    '![[',
    '*a_',
    '`a``b',
    '<http://a',
    '> - ',
    '- \n\n',
  ],
  ...[
    'a|b\n-|-\n\n',
    '[a]: b "\n',
    'mailto:a@b ',
    '***a',
    'a\n=\n',
    '|a',
    'http://[',
    '&#',
    '<',
    '\\\n',
  ],
]
const filled = (unit: string, length: number) =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length)

/** Makes talks of a category of their own. Each of them costs to render, also after another one. */
async function talksOf(
  count: number,
  { category, isHostile }: { category: string; isHostile: boolean },
) {
  const { json } = await archive.call('POST', '/api/v2/category', {
    body: { title: category },
    token: archive.editor,
  })
  const talks: Video[] = []
  for (let at = 0; at < count; at++) {
    const start = `${category} ${at} `
    const unit = units[at % units.length] as string
    const texts = {
      summary: start + filled(unit, 19_000),
      description: start + filled(unit, 99_000),
    }
    talks.push(
      await archive.make({
        category,
        ...(isHostile ? texts : { summary: start, description: `${start}*more*` }),
      }),
    )
  }
  return { talks, path: `/category/${json.id}/${json.slug}`, category }
}

test('hostile descriptions on thirty pages at once keep no other reader waiting', {
  timeout: 300_000,
}, async () => {
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  await judge(server, async (attempt) => {
    const usual = await talksOf(30, { category: `Usual pages ${attempt}`, isHostile: false })
    const hostile = await talksOf(30, { category: `Hostile pages ${attempt}`, isHostile: true })
    const readTwice = async ({ talks }: typeof usual) => {
      for (let round = 0; round < 2; round++)
        await readAll(
          server,
          talks.map(({ id, slug }) => `/video/${id}/${slug}`),
        )
    }
    return { harmless: () => readTwice(usual), hostile: () => readTwice(hostile) }
  })
  await server.stop()
})

test('a feed, a page and a search of a hundred talks of 100 kB keep no other reader waiting', {
  timeout: 300_000,
}, async () => {
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  await judge(server, async (attempt) => {
    const usual = await talksOf(100, { category: `Usual feed ${attempt}`, isHostile: false })
    const hostile = await talksOf(100, { category: `Hostile feed ${attempt}`, isHostile: true })
    const readEach = async ({ path, category }: typeof usual) => {
      for (const form of ['rss', 'atom', 'json']) {
        const { text } = await read(server, `${path}/${form}`)
        assert.ok(text.includes(`${category} 99`), form)
      }
      const q = encodeURIComponent(category)
      for (const other of [path, `/search?q=${q}`, `/api/v2/video?q=${q}&include=snippets`])
        await read(server, other)
    }
    return { harmless: () => readEach(usual), hostile: () => readEach(hostile) }
  })
  await server.stop()
})

// Imports that are bombs: compressed files that unpack to far more than they weigh.
