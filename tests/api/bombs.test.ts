import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Video } from '@talkshelf/contract'
import { call, type Reply, type Server, spawnServer, startArchive } from '../support/harness.ts'
import { photo, startImageServer } from '../support/picture-archive.ts'
import { avifOfSize, gifOfSize, jpegOfSize, pngOf, webpOfSize } from '../support/picture-bombs.ts'
import { residentMegabytes, slowdownOf } from '../support/process-metrics.ts'

// Untrusted content that is as expensive as possible. All processes of the server together stay
// below a memory limit, and other readers stay fast.

const maxMegabytes = 512
/**
 * On an idle machine others wait at most 170 ms longer, on a shared one up to a second. Content that
 * is rendered at once makes them wait for five.
 */
const maxExtraWaitMs = 1000

const archive = await startArchive()
const innocent = await archive.make({
  title: 'An innocent talk',
  description: '# Nothing *special*',
})
const others = [`/api/v2/video/${innocent.id}`, `/video/${innocent.id}/${innocent.slug}`]

interface Observed {
  /** The slowest response to another reader. */
  readonly slowestMs: number
  /** How much slower the server was than on an idle machine; 1 is as fast. */
  readonly slowdown: number
  readonly megabytes: number
}

/** Reads other pages and watches the memory of the server until the work is done. */
async function observe(server: Server, work: () => Promise<unknown>): Promise<Observed> {
  const pid = server.process.pid ?? assert.fail('not started')
  let [slowestMs, megabytes, isDone] = [0, 0, false]
  const watch = async (everyMs: number, check: () => unknown) => {
    while (!isDone) {
      await check()
      await sleep(everyMs)
    }
  }
  const elapsedMs = (fromMs: number) => performance.now() - fromMs
  const watching = [
    watch(20, () => {
      megabytes = Math.max(megabytes, residentMegabytes(pid))
    }),
    ...others.map((path) =>
      watch(5, async () => {
        const fromMs = performance.now()
        const { status } = await call(server.url, 'GET', path)
        assert.equal(status, 200)
        slowestMs = Math.max(slowestMs, elapsedMs(fromMs))
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

/** The same requests for harmless and for hostile records. */
interface Trial {
  harmless(): Promise<unknown>
  hostile(): Promise<unknown>
}

/**
 * Runs up to five trials. A shared machine can be slow at any moment, so only one of them has to be
 * fast; memory is checked in every one.
 */
async function runTrials(
  server: Server,
  prepare: (attempt: number) => Promise<Trial>,
): Promise<void> {
  const measurements: string[] = []
  for (let attempt = 0; attempt < 5; attempt++) {
    const { harmless, hostile } = await prepare(attempt)
    const baseline = await observe(server, harmless)
    const { slowestMs, slowdown, megabytes } = await observe(server, hostile)
    measurements.push(
      `${slowestMs.toFixed()} ms, usually ${baseline.slowestMs.toFixed()} ms, ` +
        `on a machine ${slowdown.toFixed(1)} times as slow`,
    )
    console.log(`The slowest other reader waited ${measurements.at(-1)}; ${megabytes.toFixed()} MB`)
    assert.ok(megabytes < maxMegabytes, `${megabytes} MB`)
    if (slowestMs <= baseline.slowestMs + maxExtraWaitMs * slowdown) return
  }
  assert.fail(`The slowest other reader waited ${measurements.join('; ')}`)
}

async function read(server: Server, path: string): Promise<Reply> {
  const reply = await call(server.url, 'GET', path)
  assert.equal(reply.status, 200, path)
  return reply
}

const readAll = (server: Server, paths: readonly string[]) =>
  Promise.all(paths.map((path) => read(server, path)))

test('survives decompression bombs in images and serves covers instead', {
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
    // The largest sizes that are decoded, as far as they are valid.
    'an interlaced PNG of 3,400 by 3,400': await pngOf(3400, { bits: 16, isInterlaced: true }),
    'a JPEG header of 3,400 by 3,400': await jpegOfSize(3400),
    'a GIF header of 3,400 by 3,400': await gifOfSize(3400),
    'an AVIF header of 3,400 by 3,400': await avifOfSize(3400),
  }
  const harmless = await photo(640, 360).png().toBuffer()
  const forms = ['320', '640', '1280', 'preview']
  await runTrials(server, async (attempt) => {
    const makeTalk = async (name: string, bytes: Buffer) => {
      const path = `/${attempt}/${encodeURIComponent(name)}`
      const { id } = await archive.make({ thumbnail_url: images.at(path, bytes) })
      return { id, name, path }
    }
    const hostile = await Promise.all(
      Object.entries(bombs).map(([name, bytes]) => makeTalk(name, bytes)),
    )
    const usual = await Promise.all(
      Array.from(hostile, (_, index) => makeTalk(`usual ${index}`, harmless)),
    )
    const last = await makeTalk('last', harmless)
    const pathsOf = (talks: readonly { id: number }[]) =>
      talks.flatMap(({ id }) => forms.map((form) => `/picture/${id}/${form}`))
    return {
      harmless: () => readAll(server, pathsOf(usual)),
      hostile: async () => {
        for (let round = 0; round < 2; round++) await readAll(server, pathsOf(hostile))
        // Readers get covers first. When this image is ready, all before it were decoded or given
        // up.
        const isReady = async () =>
          (await read(server, `/picture/${last.id}/320`)).headers['content-type'] === 'image/webp'
        while (!(await isReady())) await sleep(100)
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
const repeatTo = (unit: string, length: number) =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length)

/** Creates talks in a new category, each with different text, so that no cache helps. */
async function talksOf(
  count: number,
  { category, isHostile }: { category: string; isHostile: boolean },
) {
  const { json } = await archive.call('POST', '/api/v2/category', {
    body: { title: category },
    token: archive.editor,
  })
  const talks: Video[] = []
  for (let index = 0; index < count; index++) {
    const start = `${category} ${index} `
    const unit = units[index % units.length] as string
    const texts = {
      summary: start + repeatTo(unit, 19_000),
      description: start + repeatTo(unit, 99_000),
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

test('keeps other readers fast while 30 pages render hostile descriptions', {
  timeout: 300_000,
}, async () => {
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  await runTrials(server, async (attempt) => {
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

test('keeps other readers fast while a feed, a page and a search render 100 kB talks', {
  timeout: 300_000,
}, async () => {
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  await runTrials(server, async (attempt) => {
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
