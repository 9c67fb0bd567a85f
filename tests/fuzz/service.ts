import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { createApp } from '../../server/app.ts'
import { createToken } from '../../server/auth/auth.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { call } from '../support/harness.ts'
import type { TargetService } from './target.ts'

// The real service in this process, so that its branches are counted, on a real PostgreSQL.

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

export async function startFuzzService(
  databaseUrl: string,
): Promise<TargetService & { close(): Promise<void> }> {
  // A stalling machine must not look like a fault.
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
    // A worker that takes over finds the category there.
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
  /** 0 where the connection was closed without one. */
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** Sends bytes as they are. Unless they are a whole request, closes the connection soon. */
export function sendBytes(port: number, bytes: Buffer, isWhole = true): Promise<FuzzReply> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    // Not a judgement: it only says when to stop waiting for what never comes.
    let closing = setTimeout(() => socket.end(), isWhole ? 90_000 : 30)
    const giveUp = setTimeout(() => socket.destroy(new Error('No answer in 100 s')), 100_000)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (isWhole) return
      clearTimeout(closing)
      closing = setTimeout(() => socket.end(), 10)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server that refuses while we still write resets the connection.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => {
      clearTimeout(closing)
      clearTimeout(giveUp)
      resolve(answerIn(Buffer.concat(chunks)))
    })
    socket.write(bytes)
  })
}

function answerIn(bytes: Buffer): FuzzReply {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.toString('latin1', 0, Math.max(0, end)).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const
    }),
  )
  const length = Number(headers.get('content-length') ?? bytes.length)
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0),
    headers,
    body: bytes.subarray(end + 4, end + 4 + length),
  }
}
