import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { applyImport, beginImport, openInput, readImport } from '../../server/imports/imports.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { realTalks } from '../support/pyvideo.ts'
import { type Fault, type FaultService, startDatabase, startFaultService } from './stage.ts'

// kill -9 of the server that applies an import, again and again: afterwards everything is as it was
// planned, and nothing was written twice.

export const importKilled: Fault = {
  name: 'kill -9 in the middle of an import',
  limitS: { quick: 240, full: 900 },
  async run(stage) {
    const database = await startDatabase(stage)
    const pool = openPool({ url: database.serviceUrl, connections: 4, applicationName: 'faults' })
    stage.atEnd(() => pool.close())
    const service = await startFaultService(stage, {
      DATABASE_URL: database.serviceUrl,
      RESUME_SECONDS: '1',
    })
    const real = stage.quick ? undefined : realTalks
    const kills = stage.quick ? 4 : 20

    const first = await planned(pool, real ? { path: real } : made(1200, 'First'))
    const created = await applied(pool, service, first, kills)
    await verify(database.serviceUrl, first, created, 1)
    if (real) return `${created} real talks created, ${kills} kills, each written once`

    const second = await planned(pool, made(1200, 'Second'))
    const changed = await applied(pool, service, second, kills)
    await verify(database.serviceUrl, second, changed, 2)
    return `${created} talks created and ${changed} changed, ${kills} kills each, each written once`
  },
}

function made(count: number, word: string): { stream: AsyncIterable<Uint8Array>; name: string } {
  const lines = Array.from(
    { length: count },
    (_, number) => `${number},${word} talk ${number},Speaker ${number % 97};Speaker ${number % 13}`,
  )
  return { stream: bytesOf(`key,title,speakers\n${lines.join('\n')}\n`), name: 'made.csv' }
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

async function planned(pool: Pool, given: Parameters<typeof openInput>[0]): Promise<number> {
  const origin = {
    actor: { role: 'editor' as const, name: 'Edith', token: null },
    via: 'command' as const,
    request: 'faults',
  }
  const name = 'path' in given ? given.path : given.name
  const { id, planned } = await beginImport(
    pool,
    { name, open: () => openInput(given), category: 'Made up', language: 'en' },
    origin,
  )
  await planned
  return id
}

/**
 * Applies it, with kills spread over the way at moments that nobody chose. Tells how many talks
 * were written.
 */
async function applied(
  pool: Pool,
  service: FaultService,
  id: number,
  kills: number,
): Promise<number> {
  await applyImport(pool, id, 'editor')
  let done = 0
  for (let number = 1; number <= kills; number++) {
    const it = await until(
      pool,
      id,
      (now) => now.done >= (now.rows * number) / (kills + 1) - now.rows / (2 * kills),
    )
    assert.equal(
      it.state,
      'applying',
      `the import was ${it.state} before kill ${number}: nothing was left to be killed`,
    )
    assert.ok(it.done >= done, 'it went back')
    ;({ done } = it)
    await sleep(Math.random() * 150)
    await service.kill()
    await service.start()
  }
  const { outcome } = await until(pool, id, ({ state }) => state === 'applied')
  return (outcome.created ?? 0) + (outcome.changed ?? 0)
}

async function until(
  pool: Pool,
  id: number,
  isSo: (it: Awaited<ReturnType<typeof readImport>>) => boolean,
) {
  for (let tries = 0; tries < 12_000; tries++) {
    const it = await readImport(pool, id)
    if (isSo(it)) return it
    await sleep(20)
  }
  throw new Error('the import does not go on')
}

async function verify(
  databaseUrl: string,
  id: number,
  written: number,
  revision: number,
): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    const [rows] = await query(`
      select count(*)::int as rows, count(*) filter (where outcome in ('created', 'changed'))::int as written, count(distinct video_id)::int as records,
             count(*) filter (where outcome is null)::int as left_over, count(*) filter (where verdict <> 'refused' and draft->'fields'->>'title' is distinct from title)::int as wrong,
             count(*) filter (where outcome in ('created', 'changed') and video.revision <> ${revision})::int as twice
      from import_row left join video on video.id = video_id where import_id = ${id}`)
    const [changes] = await query(
      `select count(*)::int as changes from change where subject = 'video' and request_id = 'import ${id}'`,
    )
    const [all] = await query('select count(*)::int as videos from video')
    const { left_over: leftOver, wrong, twice, records } = rows as Record<string, number>
    assert.deepEqual({ leftOver, twice }, { leftOver: 0, twice: 0 })
    assert.equal((changes as Record<string, number>).changes, written, 'one change for each talk')
    assert.equal(records, (all as Record<string, number>).videos, 'no record that nobody planned')
    // Titles are tidied when they are written: only of the made-up ones it is known that nothing
    // was to tidy.
    if (revision === 2) assert.equal(wrong, 0)
  })
  await checkInvariants(databaseUrl)
}
