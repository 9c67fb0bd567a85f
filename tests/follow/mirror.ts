import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Fault,
  type FaultEnvironment,
  type FaultProgram,
  launch,
  startDatabase,
  startFaultService,
  system,
} from '../faults/environment.ts'
import { digestOf, type FeedState } from '../support/feed-replay.ts'
import { call } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { assertSameResponses } from '../support/mirror-responses.ts'
import { until } from '../support/until.ts'
import { startEditors } from './editors.ts'

// Mirrors in a folder and in a database, while editors change the archive: killed again and again,
// and followed through a restore of the archive from an older backup. In the end they are equal.

export const mirrorUnderKills: Fault = {
  name: 'mirror: kills and a restore of the archive',
  limitS: { quick: 180, full: 1800 },
  async run(environment) {
    const { quick, token } = environment
    const kills = quick ? 8 : 30
    const data = join(environment.dir, 'source')
    const database = await startDatabase(environment, { data })
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const copyDatabase = await startDatabase(environment, { data: join(environment.dir, 'copy') })
    const folder = join(environment.dir, 'mirror')
    const mirrors = [
      openMirror(environment, service.url, [folder], {}),
      openMirror(environment, service.url, ['--database'], {
        DATABASE_URL: copyDatabase.serviceUrl,
      }),
    ]
    let [edits, killed] = [0, 0]

    /** Kills the mirrors at random moments while editors work. */
    async function killMirrors(times: number): Promise<void> {
      const editors = startEditors(service.url, token)
      for (let kill = 0; kill < times; kill++)
        for (const mirror of mirrors) {
          await sleep(300 + Math.random() * 1200)
          await mirror.kill()
          mirror.start()
          killed++
        }
      edits += await editors.stop()
    }

    for (const mirror of mirrors) mirror.start()
    await killMirrors(kills)

    // A backup, more changes that the mirrors see, and the restore of the backup.
    const backup = join(environment.dir, 'backup')
    await stopped(async () => system('cp', '-a', data, backup))
    await killMirrors(Math.ceil(kills / 4))
    await mirrorsCaughtUp()
    await stopped(async () => {
      rmSync(data, { recursive: true })
      system('mv', backup, data)
    })
    await killMirrors(Math.ceil(kills / 4))

    async function stopped(work: () => Promise<void>): Promise<void> {
      await service.stop()
      await database.stop()
      await work()
      await database.start()
      await service.start()
    }

    async function mirrorsCaughtUp(): Promise<void> {
      await until(
        'the mirrors to have all changes',
        async () => {
          const [waiting] = await withDatabase(database.serviceUrl, (query) =>
            query('select count(*)::int as jobs from rename_job'),
          )
          const { json } = await call(service.url, 'GET', '/api/v2/changes?since=now')
          const [row] = await withDatabase(copyDatabase.serviceUrl, (query) =>
            query('select cursor from mirror'),
          )
          const state = JSON.parse(readFileSync(join(folder, 'mirror.json'), 'utf8'))
          return waiting?.jobs === 0 && row?.cursor === json.cursor && state.cursor === json.cursor
        },
        { limitMs: 120_000, pauseMs: 200 },
      )
    }

    await mirrorsCaughtUp()
    for (const mirror of mirrors) await mirror.kill()
    const reader = await startFaultService(environment, { DATABASE_URL: copyDatabase.serviceUrl })
    const responses = await assertSameResponses({
      url: service.url,
      databaseUrl: database.serviceUrl,
      mirrorUrl: reader.url,
    })
    const files = filesOf(folder)
    const { json } = await call(service.url, 'GET', '/api/v2/changes?since=now')
    assert.equal(digestOf(files), json.cursor.split('.')[1], 'the digest of the folder')
    const restores = mirrors.map((mirror) => mirror.output().match(/restored from/g)?.length ?? 0)
    assert.ok(
      restores.every((count) => count > 0),
      'each mirror noticed the restore',
    )
    return (
      `${edits} edits, ${killed} kills, 1 restore: 0 differences in ${responses} responses and ` +
      `${files.size} files`
    )
  },
}

interface Mirror {
  start(): void
  kill(): Promise<void>
  output(): string
}

/** Runs `talkshelf mirror` again and again. */
function openMirror(
  environment: FaultEnvironment,
  url: string,
  args: string[],
  variables: Record<string, string>,
): Mirror {
  const log = `mirror${args[0] === '--database' ? '-database' : ''}.log`
  let running: FaultProgram | undefined
  return {
    start() {
      running = launch(environment, [process.execPath, 'server/main.ts', 'mirror', url, ...args], {
        log,
        variables: { ...process.env, ...variables },
      })
    },
    async kill() {
      const { exitCode = null } = running?.child ?? {}
      assert.equal(exitCode, null, `The mirror ended by itself:\n${this.output().slice(-2000)}`)
      running?.child.kill('SIGKILL')
      await running?.exited
    },
    output: () => readFileSync(join(environment.dir, log), 'utf8'),
  }
}

/** Reads all files of a copy. */
export function filesOf(folder: string): FeedState {
  return new Map(
    ['category', 'speaker', 'tag', 'video'].flatMap((kind) =>
      readdirSync(join(folder, kind)).map((name) => [
        `${kind}:${name.replace('.json', '')}`,
        JSON.parse(readFileSync(join(folder, kind, name), 'utf8')),
      ]),
    ),
  )
}
