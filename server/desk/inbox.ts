import { mayAct, Problem } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import { actorOf, listPasskeys } from '../auth/auth.ts'
import { listWaitingImports } from '../imports/imports.ts'
import { listReplacements } from '../links/links.ts'
import type { Actor } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type PageResponse, parseId } from '../platform/http/pages.ts'
import { listScheduled } from '../publication/publication.ts'
import { findSuggestionMarks, listRequests } from '../speaker-links/speaker-links.ts'
import { listSuggestions, readSuggestion } from '../suggestions/suggestions.ts'
import type { Desk, DeskRequest } from './mount.ts'
import { listWorkingCopies } from './queries.ts'

// The first page of the desk: what waits for the person, the oldest first.

/** Items of each list. */
const maxItems = 10

/** Mounts the first page of the desk. */
export function inboxPage(desk: Desk, pool: Pool): void {
  desk.page(deskPaths.home, { role: 'suggester' }, (request) => showInbox(desk, pool, request))
}

/** Shows the inbox. `refusal` says why a decision about a copy was not saved, in English. */
export async function showInbox(
  desk: Desk,
  pool: Pool,
  request: DeskRequest,
  refusal?: string,
): Promise<PageResponse> {
  const { person } = request.session
  const isEditor = person.role !== 'suggester'
  const data = {
    refusal,
    hasPasskey: (await listPasskeys(pool, person.id)).length > 0,
    copies: await listWorkingCopies(pool, person.id, maxItems),
    imports: isEditor ? await listWaitingImports(pool, maxItems) : [],
    scheduled: isEditor ? await listScheduled(pool, maxItems) : [],
    suggestions: await findSuggestions(pool, request),
    replacements: await findReplacements(pool, request),
    requests: isEditor ? await listRequests(pool, maxItems) : [],
  }
  return desk.render(request, [deskPages.home, data], refusal === undefined ? 200 : 409)
}

/** Finds the suggestions that the person may decide, and whether the last decision can be undone. */
async function findSuggestions(pool: Pool, { session, query }: DeskRequest) {
  const actor = actorOf(session)
  if (!mayAct(actor.role, 'editor')) return undefined
  const after = parseId(query.after) ?? null
  const queue = await listSuggestions(pool, actor, { after, size: maxItems })
  const decided = parseId(query.decided)
  const ids = queue.results.map(({ id }) => id)
  const fromSpeakers = await findSuggestionMarks(pool, ids)
  return { ...queue, fromSpeakers, decided, mayUndo: await mayUndo(pool, actor, decided) }
}

/** Finds the copies of videos that the person may accept. */
async function findReplacements(pool: Pool, { session }: DeskRequest) {
  const actor = actorOf(session)
  if (!mayAct(actor.role, 'editor')) return undefined
  const { count, entries } = await listReplacements(pool.lists, { page_size: maxItems }, actor)
  return { count, results: entries }
}

async function mayUndo(pool: Pool, actor: Actor, id: number | undefined): Promise<boolean> {
  if (id === undefined) return false
  try {
    const { state } = await readSuggestion(pool, actor, id)
    return state === 'accepted' || state === 'declined'
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}
