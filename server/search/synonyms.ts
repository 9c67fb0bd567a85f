import { type FieldError, invalidFields, Problem, type Synonyms } from '@talkshelf/contract'
import { type AuditOrigin, recordEvent } from '../auth/auth.ts'
import { assertBeforeDeadline, type Deadline } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { ifMatchEtags, representationEtag, versionEtag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { withoutLastCharacters } from '../platform/text/unspaced.ts'
import { isSynonymLength, maxSynonymCharacters, maxSynonymWords } from './interpret.ts'
import {
  deleteSynonyms,
  findSynonymKeys,
  insertSynonyms,
  listSynonyms,
  lockSynonyms,
} from './queries.ts'

// The synonyms of the search, as editors see and change them. `interpret.ts` applies them.

export interface RenderedSynonyms {
  readonly body: string
  readonly etag: string
}

/** Reads all groups of synonyms. */
export async function readSynonyms(db: Db): Promise<RenderedSynonyms> {
  return render(await listGroups(db))
}

/** Replaces all groups of synonyms. A request that is repeated changes nothing. */
export async function replaceSynonyms(
  pool: Pool,
  input: Synonyms,
  { ifMatch, origin, ...deadline }: Deadline & { ifMatch: string | undefined; origin: AuditOrigin },
): Promise<RenderedSynonyms> {
  const terms = input.groups.flatMap((group, index) =>
    group.map((text, position) => ({
      term: text.normalize('NFC').trim(),
      group_id: index + 1,
      position: position + 1,
    })),
  )
  return pool.transaction(async (tx) => {
    await lockSynonyms(tx)
    const before = await listGroups(tx)
    const current = render(before)
    const after = groupTerms(terms)
    const next = render(after)
    if (next.etag === current.etag) return current
    if (ifMatch !== undefined) assertMatches(ifMatch, current.etag)
    const keys = (await findSynonymKeys(tx, terms)).map(({ key }) => key)
    const errors = terms.flatMap((row, index) => errorOf(row, index, keys))
    if (errors.length > 0) throw invalidFields(errors)
    assertBeforeDeadline(deadline)
    await deleteSynonyms(tx)
    await insertSynonyms(tx, terms)
    await recordEvent(tx, 'synonyms-changed', origin, null, difference(before, after))
    return next
  })
}

async function listGroups(db: Db): Promise<string[][]> {
  return groupTerms(await listSynonyms(db))
}

function groupTerms(
  rows: readonly { readonly group_id: number; readonly term: string }[],
): string[][] {
  const groups = Map.groupBy(rows, (row) => row.group_id)
  return [...groups.values()].map((group) => group.map(({ term }) => term))
}

function render(groups: readonly (readonly string[])[]): RenderedSynonyms {
  const body = toJson({ groups })
  return { body, etag: versionEtag(1, 1, body) }
}

function assertMatches(ifMatch: string, etag: string): void {
  const etags = ifMatchEtags(ifMatch)
  if (etags === '*' || etags.includes(etag)) return
  throw new Problem(
    'stale-revision',
    'The synonyms have changed since the version in If-Match. Nothing was written; read them again',
    {
      current: {
        revision: 1,
        etag: representationEtag(etag, 'html'),
        updated: null,
        by: null,
        fields: null,
      },
    },
  )
}

function errorOf(
  row: { readonly group_id: number; readonly position: number },
  index: number,
  keys: readonly (string | null)[],
): FieldError[] {
  const key = keys[index]
  const pointer = `/groups/${row.group_id - 1}/${row.position - 1}`
  const words = withoutLastCharacters((key ?? '').split(' ').map((word) => ({ word })))
  if (!key || !isSynonymLength(words.map(({ word }) => word)))
    return [
      {
        pointer,
        code: 'invalid',
        detail:
          `must have one to ${maxSynonymWords} searchable words, or up to ` +
          `${maxSynonymCharacters} characters in a script without spaces`,
      },
    ]
  return keys.indexOf(key) < index
    ? [{ pointer, code: 'duplicate', detail: 'is already a term of this or another group' }]
    : []
}

/** Limits an event of the audit log. */
const maxListed = 100

function difference(
  before: readonly (readonly string[])[],
  after: readonly (readonly string[])[],
): object {
  const texts = (groups: readonly (readonly string[])[]) =>
    new Set(groups.map((group) => group.join(', ')))
  const [old, current] = [texts(before), texts(after)]
  return {
    added: [...current].filter((group) => !old.has(group)).slice(0, maxListed),
    removed: [...old].filter((group) => !current.has(group)).slice(0, maxListed),
  }
}
