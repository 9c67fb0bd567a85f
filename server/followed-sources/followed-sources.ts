import {
  type FollowedSource,
  type FollowedSourceOptions,
  fetchInterval,
  invalidFields,
  maxFollowedSources,
  Problem,
} from '@talkshelf/contract'
import { type AuditOrigin, recordEvent } from '../auth/auth.ts'
import { findLanguageError } from '../imports/imports.ts'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type GuardOptions, parseOutboundUrl } from '../platform/net/guard.ts'
import { OutboundError } from '../platform/net/outbound.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import * as queries from './queries.ts'

// Entry point of followed sources: what editors do with them. fetch-due.ts fetches and plans them.

export { type FollowOptions, startFollowing } from './fetch-due.ts'
export { countByState, findOldestDue } from './queries.ts'

export interface NewFollowedSource {
  readonly url: string
  readonly options?: FollowedSourceOptions | undefined
  readonly interval_hours?: number | undefined
}

export interface FollowedSourceChanges extends Partial<NewFollowedSource> {
  readonly enabled?: boolean | undefined
}

export interface FollowedSources {
  /** Whether this process fetches sources that are due. */
  readonly isFetching: boolean
  list(): Promise<FollowedSource[]>
  read(id: number): Promise<FollowedSource>
  create(input: NewFollowedSource, origin: Origin): Promise<FollowedSource>
  change(id: number, changes: FollowedSourceChanges, origin: Origin): Promise<FollowedSource>
  /** Fetches it in the background. Throws `wrong-state` if it is paused or disabled. */
  fetchNow(id: number): Promise<FollowedSource>
  /** Deletes a followed source and returns it. */
  remove(id: number, origin: Origin): Promise<FollowedSource>
}

/** Opens the followed sources of an archive. `runner` fetches them; undefined: following is off. */
export function openFollowedSources(
  pool: Pool,
  guard: GuardOptions,
  runner: Pick<JobRunner, 'wake'> | undefined,
): FollowedSources {
  async function checkLanguage(db: Db, { language }: FollowedSourceOptions): Promise<void> {
    const languageError = await findLanguageError(db, language)
    if (languageError) throw invalidFields([{ ...languageError, pointer: '/options/language' }])
  }

  return {
    isFetching: runner !== undefined,
    list: () => queries.listFollowedSources(pool),
    read: (id) => readFollowedSource(pool, id),

    async create({ url, options = {}, interval_hours: hours = fetchInterval.default }, origin) {
      await checkLanguage(pool, options)
      const file = { url: url.trim(), host: hostOf(url, guard), options }
      const created = await pool.transaction(async (tx) => {
        if ((await queries.lockFollowedSourceCount(tx)) >= maxFollowedSources)
          throw new Problem(
            'wrong-state',
            `${maxFollowedSources} sources are followed already. Delete one that is not used`,
          )
        const id = await queries.insertFollowedSource(tx, file, hours, origin)
        const detail = { followed_source: id, from: originOf(url) }
        await recordEvent(tx, 'followed-source-created', auditOrigin(origin), null, detail)
        return readFollowedSource(tx, id)
      })
      runner?.wake()
      return created
    },

    async change(id, { url, options, interval_hours: hours, enabled }, origin) {
      if (options) await checkLanguage(pool, options)
      const changed = await pool.transaction(async (tx) => {
        // Locked, so that of two changes of different fields at the same time none is lost.
        const current = await lockFile(tx, id)
        const newUrl = (url ?? current.url).trim()
        const file = {
          url: newUrl,
          host: hostOf(newUrl, guard),
          options: options ?? current.options,
        }
        const isOther = url !== undefined || options !== undefined
        const hasNewFile = isOther && (await queries.updateFile(tx, id, file, origin))
        const hasNewInterval = hours !== undefined && (await queries.updateInterval(tx, id, hours))
        const isResumed = enabled === true && (await queries.resume(tx, id, origin))
        const isPaused = enabled === false && (await queries.pause(tx, id))
        const source = await readFollowedSource(tx, id)
        const detail = {
          followed_source: id,
          ...(hasNewFile && { from: originOf(source.url) }),
          ...(hasNewInterval && { interval_hours: hours }),
          ...((isResumed || isPaused) && { enabled }),
        }
        if (Object.keys(detail).length > 1)
          await recordEvent(tx, 'followed-source-changed', auditOrigin(origin), null, detail)
        return source
      })
      runner?.wake()
      return changed
    },

    async fetchNow(id) {
      await readFollowedSource(pool, id)
      if (!(await queries.requestFetch(pool, id)))
        throw new Problem('wrong-state', 'This source is paused or disabled. Resume it first')
      runner?.wake()
      return readFollowedSource(pool, id)
    },

    remove: (id, origin) =>
      pool.transaction(async (tx) => {
        const source = await readFollowedSource(tx, id)
        await queries.deleteFollowedSource(tx, id)
        const detail = { followed_source: id, from: originOf(source.url) }
        await recordEvent(tx, 'followed-source-deleted', auditOrigin(origin), null, detail)
        return source
      }),
  }
}

/** Locks a followed source. Throws `not-found` if there is none. */
async function lockFile(tx: Db, id: number) {
  const file = await queries.lockFile(tx, id)
  if (!file) throw notFound()
  return file
}

const notFound = () => new Problem('not-found', 'There is no such followed source')

async function readFollowedSource(db: Db, id: number): Promise<FollowedSource> {
  const source = await queries.findFollowedSource(db, id)
  if (!source) throw notFound()
  return source
}

/** Returns the host of a URL. Throws `invalid-fields` if it cannot be fetched. */
function hostOf(url: string, guard: GuardOptions): string {
  try {
    return parseOutboundUrl(url, guard).hostname
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const detail = 'must be an http or https URL on port 80 or 443, without a user name'
    throw invalidFields([{ pointer: '/url', code: 'format', detail }])
  }
}

/** Returns where a URL leads, without its path: that may contain a secret. */
const originOf = (url: string) => URL.parse(url)?.origin ?? ''

/** Returns who did something, for the audit log. */
function auditOrigin({ actor, via, request }: Origin): AuditOrigin {
  const person = via === 'page' ? (actor.person ?? null) : null
  return { actor: actor.name, person, request }
}
