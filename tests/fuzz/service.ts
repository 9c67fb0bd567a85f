import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { createApp } from '../../server/app.ts'
import { createToken } from '../../server/auth/auth.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { call } from '../support/harness.ts'
import type { TargetService } from './target.ts'

// Runs the service in this process, so that its branches are counted, with a real PostgreSQL.

const talks: readonly Record<string, unknown>[] = [
  {
    title: 'Ten years of tiny queues',
    language: 'English',
    speakers: ['Ada Lovelace', 'Nora Ünal'],
    tags: ['queues', 'async'],
  },
  {
    title: 'Python für Gärten',
    language: 'German',
    speakers: ['Björn Groß'],
    tags: ['gardens'],
    recorded: '2019-05-17',
  },
  {
    title: 'Redes neuronales en la nube',
    language: 'Spanish',
    speakers: ['María José'],
    tags: ['data'],
    recorded: '2020-02-29',
  },
  {
    title: '機械学習入門',
    language: 'Japanese',
    speakers: ['山田 太郎'],
    tags: ['data'],
    recorded: '1999-12-31',
  },
  {
    title: 'State of the art',
    language: 'English',
    speakers: ['Ada Lovelace'],
    tags: ['C++', '.NET'],
    duration: 2700,
  },
  { title: 'A draft', language: 'French', state: 2 },
]

/** Starts the service with a few talks and two tokens. */
export async function startFuzzService(
  databaseUrl: string,
): Promise<TargetService & { close(): Promise<void> }> {
  // A busy machine must not cause timeouts.
  const config = readConfig({ DATABASE_URL: databaseUrl, PORT: '0', ANSWER_SECONDS: '60' })
  const connections = config.DATABASE_CONNECTIONS
  const pool = openPool({
    url: databaseUrl,
    connections,
    applicationName: 'fuzz',
    times: timeoutsFor(config.ANSWER_SECONDS),
  })
  const app = createApp(config, pool, { level: 'error', stream: process.stderr })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const { token: editor } = await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })
  const { token: admin } = await createToken(pool, { name: 'Ada', role: 'admin', days: 1 })
  const url = `http://127.0.0.1:${port}`
  const make = async (path: string, body: unknown) => {
    const { status, text } = await call(url, 'POST', path, { body, token: editor })
    // After a restart of the worker, the category exists already.
    if (status !== 201 && status !== 409) throw new Error(`${path}: ${status} ${text}`)
  }
  await make('/api/v2/category', { title: 'Example Days 2026' })
  for (const talk of talks) {
    const description = `${talk.title}: [a link](https://example.org/), \`code\`.\n\n- one\n- two`
    await make('/api/v2/video', { category: 'Example Days 2026', state: 1, description, ...talk })
  }
  const close = async () => {
    await app.close()
    await pool.close()
  }
  return { port, editor, admin, close }
}

export interface FuzzReply {
  /** 0 if the connection was closed without a response. */
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/**
 * Sends raw bytes. Closes the connection soon if they may be an incomplete request, which gets no
 * response.
 */
export function sendBytes(port: number, bytes: Buffer, isComplete = true): Promise<FuzzReply> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    // Not part of the test: only ends the wait for more data.
    let closing = setTimeout(() => socket.end(), isComplete ? 90_000 : 30)
    const giveUp = setTimeout(() => socket.destroy(new Error('No response in 100 s')), 100_000)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (isComplete) return
      clearTimeout(closing)
      closing = setTimeout(() => socket.end(), 10)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server that refuses a request before it was sent completely resets the connection.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => {
      clearTimeout(closing)
      clearTimeout(giveUp)
      resolve(parseReply(Buffer.concat(chunks)))
    })
    socket.write(bytes)
  })
}

function parseReply(bytes: Buffer): FuzzReply {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.toString('latin1', 0, Math.max(0, end)).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
  const length = Number(headers.get('content-length') ?? bytes.length)
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0),
    headers,
    body: bytes.subarray(end + 4, end + 4 + length),
  }
}
