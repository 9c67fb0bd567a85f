import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { buildPages } from '../../scripts/build.ts'
import { createToken } from '../../server/auth/auth.ts'
import { exampleCategories, exampleSpeakers, exampleTalks } from '../../server/demo/talks.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { slugify } from '../../server/platform/slug.ts'
import { call, root } from '../support/harness.ts'
import { migratedDatabase, type Postgres, startPostgres } from '../support/postgres.ts'
import { realTalks } from '../support/pyvideo.ts'
import { type LoadedTalks, loadTalks } from '../support/talks.ts'

// A whole archive as readers use it: a private PostgreSQL, talks imported with the real command,
// and the real server in a process of its own.

export interface BrowserArchive {
  readonly url: string
  /** Whether it has the real talks; some tests search for one of them by name. */
  readonly isReal: boolean
  /** Starts another archive, which is empty, and returns a token of an editor. */
  empty(name: string): Promise<EmptyArchive>
  stop(): Promise<void>
}

export interface EmptyArchive {
  readonly url: string
  readonly token: string
  readonly databaseUrl: string
}

export interface BrowserArchiveOptions {
  /** A server that is already running. */
  readonly url?: string | undefined
  /** A file of talks to import instead of the real ones. */
  readonly talks?: string | undefined
}

/**
 * Starts an archive, or uses the one at `url`. Returns at once, so that the caller can stop it
 * whatever happens; `ready` resolves when it can be used.
 */
export function openBrowserArchive({
  url,
  talks,
}: BrowserArchiveOptions): BrowserArchive & { ready: Promise<BrowserArchive> } {
  const children: ChildProcess[] = []
  let postgres: Promise<Postgres> | undefined
  const createDatabase = async (name: string) => {
    await buildPages()
    postgres ??= startPostgres({ version: 15 })
    return migratedDatabase(await postgres, name)
  }
  const startServer = async (database: string) => {
    const { child, url } = await serve(database)
    children.push(child)
    return url
  }
  const file = talks ?? realTalks
  let loaded: LoadedTalks | undefined
  let address = url ?? ''
  const start = async () => {
    if (url !== undefined) return
    if (file !== undefined) {
      await buildPages()
      loaded = await loadTalks(file)
      address = await startServer(loaded.url)
      return
    }
    console.log('The real talks are not available: using the examples of the demo')
    const database = await createDatabase('archive')
    address = await startServer(database)
    await writeExamples(address, await createEditor(database))
  }
  const archive = {
    get url() {
      return address.replace(/\/$/, '')
    },
    isReal: url !== undefined || file !== undefined,
    async empty(name: string) {
      const databaseUrl = await createDatabase(name)
      const url = await startServer(databaseUrl)
      return { url, token: await createEditor(databaseUrl), databaseUrl }
    },
    async stop() {
      for (const child of children) await stopChild(child)
      await loaded?.stop()
      await (await postgres)?.stop()
    },
  }
  const ready = start().then(() => archive)
  return Object.assign(archive, { ready })
}

async function serve(database: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ['server/main.ts', 'serve'], {
    cwd: root,
    env: {
      ...process.env,
      WEBHOOK_KEY: 'the key of webhooks in tests, which is no secret',
      DATABASE_URL: database,
      PORT: '0',
      LOG_LEVEL: 'info',
      DRAIN_SECONDS: '0',
      ANSWER_SECONDS: '30',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.on('exit', () => reject(new Error(`The server ended:\n${output}`)))
    child.stdout.on('data', (data: Buffer) => {
      output = (output + data).slice(-10_000)
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
      if (address) resolve(address)
    })
  })
  return { child, url }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function createEditor(database: string): Promise<string> {
  const pool = openPool({ url: database, connections: 1, applicationName: 'browser' })
  try {
    return (await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })).token
  } finally {
    await pool.close()
  }
}

/** Writes the example talks of the demo. Returns their ids, by key. */
export async function writeExamples(
  url: string,
  token: string,
): Promise<ReadonlyMap<string, number>> {
  const write = async (method: string, path: string, body: object) => {
    const { status, text, json } = await call(url, method, path, { body, token })
    if (status >= 300) throw new Error(text)
    return json
  }
  const post = (path: string, body: object) => write('POST', path, body)
  for (const category of exampleCategories) await post('/api/v2/category', category)
  const ids = new Map<string, number>()
  for (const { key, ...talk } of exampleTalks)
    ids.set(key, (await post('/api/v2/video', { state: 1, ...talk })).id)
  for (const { name, ...profile } of exampleSpeakers)
    await write('PATCH', `/api/v2/speaker/${slugify(name)}`, profile)
  return ids
}
