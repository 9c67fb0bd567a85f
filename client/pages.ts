import type { AnyInput, Operation } from './request.ts'

// Lists of several pages as one sequence.

interface Page {
  readonly results: readonly unknown[]
  /** URL of the next page. */
  readonly next?: string | null
  readonly cursor?: string
  readonly more?: boolean
}

/**
 * Yields the entries of all pages, and requests a page when those before it were consumed. Only the
 * query of the URL in `next` is used, so that no request, and no token, is sent to another origin.
 */
export async function* allEntries(
  { query = [] }: Operation,
  input: AnyInput,
  send: (input: AnyInput) => Promise<{ data: unknown }>,
): AsyncGenerator<unknown, void, undefined> {
  const has = (name: string) => query.includes(name)
  let pageInput: AnyInput = {
    ...input,
    ...(has('page_size') && { page_size: input.page_size ?? 100 }),
    // By cursor, each entry is seen exactly once while others are added or removed.
    ...(has('cursor') && input.page === undefined && { cursor: input.cursor ?? '' }),
  }
  const positions = new Set<string>()
  while (true) {
    const page = (await send(pageInput)).data as Page
    yield* page.results
    const nextPosition = page.next ?? (page.more ? page.cursor : undefined)
    if (nextPosition === undefined) return
    if (positions.has(nextPosition)) throw new Error(`${nextPosition} refers to an earlier page`)
    positions.add(nextPosition)
    pageInput = page.next
      ? { ...input, ...queryOf(page.next, query) }
      : { ...input, since: page.cursor }
  }
}

/** Returns the query parameters of a URL by name; undefined for those that it does not have. */
function queryOf(url: string, names: readonly string[]): AnyInput {
  // The base is needed only if the URL is relative.
  const params = new URL(url, 'http://localhost').searchParams
  return Object.fromEntries(names.map((name) => [name, params.get(name) ?? undefined]))
}
