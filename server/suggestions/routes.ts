import {
  acceptSuggestionEndpoint,
  createSuggestionEndpoint,
  declineSuggestionEndpoint,
  listSuggestionsEndpoint,
  mayAct,
  Refusal,
  readSuggestionEndpoint,
  reopenSuggestionEndpoint,
  validate,
} from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import { nextUrl } from '../platform/http/pagination.ts'
import { writeContext } from '../platform/http/request.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import * as suggestions from './suggestions.ts'

/**
 * Mounts the endpoints of suggestions. `base` returns the base URL of links, `forget` removes
 * changed records from the cache.
 */
export function suggestionRoutes(
  mount: Mount,
  pool: Pool,
  urls: SiteUrls,
  base: () => string,
  forget: (ids: readonly number[]) => void,
): void {
  const respond = ({ suggestion, changed }: suggestions.Decided) => {
    if (changed !== undefined) forget([changed])
    return { body: toJson(suggestion) }
  }

  mount(createSuggestionEndpoint, async ({ body, actor, network }) => {
    // A token of a person who is no editor any more has the limits of anyone.
    const isEditor = mayAct(actor.role, 'editor')
    const { id, secret } = await suggestions.createSuggestion(pool, body, {
      network: isEditor ? undefined : network,
      seesDrafts: isEditor,
    })
    const url = secret === undefined ? null : base() + paths.suggestion(id, secret)
    return { status: 201, body: toJson({ id, url }) }
  })

  mount(listSuggestionsEndpoint, async ({ query, actor }) => {
    const { state, after, page_size: size = 20 } = query
    const page = await suggestions.listSuggestions(pool, actor, { state, after, size })
    const position = page.next === undefined ? undefined : { after: page.next }
    const next = nextUrl(urls.to(listSuggestionsEndpoint, {}), query, position)
    const results = page.results.map((suggestion) => ({
      ...suggestion,
      fields: suggestion.fields.map(({ base: _, current: __, ...field }) => field),
    }))
    return { body: toJson({ count: page.count, oldest: page.oldest, results, next }) }
  })

  mount(readSuggestionEndpoint, async ({ params, actor }) => ({
    body: toJson(await suggestions.readSuggestion(pool, actor, params.id)),
  }))

  mount(acceptSuggestionEndpoint, async (call) => {
    const { id } = call.params
    const context = writeContext(acceptSuggestionEndpoint, call)
    return respond(await suggestions.acceptSuggestion(pool, id, call.body, context))
  })

  mount(declineSuggestionEndpoint, async (call) => {
    const { id } = call.params
    const { reason } = validate(Refusal, call.body)
    const context = writeContext(declineSuggestionEndpoint, call)
    return respond(await suggestions.declineSuggestion(pool, id, reason, context))
  })

  mount(reopenSuggestionEndpoint, async (call) => {
    const context = writeContext(reopenSuggestionEndpoint, call)
    return respond(await suggestions.reopenSuggestion(pool, call.params.id, context))
  })
}
