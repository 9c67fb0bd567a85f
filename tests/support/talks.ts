import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from './harness.ts'
import { migratedDatabase, startPostgres } from './postgres.ts'

// Imports talks into a database with the real command.

export interface LoadedTalks {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Imports the talks of a file into a new database, or uses that of TALKS_DATABASE_URL, into which
 * they were imported before (`with-talks.ts`).
 */
export async function loadTalks(file: string): Promise<LoadedTalks> {
  const loaded = process.env.TALKS_DATABASE_URL
  if (loaded) return { url: loaded, stop: async () => {} }
  const postgres = await startPostgres({ version: 15 })
  try {
    const url = await migratedDatabase(postgres, 'talks')
    await load(url, file)
    return { url, stop: () => postgres.stop() }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function load(url: string, file: string): Promise<void> {
  const startedMs = performance.now()
  const child = spawn(process.execPath, ['server/main.ts', 'import', file, '--apply', '--yes'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: url, ANSWER_SECONDS: '30' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output = (output + data).slice(-3000)))
  const [code] = await once(child, 'close')
  // 4: some talks were skipped, and the output lists them.
  if (code !== 0 && code !== 4) throw new Error(`talkshelf import ended with ${code}:\n${output}`)
  console.log(`The talks were imported in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}
