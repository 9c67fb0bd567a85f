import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Video } from '@talkshelf/contract'
import { createApp } from '../../server/app.ts'
import { createToken } from '../../server/auth/auth.ts'
import { basePathOf, parseReplicaUrls, readConfig } from '../../server/config.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import type { GuardOptions } from '../../server/platform/net/guard.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { readSite } from '../../server/site/site.ts'
import { freshDatabase } from './database.ts'

// A whole archive for a test: the real app over HTTP, with a PostgreSQL database of its own.

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The `talkshelf` command. */
export const program = process.env.TEST_PROGRAM ?? 'server/main.ts'

/**
 * A machine that stalls for seconds must not fail a test. Tests of limits set their own.
 * Maintenance runs only if a test starts it.
 */
const defaults = {
  ANSWER_SECONDS: '30',
  MAINTENANCE_HOURS: '0',
  WEBHOOK_KEY: 'the key of webhooks in tests, which is no secret',
}

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  /** The bytes of the body, one character each. */
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test fails if the value is not what it expects
  json: any
}

export interface CallOptions {
  /** Sent as JSON; a Buffer as a file. */
  body?: unknown
  /** Sent without conversion. */
  raw?: Buffer | string
  token?: string
  headers?: Record<string, string>
}

export interface TestArchive {
  app: ReturnType<typeof createApp>
  url: string
  databaseUrl: string
  pool: Pool
  editor: string
  admin: string
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  /** Creates a live record in the example category, and returns it. */
  make(fields?: Partial<Video>): Promise<Video>
}

export const category = 'Example Days 2026'

/** An archive that the caller must close. */
export interface OpenArchive extends TestArchive {
  close(): Promise<void>
}

/** Starts an archive that ends with the test file. To be called once, at the top of the file. */
export async function startArchive(
  environment: Record<string, string> = {},
  hosts: GuardOptions = {},
): Promise<TestArchive> {
  const database = await freshDatabase()
  const archive = await openArchive(database.url, environment, hosts)
  after(async () => {
    await archive.close()
    await database.drop()
  })
  return archive
}

/**
 * Runs the app on a database until it is closed. It can be opened again on the same database.
 * `hosts` opens servers of the test to downloads.
 */
export async function openArchive(
  databaseUrl: string,
  environment: Record<string, string> = {},
  hosts: GuardOptions = {},
): Promise<OpenArchive> {
  const config = readConfig({ DATABASE_URL: databaseUrl, PORT: '0', ...defaults, ...environment })
  const times = timeoutsFor(config.ANSWER_SECONDS)
  // On a busy machine a search must not take the shorter way, which finds less.
  const patient = environment.ANSWER_SECONDS ? {} : { patienceMs: 0.9 * times.searchMs }
  const pool = openPool({
    url: databaseUrl,
    replicaUrls: parseReplicaUrls(config.REPLICA_URLS),
    connections: config.DATABASE_CONNECTIONS,
    applicationName: 'tests',
    times: { ...times, ...patient },
  })
  const site = await readSite(config.SITE_DIR, basePathOf(config))
  // The cause of an internal error is only logged.
  const printInternal = (line: string) => {
    if (line.includes('"msg":"internal"')) process.stderr.write(line)
  }
  const logger = { level: 'error', stream: { write: printInternal } }
  const app = createApp(config, pool, logger, hosts, undefined, site)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const { token: editor } = await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })
  const { token: admin } = await createToken(pool, { name: 'Ada', role: 'admin', days: 1 })
  const send = (method: string, path: string, options?: CallOptions) =>
    call(url, method, path, options, agent)
  const base = new URL(config.PUBLIC_URL || url).pathname.replace(/\/$/, '')
  await send('POST', `${base}/api/v2/category`, { body: { title: category }, token: editor })
  return {
    app,
    url,
    databaseUrl,
    pool,
    editor,
    admin,
    call: send,
    async make(fields = {}) {
      const body = { title: 'A talk', category, language: 'English', state: 1, ...fields }
      const reply = await send('POST', `${base}/api/v2/video`, { body, token: editor })
      if (reply.status !== 201) throw new Error(reply.text)
      return reply.json
    },
    async close() {
      agent.destroy()
      await app.close()
      await pool.close()
    },
  }
}

/** Sends a request and reads the whole response; of a stream of events only the first ones. */
export function call(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
  agent?: Agent,
): Promise<Reply> {
  const file = Buffer.isBuffer(options.body) ? options.body : undefined
  const payload =
    options.raw ?? file ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const headers: Record<string, string> = { ...options.headers }
  if (payload !== undefined) headers['content-length'] = String(Buffer.byteLength(payload))
  if (payload !== undefined && !('content-type' in headers))
    headers['content-type'] = file ? 'application/octet-stream' : 'application/json'
  if (options.token !== undefined) headers.authorization = `Token ${options.token}`
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const outgoing = httpRequest(
      { agent, hostname, port, method, path, headers, timeout: 60_000 },
      (response) => {
        const chunks: Buffer[] = []
        const finish = () => {
          const text = Buffer.concat(chunks).toString('latin1')
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: parseJson(text),
          })
        }
        const hasNoEnd = response.headers['content-type'] === 'text/event-stream'
        response.on('data', (chunk) => {
          chunks.push(chunk)
          if (!hasNoEnd) return
          finish()
          outgoing.destroy()
        })
        response.on('error', reject)
        response.on('end', finish)
      },
    )
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(`No response in 60 s: ${method} ${path}`)),
    )
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}

export interface Server {
  url: string
  process: ChildProcess
  /** Returns the end of what it has printed. */
  output(): string
  stop(): Promise<void>
}

/** Starts the real server, or another one, in a process that ends with the test file. */
export async function spawnServer(
  environment: Record<string, string>,
  command?: string[],
): Promise<Server> {
  const server = await startServer(environment, command)
  after(server.stop)
  return server
}

/** Starts the real server, or another one, in a process that the caller must stop. */
export async function startServer(
  environment: Record<string, string>,
  command = [program, 'serve'],
): Promise<Server> {
  const child = spawn(process.execPath, command, {
    cwd: root,
    env: {
      ...process.env,
      PORT: '0',
      LOG_LEVEL: 'info',
      DRAIN_SECONDS: '0',
      ...defaults,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.on('exit', () => reject(new Error(`The server ended:\n${output}`)))
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => {
        output = (output + data.toString()).slice(-10_000)
        const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
        if (address) resolve(address)
      })
  })
  return { url, process: child, output: () => output, stop }
}

/** Runs the real command to its end, with `input` on its standard input. */
export async function runCommand(
  args: string[],
  environment: Record<string, string>,
  input = '',
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: { ...process.env, ...defaults, ...environment },
  })
  let [stdout, stderr] = ['', '']
  // Most commands end without reading it.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  child.stdout.on('data', (data) => (stdout += data))
  child.stderr.on('data', (data) => (stderr += data))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
