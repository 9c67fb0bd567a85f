import { setTimeout as sleep } from 'node:timers/promises'
import {
  applyImportEndpoint,
  createImportEndpoint,
  decideTalkEndpoint,
  ImportInput,
  invalidFields,
  listImportedTalksEndpoint,
  listImportsEndpoint,
  Problem,
  readImportEndpoint,
  stopImportEndpoint,
  TalkDecision,
  undoImportEndpoint,
  validate,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import { openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import * as imports from './imports.ts'

/** Gives the text of an address outside. */
export type FetchUrl = (address: string) => Promise<AsyncIterable<Uint8Array>>

/** So long an answer waits for the plan: most files are short. */
const patienceMs = 1000

/**
 * A process plans so many imports at once, and so many more wait for their turn: each has a batch
 * in memory, or its text.
 */
const [maxPlans, maxWaitingPlans] = [2, 8]
/** What an import by the API may take. The command has no such limits. */
const maxUnpackedBytes = 256 << 20
const maxPlanMs = 15 * 60_000

export function importRoutes(
  mount: Mount,
  pool: Pool,
  jobRunner: JobRunner,
  fetchOutside: FetchUrl,
  urls: SiteUrls,
  onError: (error: unknown) => void,
): void {
  const plans = openConcurrencyLimit(maxPlans, maxWaitingPlans)
  const inputLimits = { ...imports.inputLimits, bytes: maxUnpackedBytes }

  mount(createImportEndpoint, async ({ body, origin }) => {
    const { url, text, name, format, source, category, language, draft } = validate(
      ImportInput,
      body,
    )
    if ((url === undefined) === (text === undefined))
      throw invalidFields([
        { pointer: '', code: 'required', detail: 'either url or text is required, and not both' },
      ])
    if (plans.isFull())
      throw new Problem(
        'too-many-requests',
        'Too many imports are being read at the moment. Try again in a minute',
      )
    const called = name ?? url ?? 'text'
    const open = async () => {
      const stream = url === undefined ? bytesOf(text as string) : await fetchOutside(url)
      return imports.openInput({ stream, name: called }, inputLimits)
    }
    const given = {
      name: called,
      open,
      format,
      source,
      category,
      language,
      draft,
      maxMs: maxPlanMs,
    }
    const { id, planned } = await imports.beginImport(pool, given, origin, { schedule: plans.run })
    // A later request reads from the import itself what went wrong.
    const refusal = planned.then(
      () => undefined,
      (error: unknown) =>
        error instanceof imports.InputRefused ? error.message : void onError(error),
    )
    const refused = await Promise.race([refusal, sleep(patienceMs, undefined, { ref: false })])
    if (refused !== undefined) throw new Problem('import-refused', refused)
    return {
      body: toJson(await imports.readImport(pool, id)),
      headers: { location: urls.to(readImportEndpoint, { id }) },
    }
  })

  mount(listImportsEndpoint, async ({ query }) => {
    const { before = Number.MAX_SAFE_INTEGER, page_size: size = 20 } = query
    const results = await imports.listImports(pool, before, size + 1)
    const shown = results.slice(0, size)
    const next =
      results.length > size
        ? more(urls.to(listImportsEndpoint, {}), { ...query, before: shown.at(-1)?.id })
        : null
    return { body: toJson({ results: shown, next }) }
  })

  mount(readImportEndpoint, async ({ params }) => ({
    body: toJson(await imports.readImport(pool, params.id)),
  }))

  mount(listImportedTalksEndpoint, async ({ params, query }) => {
    const { after = 0, page_size: size = 20, verdict, undone } = query
    const results = await imports.listImportTalks(pool, params.id, {
      verdict,
      undone,
      after,
      limit: size + 1,
    })
    const shown = results.slice(0, size)
    const next =
      results.length > size
        ? more(urls.to(listImportedTalksEndpoint, params), {
            ...query,
            after: shown.at(-1)?.position,
          })
        : null
    return { body: toJson({ results: shown, next }) }
  })

  mount(decideTalkEndpoint, async ({ params, body }) => ({
    body: toJson(
      await imports.decideTalk(pool, params.id, params.position, validate(TalkDecision, body)),
    ),
  }))

  mount(applyImportEndpoint, async ({ params, actor }) =>
    waking(await imports.applyImport(pool, params.id, actor.role)),
  )
  mount(stopImportEndpoint, async ({ params }) => ({
    body: toJson(await imports.stopImport(pool, params.id)),
  }))
  mount(undoImportEndpoint, async ({ params }) => waking(await imports.undoImport(pool, params.id)))

  function waking(it: unknown) {
    jobRunner.wake()
    return { body: toJson(it) }
  }
}

/** The same address with these parameters. */
function more(address: string, query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return `${address}?${new URLSearchParams(given)}`
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}
