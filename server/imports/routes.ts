import { setTimeout as sleep } from 'node:timers/promises'
import {
  applyImport,
  createImport,
  decideTalk,
  ImportInput,
  invalidFields,
  listImportedTalks,
  listImports,
  Problem,
  readImport,
  stopImport,
  TalkDecision,
  undoImport,
  valid,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { Links } from '../platform/http/server.ts'
import type { Batches } from '../platform/ops/batches.ts'
import * as imports from './imports.ts'

/** Gives the text of an address outside. */
export type Fetch = (address: string) => Promise<AsyncIterable<Uint8Array>>

/** So long an answer waits for the plan: most files are short. */
const patienceMs = 1000

export function importRoutes(
  mount: Mount,
  pool: Pool,
  batches: Batches,
  fetchOutside: Fetch,
  links: Links,
  onError: (error: unknown) => void,
): void {
  mount(createImport, async ({ body, origin }) => {
    const { url, text, name, format, source, category, language, draft } = valid(ImportInput, body)
    if ((url === undefined) === (text === undefined))
      throw invalidFields([{ pointer: '', code: 'required', detail: 'either url or text is required, and not both' }])
    const called = name ?? url ?? 'text'
    const open = async () =>
      imports.openInput({ stream: url === undefined ? bytesOf(text as string) : await fetchOutside(url), name: called })
    const { id, planned } = await imports.beginImport(pool, { name: called, open, format, source, category, language, draft }, origin)
    // Whoever asks later is told what went wrong by the import itself.
    const refusal = planned.then(
      () => undefined,
      (error: unknown) => (error instanceof imports.Refused ? error.message : void onError(error)),
    )
    const refused = await Promise.race([refusal, sleep(patienceMs, undefined, { ref: false })])
    if (refused !== undefined) throw new Problem('import-refused', refused)
    return { body: toJson(await imports.readImport(pool, id)), headers: { location: links.to(readImport, { id }) } }
  })

  mount(listImports, async ({ query }) => {
    const { before = Number.MAX_SAFE_INTEGER, page_size: size = 20 } = query
    const results = await imports.listImports(pool, before, size + 1)
    const shown = results.slice(0, size)
    const next = results.length > size ? more(links.to(listImports, {}), { ...query, before: shown.at(-1)?.id }) : null
    return { body: toJson({ results: shown, next }) }
  })

  mount(readImport, async ({ params }) => ({ body: toJson(await imports.readImport(pool, params.id)) }))

  mount(listImportedTalks, async ({ params, query }) => {
    const { after = 0, page_size: size = 20, verdict, undone } = query
    const results = await imports.listTalks(pool, params.id, { verdict, undone, after, limit: size + 1 })
    const shown = results.slice(0, size)
    const next = results.length > size ? more(links.to(listImportedTalks, params), { ...query, after: shown.at(-1)?.position }) : null
    return { body: toJson({ results: shown, next }) }
  })

  mount(decideTalk, async ({ params, body }) => ({
    body: toJson(await imports.decideTalk(pool, params.id, params.position, valid(TalkDecision, body))),
  }))

  mount(applyImport, async ({ params }) => waking(await imports.applyImport(pool, params.id)))
  mount(stopImport, async ({ params }) => ({ body: toJson(await imports.stopImport(pool, params.id)) }))
  mount(undoImport, async ({ params }) => waking(await imports.undoImport(pool, params.id)))

  function waking(it: unknown) {
    batches.wake()
    return { body: toJson(it) }
  }
}

/** The same address with these parameters. */
function more(address: string, query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]))
  return `${address}?${new URLSearchParams(given)}`
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}
