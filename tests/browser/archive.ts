import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { buildPages } from '../../scripts/build.ts'
import { createToken } from '../../server/auth/auth.ts'
import { exampleCategories, exampleTalks } from '../../server/demo/talks.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { call, root } from '../support/harness.ts'
import { migratedDatabase, type Postgres, startPostgres } from '../support/postgres.ts'
import { realTalks } from '../support/pyvideo.ts'
import { type LoadedTalks, loadTalks } from '../support/talks.ts'

// The whole entity as readers find it: a PostgreSQL of our own, the talks loaded with the real
// command, the real server as a process.

export interface BrowserArchive {
  readonly url: string
  /** Whether the real talks are there: what is looked for by name is among them. */
  readonly isReal: boolean
  /** Another archive, empty, and a token of an editor. */
  empty(): Promise<{ readonly url: string; readonly token: string }>
  stop(): Promise<void>
}

export interface BrowserArchiveOptions {
  /** A server that is there already. */
  readonly url?: string | undefined
  /** A file of talks in the place of the real ones. */
  readonly talks?: string | undefined
}

export function openBrowserArchive({
  url,
  talks,
}: BrowserArchiveOptions): BrowserArchive & { ready: Promise<BrowserArchive> } {
  const children: ChildProcess[] = []
  let postgres: Promise<Postgres> | undefined
  const ours = async (name: string) => {
    await buildPages()
    postgres ??= startPostgres({ version: 15 })
    return migratedDatabase(await postgres, name)
  }
  const served = async (database: string) => {
    const { child, url } = await serve(database)
    children.push(child)
    return url
  }
  const file = talks ?? realTalks
  let loaded: LoadedTalks | undefined
  let address = url ?? ''
  const begin = async () => {
    if (url !== undefined) return
    if (file !== undefined) {
      await buildPages()
      loaded = await loadTalks(file)
      address = await served(loaded.url)
      return
    }
    console.log('The real talks are not here: the examples of the demo take their place')
    const database = await ours('archive')
    address = await served(database)
    await writeExamples(address, await editor(database))
  }
  const archive = {
    get url() {
      return address.replace(/\/$/, '')
    },
    isReal: url !== undefined || file !== undefined,
    async empty() {
      const database = await ours('empty')
      return { url: await served(database), token: await editor(database) }
    },
    async stop() {
      for (const child of children) await ended(child)
      await loaded?.stop()
      await (await postgres)?.stop()
    },
  }
  const ready = begin().then(() => archive)
  return Object.assign(archive, { ready })
}

async function serve(database: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ['server/main.ts', 'serve'], {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: database,
      PORT: '0',
      LOG_LEVEL: 'info',
      DRAIN_SECONDS: '0',
      ANSWER_SECONDS: '30',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.on('exit', () => reject(new Error(`The server ended:\n${said}`)))
    child.stdout.on('data', (data: Buffer) => {
      said = (said + data).slice(-10_000)
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
      if (address) resolve(address)
    })
  })
  return { child, url }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function editor(database: string): Promise<string> {
  const pool = openPool({ url: database, connections: 1, applicationName: 'browser' })
  try {
    return (await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })).token
  } finally {
    await pool.close()
  }
}

async function writeExamples(url: string, token: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const { status, text } = await call(url, 'POST', path, { body, token })
    if (status !== 201) throw new Error(text)
  }
  for (const category of exampleCategories) await post('/api/v2/category', category)
  for (const { key: _, ...talk } of exampleTalks) await post('/api/v2/video', { state: 1, ...talk })
}
