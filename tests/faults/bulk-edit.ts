import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Import, Video } from '@talkshelf/contract'
import { call, type Reply } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { type Fault, type FaultService, startDatabase, startFaultService } from './environment.ts'

// kill -9 of the server in every batch of a bulk edit, while five editors write other fields of the
// same records. Afterwards everything is applied once; after the undo, also with kills, the edited
// fields are as before, and no edit of the five is lost.

const category = 'Edited Days'
const [licenceBefore, licenceAfter] = ['CC BY 3.0', 'CC BY 4.0']
const editorFields = [
  'title',
  'summary',
  'description',
  'quality_notes',
  'whiteboard',
] as const satisfies readonly (keyof Video)[]
/** The engine applies and undoes this many records at a time. */
const batchSize = 100

export const bulkEditKilled: Fault = {
  name: 'kill -9 in every batch of a bulk edit, while others write',
  limitS: { quick: 240, full: 600 },
  async run(environment) {
    const records = environment.quick ? 100 : 2000
    const database = await startDatabase(environment)
    const service = await startFaultService(environment, {
      DATABASE_URL: database.serviceUrl,
      RESUME_SECONDS: '1',
    })
    const { token } = environment
    const send = (method: string, path: string, body?: object) =>
      call(service.url, method, `/api/v2/${path}`, { token, ...(body && { body }) })
    const ids = await createTalks(send, records)
    await slowDown(database.serviceUrl)

    const editors = startEditors(send, ids)
    const edit = {
      filter: { category: 'edited-days' },
      operations: [
        { op: 'set', field: 'copyright_text', value: licenceAfter },
        { op: 'add', field: 'tags', value: 'edited' },
      ],
    }
    const { json, status, text } = await send('POST', 'edit', edit)
    assert.equal(status, 201, text)
    await untilImport(send, json.id, ({ state }) => state === 'planned')
    const kills = await runWithKills(send, service, json.id, 'apply')
    const applied = await untilImport(send, json.id, ({ state }) => state === 'applied')
    assert.equal(applied.outcome.changed, records, 'records that were changed')
    await verify(database.serviceUrl, json.id, records, licenceAfter, 1)

    const undoKills = await runWithKills(send, service, json.id, 'undo')
    const undone = await untilImport(send, json.id, ({ state }) => state === 'undone')
    const edits = await editors.stop()
    assert.deepEqual(undone.undone, { undone: records, touched: 0 })
    await verify(database.serviceUrl, json.id, records, licenceBefore, 2)
    await assertKept(send, edits)
    await checkInvariants(database.serviceUrl)
    return (
      `${records} records edited and restored, ${kills} and ${undoKills} kills, ` +
      `${edits.count} edits by five editors kept`
    )
  },
}

type Send = (method: string, path: string, body?: object) => Promise<Reply>

async function createTalks(send: Send, count: number): Promise<number[]> {
  await send('POST', 'category', { title: category })
  const lines = Array.from({ length: count }, (_, number) => `${number},Talk ${number},old`)
  const table = `key,title,tags,copyright_text\n${lines.join(`,${licenceBefore}\n`)},${licenceBefore}\n`
  const body = { text: table, format: 'csv', name: 'talks.csv', category, language: 'en' }
  const { json, status, text } = await send('POST', 'import', body)
  assert.equal(status, 201, text)
  await untilImport(send, json.id, ({ state }) => state === 'planned')
  await send('POST', `import/${json.id}/apply`)
  await untilImport(send, json.id, ({ state }) => state === 'applied')
  const ids: number[] = []
  for (let page = 1; ids.length < count; page++) {
    const found = await send('GET', `video?category=edited-days&page_size=100&page=${page}`)
    ids.push(...found.json.results.map(({ id }: Video) => id))
  }
  return ids
}

/** Lets a batch take long enough that a kill meets it. */
async function slowDown(databaseUrl: string): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    await query(`
      create function wait_a_moment() returns trigger language plpgsql as $$
      begin
        perform pg_sleep(0.005);
        return new;
      end $$`)
    await query(`
      create trigger wait_a_moment before update of copyright_text on video
      for each row
      when (old.copyright_text is distinct from new.copyright_text)
      execute function wait_a_moment()`)
  })
}

interface Edits {
  readonly count: number
  /** The last value that was accepted, by record and field. */
  readonly values: ReadonlyMap<string, string>
}

/** Starts five editors, each of whom writes one field of random records. */
function startEditors(send: Send, ids: readonly number[]) {
  const values = new Map<string, string>()
  let count = 0
  let isStopped = false
  const write = async (field: (typeof editorFields)[number]) => {
    for (let number = 1; !isStopped; number++) {
      const id = ids[Math.floor(Math.random() * ids.length)] as number
      const value = `${field} ${number}`
      // An answer that is lost may be of a write that was done: it is sent until it is accepted.
      for (let isDone = false; !isDone; ) {
        const reply = await send('PATCH', `video/${id}`, { [field]: value }).catch(() => undefined)
        isDone = reply?.status === 200
        if (!isDone) await sleep(50)
      }
      values.set(`${id} ${field}`, value)
      count++
      await sleep(5)
    }
  }
  const running = Promise.all(editorFields.map(write))
  return {
    async stop(): Promise<Edits> {
      isStopped = true
      await running
      return { count, values }
    },
  }
}

/** Applies or undoes an import, with a kill in each batch. Returns how many there were. */
async function runWithKills(
  send: Send,
  service: FaultService,
  id: number,
  action: 'apply' | 'undo',
): Promise<number> {
  const { rows } = await untilImport(send, id, () => true)
  await send('POST', `import/${id}/${action}`)
  const running = action === 'apply' ? 'applying' : 'undoing'
  const batches = Math.ceil(rows / batchSize)
  let kills = 0
  for (let batch = 0; batch < batches; batch++) {
    const job = await untilImport(send, id, ({ done, state }) => {
      const processed = action === 'apply' ? done : rows - done
      return state !== running || processed >= batch * batchSize
    })
    if (job.state !== running) break
    await sleep(100 + Math.random() * 300)
    await service.kill()
    await service.start()
    kills++
  }
  return kills
}

function untilImport(send: Send, id: number, isExpected: (job: Import) => boolean) {
  return until(
    `the import (${isExpected})`,
    async () => {
      const reply = await send('GET', `import/${id}`).catch(() => undefined)
      if (reply?.status !== 200) return undefined
      assert.notEqual(reply.json.state, 'failed', reply.text)
      return isExpected(reply.json) && (reply.json as Import)
    },
    { limitMs: 240_000 },
  )
}

/** Asserts that the import wrote each record this many times, and what the fields are now. */
async function verify(
  databaseUrl: string,
  id: number,
  records: number,
  licence: string,
  writes: number,
): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    const [found] = await query(
      `select count(*) filter (where copyright_text = $1)::int as licences,
              count(*) filter (where cardinality(tag_ids) = $2)::int as tags
       from video`,
      [licence, writes === 1 ? 2 : 1],
    )
    const [changes] = await query(
      `select count(*)::int as count
       from change
       where subject = 'video' and request_id = 'import ${id}'`,
    )
    assert.deepEqual(found, { licences: records, tags: records })
    assert.equal(changes?.count, records * writes, 'each record is written once')
  })
}

async function assertKept(send: Send, { values }: Edits): Promise<void> {
  for (const [key, value] of values) {
    const [id, field = ''] = key.split(' ')
    const { json } = await send('GET', `video/${id}`)
    assert.equal(json[field], value, `the edit of ${key} was lost`)
  }
}
