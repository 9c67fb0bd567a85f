import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Video } from '@talkshelf/contract'
import { createApp } from '../../server/app.ts'
import { createToken } from '../../server/auth/auth.ts'
import { readConfig } from '../../server/config.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { freshDatabase } from './database.ts'

// A whole archive for a test: the real app, its own PostgreSQL database, real HTTP.

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The `talkshelf` command. */
export const program = process.env.TEST_PROGRAM ?? 'server/main.ts'

/**
 * A machine that stands still for seconds, as shared ones do, shall not look like a fault. Tests of
 * limits set their own. Maintenance runs where a test asks for it.
 */
const patient = { ANSWER_SECONDS: '30', MAINTENANCE_HOURS: '0' }

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  /** The bytes of the body, one character each. */
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came, and fail where it is something else
  json: any
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is. */
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
  /** Makes a live record and returns it; its category is there. */
  make(fields?: Partial<Video>): Promise<Video>
}

export const category = 'Example Days 2026'

/** An archive that the caller closes. */
export interface OpenArchive extends TestArchive {
  close(): Promise<void>
}

/** To be called once at the top of a test file; everything ends with the file. */
export async function startArchive(environment: Record<string, string> = {}): Promise<TestArchive> {
  const database = await freshDatabase()
  const archive = await openArchive(database.url, environment)
  after(async () => {
    await archive.close()
    await database.drop()
  })
  return archive
}

/** Runs the app on this database until it is closed. May be opened again on the same database. */
export async function openArchive(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<OpenArchive> {
  const config = readConfig({ DATABASE_URL: databaseUrl, PORT: '0', ...patient, ...environment })
  const times = timeoutsFor(config.ANSWER_SECONDS)
  const pool = openPool({
    url: databaseUrl,
    connections: config.DATABASE_CONNECTIONS,
    applicationName: 'tests',
    times,
  })
  const app = createApp(config, pool, false)
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

export function call(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
  agent?: Agent,
): Promise<Reply> {
  const payload =
    options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const headers: Record<string, string> = { ...options.headers }
  if (payload !== undefined) headers['content-length'] = String(Buffer.byteLength(payload))
  if (payload !== undefined && !('content-type' in headers))
    headers['content-type'] = 'application/json'
  if (options.token !== undefined) headers.authorization = `Token ${options.token}`
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const outgoing = httpRequest(
      { agent, hostname, port, method, path, headers, timeout: 60_000 },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('latin1')
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: parsed(text),
          })
        })
      },
    )
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(`No answer in 60 s: ${method} ${path}`)),
    )
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}

export interface Server {
  url: string
  process: ChildProcess
  stop(): Promise<void>
}

/**
 * The real command, or another program that serves, in a process of its own; it ends with the file.
 */
export async function spawnServer(
  environment: Record<string, string>,
  command?: string[],
): Promise<Server> {
  const server = await startServer(environment, command)
  after(server.stop)
  return server
}

/** The real command, or another program that serves, in a process that the caller ends. */
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
      ...patient,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.on('exit', () => reject(new Error(`The server ended:\n${said}`)))
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => {
        said = (said + data.toString()).slice(-10_000)
        const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
        if (address) resolve(address)
      })
  })
  return { url, process: child, stop }
}

/** Runs the real command to its end, with this on its standard input. */
export async function runCommand(
  args: string[],
  environment: Record<string, string>,
  input = '',
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: { ...process.env, ...patient, ...environment },
  })
  let [stdout, stderr] = ['', '']
  // Most commands end without having read it.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  child.stdout.on('data', (data) => (stdout += data))
  child.stderr.on('data', (data) => (stderr += data))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
