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

// For tests of pictures: an image server, and a server with the picture routes that may fetch from
// the image server only.

export type PictureReply = (response: ServerResponse, request: IncomingMessage) => unknown

export interface ImageServer {
  url: string
  port: number
  /** The requests that were received. */
  requests: IncomingMessage[]
  countOf(path: string): number
  /** Sets the response for a path. Returns its URL. */
  at(path: string, reply: PictureReply | Buffer): string
  maxAtOnce(): number
}

/** Starts an image server that ends with the test file. */
export async function startImageServer(): Promise<ImageServer> {
  const replies = new Map<string, PictureReply | Buffer>()
  const requests: IncomingMessage[] = []
  let [atOnce, maxAtOnce] = [0, 0]
  const server = createServer((request, response) => {
    requests.push(request)
    maxAtOnce = Math.max(maxAtOnce, ++atOnce)
    response.on('close', () => atOnce--)
    response.on('error', () => {})
    const reply = replies.get(request.url ?? '')
    if (reply === undefined) response.writeHead(404).end()
    else if (Buffer.isBuffer(reply)) response.end(reply)
    else reply(response, request)
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
    requests,
    countOf: (path) => requests.filter(({ url }) => url === path).length,
    at(path, reply) {
      replies.set(path, reply)
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

/** Starts a server with the picture routes that ends with the test file. */
export async function startPictures(
  { pool }: TestArchive,
  images: ImageServer,
  options: Partial<PictureOptions> = {},
): Promise<PictureServer> {
  const warnings: string[] = []
  const allowed = {
    ports: [80, images.port],
    isAllowed: (ip: string, port: number) => ip === '127.0.0.1' && port === images.port,
  }
  const pictures = openPictures({
    fetchImage: (address, signal) =>
      fetchImage(address, { ...allowed, userAgent: 'Talkshelf/test', signal }),
    findUploaded: async () => undefined,
    siteName: 'Talkshelf',
    cacheBytes: 2 ** 25,
    folder: '',
    folderBytes: 2 ** 30,
    log: { warn: (_, message) => warnings.push(message), debug: () => {} },
    // Generous, because the machine may be busy; tests of the timeout set their own.
    limits: { patienceMs: 15_000 },
    ...options,
  })
  const bodies = openRecordCache(pool.lookups, 0, () => {})
  const { url, close } = await serveOnly([], ({ http, mountPage }) =>
    pictureRoutes(http, mountPage, pool, bodies, pictures),
  )
  return {
    url,
    warnings,
    get: (path, headers = {}) => call(url, 'GET', path, { headers }),
    stop: close,
  }
}

/** Creates a picture of two colours. */
export function photo(width: number, height: number): ReturnType<typeof sharp> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="100%" height="100%" fill="#246"/>
    <circle cx="50%" cy="50%" r="20%" fill="#fc3"/>
  </svg>`
  return sharp(Buffer.from(svg))
}

/** Creates a picture of random pixels, which no format compresses well. */
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

/** Creates an animation of two frames. */
export async function animated(format: 'gif' | 'webp'): Promise<Buffer> {
  const frames = await Promise.all(['#f00', '#0f0'].map((background) => frameOf(background)))
  return sharp(frames, { join: { animated: true } })
    .toFormat(format)
    .toBuffer()
}

const frameOf = (background: string) =>
  sharp({ create: { width: 32, height: 32, channels: 3, background } })
    .png()
    .toBuffer()

/** Creates a black PNG with one bit per pixel: a small file for any number of pixels. */
export function blackPng(side: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side)
  header.writeUInt32BE(side, 4)
  header.writeUInt8(1, 8)
  const rows = deflateSync(Buffer.alloc(side * (1 + Math.ceil(side / 8))))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** Creates a chunk of a PNG file, with its length and checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  const content = Buffer.concat([Buffer.from(type), data])
  checksum.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, checksum])
}
