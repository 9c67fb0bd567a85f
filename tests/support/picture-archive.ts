import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { fetchImage, openPictures, type PictureOptions } from '../../server/pictures/pictures.ts'
import { pictureRoutes } from '../../server/pictures/routes.ts'
import { openRecordCache } from '../../server/videos/videos.ts'
import { serveOnly } from './bare-http.ts'
import { call, type TestArchive } from './harness.ts'

// For tests of pictures: a server that has some, and the routes on a server of their own, which may
// fetch from that one and from no other.

export type PictureReply = (response: ServerResponse, request: IncomingMessage) => unknown

export interface ImageServer {
  url: string
  port: number
  /** The requests that came, by path. */
  asked: IncomingMessage[]
  countOf(path: string): number
  /** What is answered at this path; the address of it. */
  at(path: string, answer: PictureReply | Buffer): string
  maxAtOnce(): number
}

export async function startImageServer(): Promise<ImageServer> {
  const answers = new Map<string, PictureReply | Buffer>()
  const asked: IncomingMessage[] = []
  let [atOnce, maxAtOnce] = [0, 0]
  const server = createServer((request, response) => {
    asked.push(request)
    maxAtOnce = Math.max(maxAtOnce, ++atOnce)
    response.on('close', () => atOnce--)
    response.on('error', () => {})
    const answer = answers.get(request.url ?? '')
    if (answer === undefined) response.writeHead(404).end()
    else if (Buffer.isBuffer(answer)) response.end(answer)
    else answer(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    asked,
    countOf: (path) => asked.filter((it) => it.url === path).length,
    at(path, answer) {
      answers.set(path, answer)
      return url + path
    },
    maxAtOnce: () => maxAtOnce,
  }
}

export interface PictureServer {
  url: string
  warnings: string[]
  get(path: string, headers?: Record<string, string>): ReturnType<typeof call>
  stop(): Promise<void>
}

export async function startPictures(
  { pool }: TestArchive,
  images: ImageServer,
  more: Partial<PictureOptions> = {},
): Promise<PictureServer> {
  const warnings: string[] = []
  const allowed = {
    ports: [80, images.port],
    isAllowed: (ip: string, port: number) => ip === '127.0.0.1' && port === images.port,
  }
  const pictures = openPictures({
    fetchImage: (address, signal) =>
      fetchImage(address, { ...allowed, userAgent: 'Talkshelf/test', signal }),
    cacheBytes: 2 ** 25,
    folder: '',
    folderBytes: 2 ** 30,
    log: { warn: (_, words) => warnings.push(words), debug: () => {} },
    // On a busy machine pictures take their time; whoever tests patience gives the limits.
    limits: { patienceMs: 15_000 },
    ...more,
  })
  const bodies = openRecordCache(pool.lookups, 0, () => {})
  const { url, close } = await serveOnly([], ({ http, mountPage }) =>
    pictureRoutes(http, mountPage, bodies, pictures),
  )
  return {
    url,
    warnings,
    get: (path, headers = {}) => call(url, 'GET', path, { headers }),
    stop: close,
  }
}

/** A picture that is not all of one colour. */
export function photo(width: number, height: number): ReturnType<typeof sharp> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%" fill="#246"/><circle cx="50%" cy="50%" r="20%" fill="#fc3"/></svg>`
  return sharp(Buffer.from(svg))
}

/** Pixels by chance, which no format makes small. */
export function noise(width: number, height: number): ReturnType<typeof sharp> {
  return sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
}

/** All black, one bit for each pixel: a small file whatever its size says. */
export function blackPng(side: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(side)
  head.writeUInt32BE(side, 4)
  head.writeUInt8(1, 8)
  const rows = deflateSync(Buffer.alloc(side * (1 + Math.ceil(side / 8))))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    pngChunk('IHDR', head),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

export function pngChunk(name: string, data: Buffer): Buffer {
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  size.writeUInt32BE(data.length)
  const named = Buffer.concat([Buffer.from(name), data])
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([size, named, sum])
}
