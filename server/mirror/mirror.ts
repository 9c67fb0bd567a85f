import { setTimeout as sleep } from 'node:timers/promises'
import { ApiProblem, type Client, createClient, UnexpectedResponse } from '@talkshelf/client'
import { followChanges } from '@talkshelf/client/follow'
import {
  type FeedEntry,
  type FeedPage,
  feedKinds,
  maxFeedIds,
  FeedPage as PageSchema,
  Takedown,
  validationErrors,
} from '@talkshelf/contract'
import { Unavailable, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type ArchiveCopy, type CopiedSubject, keyOf, seqOf } from './copy.ts'
import { hiddenEntry, openMirrorDatabase } from './database.ts'
import { openMirrorFolder } from './folder.ts'

// Keeps a copy of the public data of another archive: reads its change feed, and stores each page
// together with its cursor. The copy is compared with the digest of the feed whenever it has all
// entries.

export { CopyError } from './copy.ts'
export { findSource } from './queries.ts'

export interface MirrorOptions {
  /** The URL of the archive. */
  readonly source: string
  /** The path of a folder, or a database. */
  readonly into: string | Pool
  /** Ends when the copy is complete, instead of waiting for changes. */
  readonly isOnce: boolean
  readonly signal?: AbortSignal
  say(line: string): void
}

export interface CopyState {
  readonly subjects: number
  /** Null before the first entry. */
  readonly seq: number | null
}

const stateOf = (copy: ArchiveCopy): CopyState => ({
  subjects: copy.size(),
  seq: copy.cursor === undefined ? null : seqOf(copy.cursor),
})

/** The source answers with something that is not a change feed. */
export class MirrorError extends Error {
  override readonly name = 'MirrorError'
}

/**
 * Keeps a copy up to date with an archive until the signal aborts, or once. Returns how many
 * records, speakers, tags and events it has, and the entry of the feed up to which it has them.
 */
export async function mirror(options: MirrorOptions): Promise<CopyState> {
  const { source, into, say } = options
  const copy = await openCopy(options)
  const place = typeof into === 'string' ? into : 'the database'
  say(
    copy.cursor === undefined
      ? `Copying ${source} to ${place}`
      : `Continuing the copy of ${source} in ${place}, with ${countText(copy)}`,
  )
  try {
    for (;;)
      try {
        await synchronize(copy, options)
        return stateOf(copy)
      } catch (error) {
        if (options.isOnce || !isTemporary(error)) throw error
        say(`${describe(error)}. Trying again`)
        await pause(retryMs, options.signal)
        if (options.signal?.aborted) return stateOf(copy)
      }
  } finally {
    await copy.close()
  }
}

const retryMs = 5000
const maxAttempts = 5

/** Makes the copy complete, and follows the archive. Returns when there is nothing left to do. */
async function synchronize(copy: ArchiveCopy, options: MirrorOptions): Promise<void> {
  if (copy.cursor === undefined || !copy.isExact()) await copyAll(copy, options)
  // Each copy of everything may be outdated by another restore, but not again and again.
  let attempts = 0
  for (;;) {
    const end = await follow(copy, options, () => {
      attempts = 0
    })
    if (end === 'stopped') return
    if (++attempts === maxAttempts)
      throw new MirrorError(
        `The copy differed from the digest of the feed ${maxAttempts} times in a row. ` +
          `Ask the operators of ${options.source} whether it was restored from a backup just now.`,
      )
    if (end === 'differs' || !(await goBack(copy, options))) await copyAll(copy, options)
  }
}

/** Repeats a request while the source is overloaded or cannot be reached. */
async function patiently<T>(options: MirrorOptions, request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await request()
    } catch (error) {
      const isLast = attempt === maxRequests || options.signal?.aborted
      if (isLast || !isTemporary(error)) throw error
      options.say(`${describe(error)}. Trying again`)
      await pause(Math.min(attempt * 1000, retryMs), options.signal)
    }
}

const maxRequests = 20

/** Tells whether the source or the database may work again later. */
function isTemporary(error: unknown): boolean {
  // A name that moved from one record to another while a page was read: the next one is right.
  if (error instanceof UniqueViolation || isOtherHistory(error)) return true
  if (error instanceof ApiProblem || error instanceof UnexpectedResponse)
    return error.status >= 500 || error.status === 429
  return (
    error instanceof Unavailable ||
    (error instanceof Error && (error.message === 'fetch failed' || error.name === 'TimeoutError'))
  )
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => {})
}

function openCopy(options: MirrorOptions): Promise<ArchiveCopy> {
  const { source, into } = options
  if (typeof into === 'string') return openMirrorFolder(into, source)
  const client = clientFor(source)
  return openMirrorDatabase(into, {
    source,
    readTakedown: (id) => patiently(options, () => readTakedown(client, id)),
  })
}

/** Reads when and why a record was taken down; undefined if it is not any more. */
async function readTakedown(client: Client, id: number) {
  try {
    await client.readVideo({ id })
    return undefined
  } catch (error) {
    if (!(error instanceof ApiProblem) || ![404, 410].includes(error.status)) throw error
    const { taken_down: day, reason } = error.document
    const isValid =
      typeof day === 'string' &&
      /^\d{4}-\d\d-\d\d$/.test(day) &&
      validationErrors(Takedown, { reason }).length === 0
    return isValid ? { day, reason: String(reason) } : undefined
  }
}

/**
 * Applies the changes after the cursor of the copy. Returns how it ended: the copy differs from the
 * archive, the archive was restored from a backup, or there is nothing left to do.
 */
async function follow(
  copy: ArchiveCopy,
  { source, signal, isOnce, say }: MirrorOptions,
  onExact: () => void,
): Promise<'stopped' | 'differs' | 'restored'> {
  const pages = followChanges(clientFor(source), {
    since: copy.cursor ?? '0',
    include: 'record',
    limit: pageSize,
    ...(isOnce && { wait: 0 }),
    ...(signal && { signal }),
    onRetry: (error) => say(`${describe(error)}. Trying again`),
  })
  try {
    for await (const page of pages) {
      await copy.apply(checkedPage(page, source))
      if (page.more) continue
      if (!copy.isExact()) {
        say('The copy differs from the archive. Reading the whole archive again')
        return 'differs'
      }
      onExact()
      say(`Up to date: ${countText(copy)}, entry ${seqOf(page.cursor)} of the feed`)
    }
    // Without a page there was nothing to compare.
    return signal?.aborted || copy.isExact() ? 'stopped' : 'differs'
  } catch (error) {
    if (!isOtherHistory(error)) throw error
    return 'restored'
  }
}

/**
 * Goes back to the newest position that the history of the archive has, after it was restored from
 * a backup. Reads again what the copy has of later entries. Returns false if there is no such
 * position.
 */
async function goBack(copy: ArchiveCopy, options: MirrorOptions): Promise<boolean> {
  const { source, say } = options
  const client = clientFor(source)
  const common = await patiently(options, () => findCommon(client, copy.earlierCursors))
  if (common === undefined) {
    say('The archive was restored from a backup. Reading the whole archive again')
    return false
  }
  const changed = await copy.listAfter(seqOf(common))
  say(
    `The archive was restored from a backup. Going back to entry ${seqOf(common)} of the feed ` +
      `and reading ${changed.length} records and entities again`,
  )
  for (const kind of feedKinds) {
    let left: readonly CopiedSubject[] = changed.filter((subject) => subject.kind === kind)
    while (left.length > 0) {
      const asked = left.slice(0, maxFeedIds)
      const id = asked.map((subject) => subject.id).join(',')
      const { data } = await patiently(options, () =>
        client.listChanges({ kind, id, include: 'record' }),
      )
      const page = checkedPage(data, source)
      const found = new Map(page.results.map((entry) => [keyOf(entry), entry]))
      // A page that is cut off because of its size has the first ones.
      const settled = asked.filter((subject) => !page.more || found.has(keyOf(subject)))
      if (settled.length === 0)
        throw new MirrorError(`${source} does not return the entries that it was asked for.`)
      await copy.write(settled.map((subject) => found.get(keyOf(subject)) ?? hiddenEntry(subject)))
      left = left.filter((subject) => !settled.includes(subject))
    }
  }
  await copy.setPosition(common)
  return true
}

/** Finds the newest cursor that the archive accepts. */
async function findCommon(client: Client, cursors: readonly string[]): Promise<string | undefined> {
  // It accepts all up to one of them, and none after it.
  let [accepted, refused] = [-1, cursors.length]
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2)
    if (await isAccepted(client, cursors[middle] as string)) accepted = middle
    else refused = middle
  }
  return cursors[accepted]
}

async function isAccepted(client: Client, cursor: string): Promise<boolean> {
  try {
    await client.listChanges({ since: cursor, limit: 1 })
    return true
  } catch (error) {
    if (isOtherHistory(error)) return false
    throw error
  }
}

/** Reads the newest entry of everything, and withdraws what is in none. */
async function copyAll(copy: ArchiveCopy, options: MirrorOptions): Promise<void> {
  const { source, signal, say } = options
  const client = clientFor(source)
  const retrying = {
    wait: 0,
    ...(signal && { signal }),
    onRetry: (error: unknown) => say(`${describe(error)}. Trying again`),
  }
  // What changes while it is copied comes after this position.
  let start: string | undefined
  for await (const page of followChanges(client, { since: 'now', ...retrying })) start = page.cursor
  const seen = new Set<string>()
  let shownMs = performance.now()
  // Records come last: they refer to categories.
  for (const kind of feedKinds) {
    const pages = followChanges(client, {
      since: '0',
      kind,
      include: 'record',
      compact: 'true',
      limit: pageSize,
      ...retrying,
    })
    for await (const page of pages) {
      // Without the cursor: a copy that is interrupted here starts again.
      await copy.write(checkedPage(page, source).results)
      for (const entry of page.results) seen.add(keyOf(entry))
      if (performance.now() - shownMs < 5000) continue
      say(`${seen.size} records, speakers, tags and events copied`)
      shownMs = performance.now()
    }
  }
  if (signal?.aborted || start === undefined) return
  await copy.removeOthers(seen)
  await copy.setPosition(start)
  say(`Copied ${countText(copy)}`)
}

const pageSize = 100

const countText = (copy: ArchiveCopy) => `${copy.size()} records, speakers, tags and events`

/** A mirror has timeouts and retries of its own. */
const clientFor = (source: string) =>
  createClient({
    baseUrl: source,
    fetch: boundedFetch,
    timeoutMs: Number.POSITIVE_INFINITY,
    retries: 0,
  })

/** Returns the page. Throws if the source sent something else. */
function checkedPage(page: FeedPage, source: string): FeedPage {
  const [error] = validationErrors(PageSchema, page)
  if (error)
    throw new MirrorError(
      `${source} does not answer as an archive of this version: ${error.pointer} ${error.detail}`,
    )
  for (const entry of page.results)
    if (!isOwnRecord(entry))
      throw new MirrorError(`${source} sends another record with entry ${entry.seq} of its feed.`)
  return page
}

/** Tells whether the record of an entry is the one that it names. */
function isOwnRecord({ kind, id, record }: FeedEntry): boolean {
  if (!record) return true
  return record.kind === kind && (record.kind === 'video' ? record.record.id : record.id) === id
}

/** Returns what is wrong: the error of fetch itself says only that it failed. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === 'fetch failed' && error.cause instanceof Error
    ? `The archive cannot be reached (${error.cause.message})`
    : error.message
}

const isOtherHistory = (error: unknown) => error instanceof Error && error.name === 'other-history'
