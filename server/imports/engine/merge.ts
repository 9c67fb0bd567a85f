import { hash } from 'node:crypto'
import { type Fact, type Video, videoDefaults } from '@talkshelf/contract'
import type { NameLookup } from '../../entities/entities.ts'
import { canonicalJson } from '../../platform/http/json.ts'
import type { ItemFields } from '../item.ts'

// Three sides: what the source says now (theirs), what it said the last time (said), and what the
// record shows (mine). A field that only the source changed is taken; a field that only people here
// changed stays; of a field that both changed, the hand edit stays unless somebody decides
// otherwise. No I/O.

export type RecordFields = Partial<Record<keyof Video, unknown>>

/** What a source said of a record. It is only compared with, so long values are kept as a hash. */
export interface SourceState {
  readonly fields: Readonly<Record<string, unknown>>
  readonly facts: readonly string[]
}

export interface FieldChange {
  readonly old: unknown
  readonly new: unknown
  /** Both sides changed it. */
  readonly conflict?: true
}

export interface MergeResult {
  /** What is to be written. */
  readonly patch: RecordFields
  /** All in which the two sides differ, but for what only people here changed. */
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly hasConflicts: boolean
}

/** `take`: fields of which somebody has decided that the source is right. */
export function mergeFields(
  mine: Video,
  theirs: RecordFields,
  sourceState: SourceState | undefined,
  lookup: NameLookup,
  take: readonly string[] = [],
): MergeResult {
  const patch: RecordFields = {}
  const changes: Record<string, FieldChange> = {}
  for (const [field, value] of Object.entries(theirs) as [keyof Video, unknown][]) {
    if (isSame(mine[field], value)) continue
    const change = { old: mine[field], new: value }
    const verdict = verdictOf(field, mine[field], value, sourceState, lookup)
    if (verdict === 'mine' && !take.includes(field)) continue
    changes[field] = verdict === 'conflict' ? { ...change, conflict: true } : change
    if (verdict === 'theirs' || take.includes(field)) patch[field] = value
  }
  return { patch, changes, hasConflicts: Object.values(changes).some(({ conflict }) => conflict) }
}

function verdictOf(
  field: keyof Video,
  mine: unknown,
  theirs: unknown,
  sourceState: SourceState | undefined,
  lookup: NameLookup,
): 'mine' | 'theirs' | 'conflict' {
  const before = sourceState?.fields[field]
  // What it said then is compared as it would be said today: whoever was renamed since has the name
  // of today. A field of which it said nothing is undefined, which no side is now.
  const then = isName(field) ? namedToday(field, before, lookup) : before
  if (isSame(then, remembered(field, theirs))) return 'mine'
  if (isSame(then, remembered(field, mine))) return 'theirs'
  return isNothing(field, mine) ? 'theirs' : 'conflict'
}

/**
 * Facts have no conflicts: what the source takes back goes, what it adds comes, and what others
 * attached stays. A fact that the source said before and that somebody removed since stays away.
 */
export function mergeFacts(
  mine: readonly Fact[],
  theirs: readonly Fact[],
  sourceState: SourceState | undefined,
): Fact[] {
  const [now, then] = [new Set(theirs.map(markOf)), new Set(sourceState?.facts)]
  const kept = mine.filter((fact) => !then.has(markOf(fact)) || now.has(markOf(fact)))
  const has = new Set(kept.map(markOf))
  // Each once, also where a file says it twice.
  const added = theirs.filter(
    (fact) => !then.has(markOf(fact)) && !has.has(markOf(fact)) && has.add(markOf(fact)),
  )
  return [...kept, ...added]
}

export function sourceStateOf(fields: RecordFields, facts: readonly Fact[]): SourceState {
  return {
    fields: Object.fromEntries(
      Object.entries(fields).map(([field, value]) => [
        field,
        remembered(field as keyof Video, value),
      ]),
    ),
    facts: facts.map(markOf),
  }
}

/** The fields of a draft, with the names that their entities have today, each once. */
export function withCurrentNames(fields: ItemFields, lookup: NameLookup): RecordFields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      field,
      isName(field) ? namedToday(field, value, lookup) : value,
    ]),
  ) as RecordFields
}

const kinds = {
  category: 'category',
  language: 'language',
  speakers: 'speaker',
  tags: 'tag',
} as const
const isName = (field: string): field is keyof typeof kinds => field in kinds

function namedToday(field: keyof typeof kinds, value: unknown, lookup: NameLookup): unknown {
  const name = (it: unknown) =>
    typeof it === 'string' ? (lookup[kinds[field]].get(it)?.name ?? it) : it
  return Array.isArray(value) ? [...new Set(value.map(name))] : name(value)
}

const longest = 100

// Names are kept whole, because they are looked up again.
function remembered(field: keyof Video, value: unknown): unknown {
  const text = JSON.stringify(value)
  return isName(field) || text.length <= longest
    ? value
    : { sha256: hash('sha256', text, 'base64url') }
}

// The database puts keys in an order of its own.
function markOf(fact: Fact): string {
  return hash('sha256', canonicalJson(fact), 'base64url').slice(0, 22)
}

/**
 * Nobody has said anything here yet: there is nothing to overwrite. An address is empty as null,
 * and as an empty text.
 */
function isNothing(field: keyof Video, value: unknown): boolean {
  return value === '' || isSame(value, videoDefaults[field as keyof typeof videoDefaults])
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
