import type { SourceState } from '@talkshelf/contract'
import { withDatabase } from './invariants.ts'

export interface FoundState {
  /** When the state was found. */
  readonly since?: string
  readonly lastGood?: string | null
}

/** The state that readers see. */
const shown = (state: string, lastGood: string) =>
  `case when ${state} <> 'suspect' then ${state} when ${lastGood} is null then 'new' else 'ok' end`

/** Sets the state of the source that a URL names as the link checker does, with its history. */
export async function setSourceState(
  databaseUrl: string,
  url: string,
  state: SourceState,
  { since = '2026-03-15T12:00:00Z', lastGood = null }: FoundState = {},
): Promise<void> {
  const rows = await withDatabase(databaseUrl, (query) =>
    query(
      `with before as (
         select id, ${shown('state', 'last_good')} as state
         from source
         where key = source_key($1)
       ), saved as (
         update source
         set state = $2, since = $3, last_check = $3, last_good = $4,
             revision = revision
                        + (before.state <> ${shown('$2', '$4::timestamptz')})::integer
         from before
         where source.id = before.id
         returning source.id, source.revision, before.state as before,
                   ${shown('$2', '$4::timestamptz')} as after
       ), logged as (
         insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor,
                             via, request_id, request_hash)
         select 'source', id, revision, 'updated', jsonb_build_object('state', before),
                jsonb_build_object('state', after, 'evidence', null), '{}', $3, 'link checker',
                'check', 'test', ''
         from saved
         where before <> after
       )
       select id from saved`,
      [url, state, since, lastGood],
    ),
  )
  if (rows.length === 0) throw new Error(`No talk has a source with the URL ${url}`)
}
