import { Problem, SourcePatch, type SourceState, validate } from '@talkshelf/contract'
import { deskPages, deskPaths, type LinkFilter, type LinksData, linkQuery } from '@talkshelf/web'
import { lookUpNames, normalizeName } from '../entities/entities.ts'
import {
  acceptReplacement,
  type DecidedReplacement,
  maxPinnedAtOnce,
  pinHost,
  pinSource,
  readExaminedSources,
  readUnhealthyHosts,
  refuseReplacement,
  requestCheck,
  unhealthyStates,
} from '../links/links.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, type PageResponse, parseId } from '../platform/http/pages.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { showInbox } from './inbox.ts'
import { changeOrigin, type Desk, type DeskRequest, idOf, writeContextOf } from './mount.ts'

// The page of links: unhealthy sources, their hosts, and the decisions of editors. Copies that may
// replace a source are in the inbox.

const pageSize = 50
const maxListLength = 1000
const pinDays = { source: 365, host: 3650 }

/** Mounts the page of links, and the forms about sources, hosts and copies. */
export function linkPages(
  desk: Desk,
  pool: Pool,
  /** Undefined if this process checks no links. */
  checks: Pick<JobRunner, 'wake'> | undefined,
  forget: (ids: readonly number[]) => void,
): void {
  const access = { role: 'editor' } as const
  const formAccess = { ...access, page: deskPaths.links }

  const show = async (request: DeskRequest, query: URLSearchParams, isUntilWrong = false) => {
    const filter = parseFilter(query)
    const data: LinksData = {
      isOff: !checks,
      filter,
      ...(await readList(pool, filter, parseId(query.get('after') ?? undefined))),
      hosts: filter.talk === undefined ? await readUnhealthyHosts(pool.lists) : [],
      today: dayAfter(0),
      until: { source: dayAfter(pinDays.source), host: dayAfter(pinDays.host) },
      maxPinned: maxPinnedAtOnce,
      pinned: parsePinned(query),
      isUntilWrong,
    }
    return desk.render(request, [deskPages.links, data], isUntilWrong ? 400 : 200)
  }
  desk.page(deskPaths.links, access, (request) => show(request, new URLSearchParams(request.query)))

  /** Redirects to the list from which a form was sent. */
  const back = (request: DeskRequest<FormRequest>, params: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams(linkQuery(parseFilter(listOf(request.form))))
    for (const [name, value] of Object.entries(params)) query.set(name, value)
    return desk.redirect(request, `${deskPaths.links}?${query}`)
  }

  desk.form(deskPaths.checkSource(':id'), formAccess, async (request) => {
    await requestCheck(pool, idOf(request))
    checks?.wake()
    return back(request, { done: 'check-requested' })
  })

  /** Shows the list again if the day of a pin is refused. */
  const orWrongDay = async (
    request: DeskRequest<FormRequest>,
    pin: () => Promise<Readonly<Record<string, string>>>,
  ): Promise<PageResponse> => {
    try {
      return back(request, await pin())
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'invalid-fields') throw error
      return show(request, listOf(request.form), true)
    }
  }

  desk.form(deskPaths.pinSource(':id'), formAccess, (request) =>
    orWrongDay(request, async () => {
      const pin = pinIn(request.form)
      await pinSource(pool, idOf(request), pin, changeOrigin(request))
      return { done: pin ? 'source-pinned' : 'pin-ended' }
    }),
  )

  desk.form(deskPaths.pinHost, formAccess, (request) =>
    orWrongDay(request, async () => {
      const host = (request.form.get('host') ?? '').slice(0, 253)
      const result = await pinHost(pool, host, pinIn(request.form), writeContextOf(request))
      return { pinned: String(result.pinned), left: String(result.left) }
    }),
  )

  replacementForms(desk, pool, forget)
}

function replacementForms(desk: Desk, pool: Pool, forget: (ids: readonly number[]) => void): void {
  const access = { role: 'editor', forEventEditors: true, page: deskPaths.home } as const
  const form = (
    path: string,
    done: string,
    decide: (request: DeskRequest<FormRequest>) => Promise<DecidedReplacement>,
  ) =>
    desk.form(path, access, async (request) => {
      try {
        const { changed } = await decide(request)
        if (changed !== undefined) forget([changed])
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.problem === 'wrong-state') return showInbox(desk, pool, request, error.message)
        if (!['not-found', 'taken-down', 'merged'].includes(error.problem)) throw error
        return desk.redirect(request, `${deskPaths.home}?done=replacement-impossible`)
      }
      return desk.redirect(request, `${deskPaths.home}?done=${done}`)
    })
  form(deskPaths.acceptReplacement(':id'), 'replacement-accepted', (request) =>
    acceptReplacement(pool, idOf(request), writeContextOf(request)),
  )
  form(deskPaths.refuseReplacement(':id'), 'replacement-refused', (request) =>
    refuseReplacement(pool, idOf(request), writeContextOf(request)),
  )
}

/** Returns the query of the list from which a form was sent. */
const listOf = (form: URLSearchParams) =>
  new URLSearchParams((form.get('list') ?? '').slice(0, maxListLength))

/** Returns the pin in a form. Null: its end. Throws `invalid-fields`. */
function pinIn(form: URLSearchParams) {
  if (form.has('end')) return null
  const pin = { state: form.get('state') ?? '', until: form.get('until') ?? '' }
  return validate(SourcePatch, { pin }).pin
}

function parseFilter(query: URLSearchParams): LinkFilter {
  const textOf = (name: string, maxLength: number) =>
    (query.get(name) ?? '').trim().slice(0, maxLength) || undefined
  const state = query.get('state') as SourceState
  return {
    state: (unhealthyStates as readonly SourceState[]).includes(state) ? state : undefined,
    host: textOf('host', 253)?.toLowerCase(),
    event: textOf('event', 255),
    talk: parseId(query.get('talk') ?? undefined),
  }
}

function parsePinned(query: URLSearchParams): LinksData['pinned'] {
  const [count, left] = [query.get('pinned') ?? '', query.get('left') ?? '']
  const isCount = (text: string) => /^\d{1,9}$/.test(text)
  return isCount(count) && isCount(left) ? { count: Number(count), left: Number(left) } : undefined
}

/** Reads a page of sources. Of an event that does not exist there are none. */
async function readList(
  pool: Pool,
  { event: title, ...filter }: LinkFilter,
  after: number | undefined,
): Promise<Pick<LinksData, 'sources' | 'next' | 'isUnknownEvent'>> {
  const event = title === undefined ? undefined : await findEvent(pool, title)
  if (title !== undefined && event === undefined)
    return { sources: [], next: undefined, isUnknownEvent: true }
  const page = await readExaminedSources(pool.lists, { ...filter, event, after, size: pageSize })
  return { ...page, isUnknownEvent: false }
}

async function findEvent(pool: Pool, title: string): Promise<number | undefined> {
  const name = normalizeName(title)
  const names = { category: [name], language: [], speaker: [], tag: [] }
  return (await lookUpNames(pool, names)).category.get(name)?.id
}

/** Returns the day (UTC) that comes after a number of days. */
const dayAfter = (days: number) =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
