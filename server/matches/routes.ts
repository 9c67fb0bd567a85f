import {
  createMatchEndpoint,
  decideMatchEndpoint,
  invalidFields,
  MatchDecision,
  MatchInput,
  Problem,
  planMatchEndpoint,
  readImportEndpoint,
  readMatchEndpoint,
  undoMatchDecisionEndpoint,
  validate,
} from '@talkshelf/contract'
import { type ImportPlanner, InputRefused, readImport } from '../imports/imports.ts'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import type { Matches, MatchFile } from './matches.ts'

/** Mounts the endpoints of matches. */
export function matchRoutes(
  mount: Mount,
  pool: Pool,
  matches: Matches,
  planner: ImportPlanner,
  urls: SiteUrls,
): void {
  mount(createMatchEndpoint, async ({ body, origin }) => {
    const { schedule, playlist, ...options } = validate(MatchInput, body)
    const id = await planner.run(async () => {
      const files = {
        schedule: await openFile(planner, schedule, 'schedule'),
        playlist: await openFile(planner, playlist, 'playlist'),
      }
      return matches.create({ ...files, ...options }, origin).catch(toProblem)
    })
    return {
      body: toJson(await matches.read(id)),
      headers: { location: urls.to(readMatchEndpoint, { id }) },
    }
  })

  mount(readMatchEndpoint, async ({ params }) => ({ body: toJson(await matches.read(params.id)) }))

  mount(decideMatchEndpoint, async ({ params, body, origin }) => {
    await matches.decide(params.id, [validate(MatchDecision, body)], origin)
    return { body: toJson(await matches.read(params.id)) }
  })

  mount(undoMatchDecisionEndpoint, async ({ params }) => {
    await matches.undo(params.id)
    return { body: toJson(await matches.read(params.id)) }
  })

  mount(planMatchEndpoint, async ({ params, origin }) => {
    const id = await planner.run(() => matches.plan(params.id, origin))
    return {
      body: toJson(await readImport(pool, id)),
      headers: { location: urls.to(readImportEndpoint, { id }) },
    }
  })
}

async function openFile(
  planner: ImportPlanner,
  { url, text, name, ...options }: MatchInput['schedule'],
  field: string,
): Promise<MatchFile> {
  if ((url === undefined) === (text === undefined))
    throw invalidFields([
      {
        pointer: `/${field}`,
        code: 'required',
        detail: 'either url or text is required, and not both',
      },
    ])
  const content = url === undefined ? { content: bytesOf(text as string) } : { url }
  const opened = await planner
    .open({ name: name ?? (url === undefined ? field : undefined), ...content })
    .catch(toProblem)
  return { opened, ...options }
}

function toProblem(error: unknown): never {
  if (error instanceof InputRefused) throw new Problem('import-refused', error.message)
  throw error
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}
