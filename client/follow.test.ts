import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FeedPage } from '@talkshelf/contract'
import { startArchive } from '../tests/support/harness.ts'
import { ApiProblem, createClient } from './client.ts'
import { followChanges } from './follow.ts'

const archive = await startArchive()
const client = createClient({ baseUrl: archive.url })

test('yields all pages and then waits for the next changes', async () => {
  const made = [await archive.make(), await archive.make()]
  const stop = new AbortController()
  const seen: number[] = []
  const cursors: string[] = []
  let later: number | undefined
  for await (const { results, cursor } of followChanges(client, {
    kind: 'video',
    limit: 1,
    signal: stop.signal,
  })) {
    seen.push(...results.map(({ id }) => id))
    cursors.push(cursor)
    if (seen.length === made.length && later === undefined) later = (await archive.make()).id
    if (seen.at(-1) === later) stop.abort()
  }
  assert.deepEqual(seen, [...made.map(({ id }) => id), later])
  const rest: FeedPage[] = []
  for await (const page of followChanges(client, { since: cursors[0] ?? '', wait: 0 }))
    rest.push(page)
  assert.deepEqual(
    rest
      .flatMap(({ results }) => results.filter(({ kind }) => kind === 'video'))
      .map(({ id }) => id),
    seen.slice(1),
  )
})

test('repeats a request that failed, and throws what repeating does not help', async () => {
  const errors: unknown[] = []
  let calls = 0
  const flaky = createClient({
    baseUrl: archive.url,
    fetch: (...args) => {
      calls++
      if (calls === 1) throw new TypeError('fetch failed')
      return fetch(...args)
    },
  })
  const pages: FeedPage[] = []
  const options = { wait: 0, onRetry: (error: unknown) => errors.push(error) }
  for await (const page of followChanges(flaky, options)) pages.push(page)
  assert.equal(errors.length, 1)
  assert.ok(pages.length > 0)

  const other = followChanges(client, { since: `1.${'0'.repeat(16)}` })
  await assert.rejects(other.next(), (error) => {
    assert.ok(error instanceof ApiProblem)
    return error.name === 'other-history'
  })
})
