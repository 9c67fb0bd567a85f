import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import fc from 'fast-check'
import { createToken } from '../../server/auth/auth.ts'
import { type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Five editors decide the same suggestions at the same time, while others edit the talks: each
// suggestion is decided once, and nothing that was accepted or edited is lost.

const archive = await startArchive()
const { call, make, pool, databaseUrl } = archive
const seed = Number(process.env.SUGGESTION_SEED ?? 20_261_118)
const runs = Number(process.env.SUGGESTION_RUNS ?? 5)
const editors = await Promise.all(
  [1, 2, 3, 4, 5].map(async (number) => {
    const name = `Editor ${number}`
    return { name, ...(await createToken(pool, { name, role: 'editor', days: 1 })) }
  }),
)

const suggestionsPerTalk = 6
/** What an editor does: decides a suggestion, or edits the talk itself. */
interface Step {
  readonly editor: number
  readonly action: 'accept' | 'decline' | 'reopen' | 'edit'
  readonly suggestion: number
}
const step: fc.Arbitrary<Step> = fc.record({
  editor: fc.nat({ max: 4 }),
  action: fc.constantFrom('accept', 'accept', 'decline', 'reopen', 'edit'),
  suggestion: fc.nat({ max: suggestionsPerTalk - 1 }),
})

test(`decides each suggestion once, whatever the order (seed ${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (drawn) => {
      const steps = withoutRepeated(drawn)
      const talk = await make({ title: 'Talk', speakers: [], tags: [] })
      // Each adds a name of its own, so that what is lost is seen.
      const ids: number[] = []
      for (let number = 0; number < suggestionsPerTalk; number++) {
        const fields = { speakers: [`Speaker ${talk.id} ${number}`] }
        const body = { kind: 'correction', video: talk.id, fields }
        const { json } = await call('POST', '/api/v2/suggestion', { body, token: archive.editor })
        ids.push(json.id)
      }
      const edits: string[] = []
      const outcomes = await Promise.all(
        steps.map(async ({ editor, action, suggestion }, index) => {
          const { token = '' } = editors[editor] ?? {}
          if (action === 'edit') {
            edits.push(await addTag(talk, `tag ${talk.id} ${index}`, token))
            return undefined
          }
          const bodies = { accept: { fields: ['speakers'] }, decline: { reason: `No ${index}` } }
          const path = `/api/v2/suggestion/${ids[suggestion]}/${action}`
          const body = action === 'reopen' ? {} : { body: bodies[action] }
          const { status, json } = await call('POST', path, { token, ...body })
          assert.ok([200, 409].includes(status), JSON.stringify(json))
          return status === 200 ? { suggestion, action } : undefined
        }),
      )
      await assertConsistent(
        talk,
        ids,
        outcomes.flatMap((it) => it ?? []),
        edits,
      )
    }),
    { seed, numRuns: runs, endOnFailure: true },
  )
})

/** Leaves out requests that count as the same one, sent again: these have no second effect. */
function withoutRepeated(steps: readonly Step[]): Step[] {
  const keyOf = ({ editor, action, suggestion }: Step) => `${editor} ${action} ${suggestion}`
  return steps.filter(
    (step, index) =>
      step.action === 'edit' || steps.findIndex((other) => keyOf(other) === keyOf(step)) === index,
  )
}

/** Adds a tag to what the talk has at this moment, and repeats that if it was changed meanwhile. */
async function addTag({ id }: Video, tag: string, token: string): Promise<string> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { json, headers } = await call('GET', `/api/v2/video/${id}`, { token })
    const body = { tags: [...json.tags, tag] }
    const condition = { 'if-match': String(headers.etag) }
    const path = `/api/v2/video/${id}`
    const { status } = await call('PATCH', path, { token, body, headers: condition })
    if (status === 200) return tag
    assert.equal(status, 412)
  }
  return assert.fail('The talk changed 200 times')
}

async function assertConsistent(
  talk: Video,
  ids: readonly number[],
  outcomes: readonly Pick<Step, 'suggestion' | 'action'>[],
  edits: readonly string[],
): Promise<void> {
  const { json: record } = await call('GET', `/api/v2/video/${talk.id}`)
  assert.deepEqual(record.tags.toSorted(), edits.toSorted(), 'every edit is there')
  for (const [number, id] of ids.entries()) {
    const own = outcomes.filter(({ suggestion }) => suggestion === number)
    const count = (...actions: string[]) =>
      own.filter(({ action }) => actions.includes(action)).length
    const { json } = await call('GET', `/api/v2/suggestion/${id}`, { token: archive.editor })
    const decisions = count('accept', 'decline')
    // Each decision but the last was undone before the next.
    assert.equal(decisions - count('reopen'), json.state === 'open' ? 0 : 1, json.state)
    const name = `Speaker ${talk.id} ${number}`
    assert.equal(record.speakers.includes(name), json.state === 'accepted', name)
    const changes = await withDatabase(databaseUrl, (query) =>
      query('select revision from change where suggestion_id = $1 order by revision', [id]),
    )
    assert.equal(changes.length, count('accept'), 'a change for each acceptance')
    if (json.state === 'accepted') assert.equal(Number(changes.at(-1)?.revision), json.revision)
  }
}

/** Sends requests one after the other while a record is locked: each waits for the one before. */
async function inOrder(
  { id }: Video,
  requests: readonly (() => Promise<Reply>)[],
): Promise<Reply[]> {
  const replies: Promise<Reply>[] = []
  await withDatabase(databaseUrl, async (query) => {
    await query('begin')
    await query('select from video where id = $1 for no key update', [id])
    for (const request of requests) {
      replies.push(request())
      await until(`${replies.length} requests that wait for a lock`, async () => {
        const waiting = await query(
          `select from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length >= replies.length
      })
    }
    await query('commit')
  })
  return Promise.all(replies)
}

const takedown = (id: number) =>
  call('POST', `/api/v2/video/${id}/takedown`, {
    token: archive.admin,
    body: { reason: 'Asked for it' },
  })

test('a suggestion that arrives during a takedown is refused', async () => {
  const talk = await make({ title: 'Taken down' })
  const body = { kind: 'correction', video: talk.id, comment: 'Private words' }
  const send = () => call('POST', '/api/v2/suggestion', { body, token: archive.editor })
  const replies = await inOrder(talk, [() => takedown(talk.id), send])
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 410],
  )
  const rows = await withDatabase(databaseUrl, (query) =>
    query('select id from suggestion where video_id = $1', [talk.id]),
  )
  assert.deepEqual(rows, [])
})

test('accepting what is done already is refused if the talk changes meanwhile', async () => {
  const talk = await make({ title: 'Before' })
  const token = archive.editor
  const suggestion = { kind: 'correction', video: talk.id, fields: { title: 'After' } }
  const { json } = await call('POST', '/api/v2/suggestion', { body: suggestion, token })
  const patch = (title: string) =>
    call('PATCH', `/api/v2/video/${talk.id}`, { token, body: { title } })
  await patch('After')
  const accept = () => call('POST', `/api/v2/suggestion/${json.id}/accept`, { token, body: {} })
  const [, refused] = await inOrder(talk, [() => patch('Third'), accept])
  assert.deepEqual([refused?.status, refused?.json.fields], [409, ['title']])
  const { json: left } = await call('GET', `/api/v2/suggestion/${json.id}`, { token })
  assert.equal(left.state, 'open')
})

test('decisions and takedowns at the same time do not deadlock', async () => {
  for (let round = 0; round < runs; round++) {
    const talk = await make({ title: 'Contested' })
    const ids: number[] = []
    for (let number = 0; number < 8; number++) {
      const body = { kind: 'correction', video: talk.id, fields: { title: `Contested ${number}` } }
      const sent = await call('POST', '/api/v2/suggestion', { body, token: archive.editor })
      ids.push(sent.json.id)
    }
    const replies = await Promise.all([
      ...ids.map((id, index) =>
        call('POST', `/api/v2/suggestion/${id}/accept`, {
          token: editors[index % 5]?.token ?? '',
          body: {},
        }),
      ),
      takedown(talk.id),
    ])
    for (const { status, text } of replies) assert.ok([200, 409, 410].includes(status), text)
    assert.equal(replies.at(-1)?.status, 200)
  }
  const [{ deadlocks } = {}] = await withDatabase(databaseUrl, (query) =>
    query('select deadlocks::integer from pg_stat_database where datname = current_database()'),
  )
  assert.equal(deadlocks, 0)
})

test('the archive is consistent afterwards', () => checkInvariants(databaseUrl))
