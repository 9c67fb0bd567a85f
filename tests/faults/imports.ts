import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { applyImport, beginImport, openInput, readImport } from '../../server/imports/imports.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { realTalks } from '../support/pyvideo.ts'
import { until } from '../support/until.ts'
import { type Fault, type FaultService, startDatabase, startFaultService } from './environment.ts'

// kill -9 of the server that applies an import, several times: afterwards everything is written as
// planned, and nothing is written twice.

export const importKilled: Fault = {
  name: 'kill -9 in the middle of an import',
  limitS: { quick: 600, full: 900 },
  async run(environment) {
    const database = await startDatabase(environment)
    const pool = openPool({ url: database.serviceUrl, connections: 4, applicationName: 'faults' })
    environment.atEnd(() => pool.close())
    const service = await startFaultService(environment, {
      DATABASE_URL: database.serviceUrl,
      RESUME_SECONDS: '1',
    })
    const real = environment.quick ? undefined : realTalks
    const kills = environment.quick ? 4 : 20

    const first = await plan(pool, real ? { path: real } : exampleFile(1200, 'First'))
    const created = await apply(pool, service, first, kills)
    await verify(database.serviceUrl, first, created, 1)
    if (real) return `${created} real talks created, ${kills} kills, each written once`

    const second = await plan(pool, exampleFile(1200, 'Second'))
    const changed = await apply(pool, service, second, kills)
    await verify(database.serviceUrl, second, changed, 2)
    return `${created} talks created and ${changed} changed, ${kills} kills each, each written once`
  },
}

function exampleFile(
  count: number,
  word: string,
): { stream: AsyncIterable<Uint8Array>; name: string } {
  const lines = Array.from(
    { length: count },
    (_, number) => `${number},${word} talk ${number},Speaker ${number % 97};Speaker ${number % 13}`,
  )
  return { stream: bytesOf(`key,title,speakers\n${lines.join('\n')}\n`), name: 'generated.csv' }
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

async function plan(pool: Pool, input: Parameters<typeof openInput>[0]): Promise<number> {
  const origin = {
    actor: { role: 'editor' as const, name: 'Edith', token: null },
    via: 'command' as const,
    request: 'faults',
  }
  const name = 'path' in input ? input.path : input.name
  const { id, planned } = await beginImport(
    pool,
    { name, open: () => openInput(input), category: 'Made up', language: 'en' },
    origin,
  )
  await planned
  return id
}

/**
 * Applies an import, with kills at random moments from its beginning to its end. Returns how many
 * talks were written.
 */
async function apply(
  pool: Pool,
  service: FaultService,
  id: number,
  kills: number,
): Promise<number> {
  await applyImport(pool, id, 'editor')
  let done = 0
  for (let number = 1; number <= kills; number++) {
    const progress = await untilImport(
      pool,
      id,
      (job) => job.done >= (job.rows * number) / (kills + 1) - job.rows / (2 * kills),
    )
    assert.equal(progress.state, 'applying', `the state of the import before kill ${number}`)
    assert.ok(progress.done >= done, 'the import went back')
    ;({ done } = progress)
    await sleep(Math.random() * 150)
    await service.kill()
    await service.start()
  }
  const { outcome } = await untilImport(pool, id, ({ state }) => state === 'applied')
  return (outcome.created ?? 0) + (outcome.changed ?? 0)
}

function untilImport(
  pool: Pool,
  id: number,
  isExpected: (job: Awaited<ReturnType<typeof readImport>>) => boolean,
) {
  return until(
    `the import (${isExpected})`,
    async () => {
      const job = await readImport(pool, id)
      return isExpected(job) && job
    },
    { limitMs: 240_000 },
  )
}

async function verify(
  databaseUrl: string,
  id: number,
  written: number,
  revision: number,
): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    const [rows] = await query(`
      select count(distinct video_id)::int as records,
             count(*) filter (where outcome is null)::int as left_over,
             count(*) filter (
               where verdict <> 'refused' and item->'fields'->>'title' is distinct from title
             )::int as wrong,
             count(*) filter (
               where outcome in ('created', 'changed') and video.revision <> ${revision}
             )::int as twice
      from import_row
      left join video on video.id = video_id
      where import_id = ${id}`)
    const [changes] = await query(`
      select count(*)::int as changes
      from change
      where subject = 'video' and request_id = 'import ${id}'`)
    const [all] = await query('select count(*)::int as videos from video')
    const { left_over: leftOver, wrong, twice, records } = rows as Record<string, number>
    assert.deepEqual({ leftOver, twice }, { leftOver: 0, twice: 0 })
    assert.equal((changes as Record<string, number>).changes, written, 'one change for each talk')
    assert.equal(records, (all as Record<string, number>).videos, 'only planned records')
    // Titles are normalized when they are written; those of the example file already are.
    if (revision === 2) assert.equal(wrong, 0)
  })
  await checkInvariants(databaseUrl)
}
