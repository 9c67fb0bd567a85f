import {
  applyImportEndpoint,
  BulkEdit,
  createEditEndpoint,
  createImportEndpoint,
  decideFieldsEndpoint,
  decideTalkEndpoint,
  discardImportEndpoint,
  FieldDecision,
  ImportInput,
  invalidFields,
  listImportedTalksEndpoint,
  listImportsEndpoint,
  Problem,
  readImportEndpoint,
  readRefusedEndpoint,
  redoImportEndpoint,
  stopImportEndpoint,
  TalkDecision,
  undoImportEndpoint,
  validate,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import * as imports from './imports.ts'

/** A table that can be imported again as the text of a request. */
const refusedLimits = { rows: 500, length: 3_500_000 }

/** Mounts the endpoints of imports. */
export function importRoutes(
  mount: Mount,
  pool: Pool,
  jobRunner: JobRunner,
  planner: imports.ImportPlanner,
  urls: SiteUrls,
): void {
  mountCreate(mount, pool, planner, urls)
  mountEdit(mount, pool, planner, urls)
  mountReads(mount, pool, urls)
  mountDecisions(mount, pool, jobRunner)
}

function mountCreate(
  mount: Mount,
  pool: Pool,
  planner: imports.ImportPlanner,
  urls: SiteUrls,
): void {
  mount(createImportEndpoint, async ({ body, origin }) => {
    const { url, text, ...options } = validate(ImportInput, body)
    if ((url === undefined) === (text === undefined))
      throw invalidFields([
        { pointer: '', code: 'required', detail: 'either url or text is required, and not both' },
      ])
    const content = url === undefined ? { content: bytesOf(text as string) } : { url }
    const { id, refusal } = await planner.start({ ...options, ...content }, origin)
    if (refusal) throw new Problem('import-refused', refusal.message)
    return {
      body: toJson(await imports.readImport(pool, id)),
      headers: { location: urls.to(readImportEndpoint, { id }) },
    }
  })
}

/** Mounts the endpoint that plans a bulk edit. */
function mountEdit(mount: Mount, pool: Pool, planner: imports.ImportPlanner, urls: SiteUrls): void {
  mount(createEditEndpoint, async ({ body, origin }) => {
    const id = await planner.startEdit(validate(BulkEdit, body), origin)
    return {
      body: toJson(await imports.readImport(pool, id)),
      headers: { location: urls.to(readImportEndpoint, { id }) },
    }
  })
}

function mountReads(mount: Mount, pool: Pool, urls: SiteUrls): void {
  mount(listImportsEndpoint, async ({ query }) => {
    const { before = Number.MAX_SAFE_INTEGER, page_size: size = 20 } = query
    const imported = await imports.listImports(pool, before, size + 1)
    const results = imported.slice(0, size)
    const next =
      imported.length > size
        ? withQuery(urls.to(listImportsEndpoint, {}), { ...query, before: results.at(-1)?.id })
        : null
    return { body: toJson({ results, next }) }
  })

  mount(readImportEndpoint, async ({ params, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    return { body: toJson(await imports.readImport(pool, params.id)) }
  })

  mount(readRefusedEndpoint, async ({ params, query }) => ({
    body: toJson(await imports.readRefused(pool, params.id, query.after ?? 0, refusedLimits)),
  }))

  mount(listImportedTalksEndpoint, async ({ params, query, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    const { after = 0, page_size: size = 20, verdict, undone, note } = query
    const filter = { verdict, undone, note, after, limit: size + 1 }
    const talks = await imports.listImportTalks(pool, params.id, filter)
    const results = talks.slice(0, size)
    const url = urls.to(listImportedTalksEndpoint, params)
    const next =
      talks.length > size ? withQuery(url, { ...query, after: results.at(-1)?.position }) : null
    return { body: toJson({ results, next }) }
  })
}

function mountDecisions(mount: Mount, pool: Pool, jobRunner: JobRunner): void {
  mount(decideTalkEndpoint, async ({ params, body }) => {
    const decision = validate(TalkDecision, body)
    return { body: toJson(await imports.decideTalk(pool, params.id, params.position, decision)) }
  })

  mount(applyImportEndpoint, async ({ params, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    const applying = await imports.applyImport(pool, params.id, actor.role)
    jobRunner.wake()
    return { body: toJson(applying) }
  })

  mount(stopImportEndpoint, async ({ params, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    return { body: toJson(await imports.stopImport(pool, params.id)) }
  })

  mount(redoImportEndpoint, async ({ params, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    const applying = await imports.redoImport(pool, params.id, actor.role)
    jobRunner.wake()
    return { body: toJson(applying) }
  })

  mount(discardImportEndpoint, async ({ params, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    await imports.discardImport(pool, params.id)
    return { body: toJson({ id: params.id }) }
  })

  mount(decideFieldsEndpoint, async ({ params, body }) => {
    const decided = await imports.decideFields(pool, params.id, validate(FieldDecision, body))
    return { body: toJson({ decided }) }
  })

  mount(undoImportEndpoint, async ({ params, actor }) => {
    await imports.assertMayUseImport(pool, params.id, actor)
    const undoing = await imports.undoImport(pool, params.id)
    jobRunner.wake()
    return { body: toJson(undoing) }
  })
}

function withQuery(url: string, query: Readonly<Record<string, unknown>>): string {
  const params = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return `${url}?${new URLSearchParams(params)}`
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}
