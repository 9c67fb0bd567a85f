import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Fact, type Video, videoDefaults } from '@talkshelf/contract'
import type { NameLookup } from '../../entities/entities.ts'
import { canonicalJson } from '../../platform/http/json.ts'
import type { ItemFields } from '../item.ts'

// A three-way merge of what the source says now (theirs), what it said at its last import (the
// source state), and what the record has (mine). A field that changed only at the source is taken,
// one that changed only here stays. If both changed, the edit here stays unless an editor decides
// otherwise. A value that an earlier import wrote is no edit: a table, which people correct, replaces
// it. No I/O.

export type RecordFields = Partial<Record<keyof Video, unknown>>

/** What a source said about a record. Used for comparison only, so long values are hashed. */
export interface SourceState {
  readonly fields: Readonly<Record<string, unknown>>
  readonly facts: readonly string[]
}

export interface FieldChange {
  readonly old: unknown
  readonly new: unknown
  /** Both sides changed it. */
  readonly conflict?: true
  /** The value here is from an earlier import, not from a person. */
  readonly imported?: true
}

export interface MergeResult {
  /** The fields to write. */
  readonly patch: RecordFields
  /** All fields that differ, except those that changed only here. */
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly hasConflicts: boolean
}

export interface MergeOptions {
  /** Fields that an editor decided to take from the source. */
  readonly take?: readonly string[] | undefined
  /** Fields whose value here was written by an import. */
  readonly imported?: readonly string[] | undefined
  /** Whether the values of the source replace those. */
  readonly replacesImports?: boolean | undefined
}

/** Merges the fields of a record. */
export function mergeFields(
  mine: Video,
  theirs: RecordFields,
  sourceState: SourceState | undefined,
  lookup: NameLookup,
  { take = [], imported = [], replacesImports = false }: MergeOptions = {},
): MergeResult {
  const patch: RecordFields = {}
  const changes: Record<string, FieldChange> = {}
  for (const [field, value] of Object.entries(theirs) as [keyof Video, unknown][]) {
    if (isSame(mine[field], value)) continue
    const change = { old: mine[field], new: value }
    const isImported = imported.includes(field)
    const difference = winnerOf(field, mine[field], value, sourceState, lookup)
    const winner =
      difference === 'conflict' && isImported && replacesImports ? 'theirs' : difference
    const isTaken = take.includes(field)
    if (winner === 'mine' && !isTaken) continue
    changes[field] = {
      ...change,
      ...(winner === 'conflict' && { conflict: true }),
      ...(winner === 'conflict' && isImported && { imported: true }),
    }
    if (winner === 'theirs' || isTaken) patch[field] = value
  }
  return { patch, changes, hasConflicts: Object.values(changes).some(({ conflict }) => conflict) }
}

function winnerOf(
  field: keyof Video,
  mine: unknown,
  theirs: unknown,
  sourceState: SourceState | undefined,
  lookup: NameLookup,
): 'mine' | 'theirs' | 'conflict' {
  // Names are compared as they are today, after renames. A field that the source did not have is
  // undefined, which neither side can be now.
  const stored = sourceState?.fields[field]
  const base = hasNames(field) ? toCurrentNames(field, stored, lookup) : stored
  if (isSame(base, comparable(field, theirs))) return 'mine'
  if (isSame(base, comparable(field, mine))) return 'theirs'
  return isEmpty(field, mine) ? 'theirs' : 'conflict'
}

/**
 * Merges facts, which have no conflicts: those that the source withdrew are removed, those that it
 * added are added, and those from elsewhere stay. A fact that the source had before and an editor
 * removed is not added again, nor the bare URL of a link that the record has: tables have no labels
 * and sizes.
 */
export function mergeFacts(
  mine: readonly Fact[],
  theirs: readonly Fact[],
  sourceState: SourceState | undefined,
): Fact[] {
  const current = new Set(theirs.map(fingerprintOf))
  const previous = new Set(sourceState?.facts)
  const retained = mine.filter((fact) => {
    const fingerprint = fingerprintOf(fact)
    return !previous.has(fingerprint) || current.has(fingerprint)
  })
  const seen = new Set(retained.map(fingerprintOf))
  const isKnownLink = (fact: Fact) =>
    isBareLink(fact) && retained.some((own) => own.kind === fact.kind && own.url === fact.url)
  const added = theirs.filter((fact) => {
    const fingerprint = fingerprintOf(fact)
    if (previous.has(fingerprint) || seen.has(fingerprint) || isKnownLink(fact)) return false
    seen.add(fingerprint)
    return true
  })
  return [...retained, ...added]
}

/** Builds the state of a source that the next import is compared with. */
export function sourceStateOf(fields: RecordFields, facts: readonly Fact[]): SourceState {
  return {
    fields: Object.fromEntries(
      Object.entries(fields).map(([field, value]) => [
        field,
        comparable(field as keyof Video, value),
      ]),
    ),
    facts: facts.map(fingerprintOf),
  }
}

/**
 * Reverts what an import changed in the state of its source: from `previous` to `applied`. Keeps
 * what a later import has replaced since. Undefined if nothing is left.
 */
export function revertSourceState(
  current: SourceState | undefined,
  previous: SourceState | null | undefined,
  applied: SourceState | undefined,
): SourceState | undefined {
  if (!current || !applied || isDeepStrictEqual(current, applied)) return previous ?? undefined
  const fields = { ...current.fields }
  for (const field of Object.keys({ ...previous?.fields, ...applied.fields })) {
    const [before, after] = [previous?.fields[field], applied.fields[field]]
    if (isDeepStrictEqual(before, after) || !isDeepStrictEqual(fields[field], after)) continue
    if (before === undefined) delete fields[field]
    else fields[field] = before
  }
  const hasSameFacts = isDeepStrictEqual(current.facts, applied.facts)
  return { fields, facts: hasSameFacts ? (previous?.facts ?? []) : current.facts }
}

/** Replaces names by those that their entities have today, each once. */
export function withCurrentNames(fields: ItemFields, lookup: NameLookup): RecordFields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      field,
      hasNames(field) ? toCurrentNames(field, value, lookup) : value,
    ]),
  ) as RecordFields
}

const entityKinds = {
  category: 'category',
  language: 'language',
  speakers: 'speaker',
  tags: 'tag',
} as const
type NameField = keyof typeof entityKinds
const hasNames = (field: string): field is NameField => field in entityKinds

function toCurrentNames(field: NameField, value: unknown, lookup: NameLookup): unknown {
  const current = (name: unknown) =>
    typeof name === 'string' ? (lookup[entityKinds[field]].get(name)?.name ?? name) : name
  return Array.isArray(value) ? [...new Set(value.map(current))] : current(value)
}

const maxStoredLength = 100

// Names are stored unhashed, because they are looked up again.
function comparable(field: keyof Video, value: unknown): unknown {
  const json = JSON.stringify(value)
  return hasNames(field) || json.length <= maxStoredLength
    ? value
    : { sha256: hash('sha256', json, 'base64url') }
}

function isBareLink(fact: Fact): fact is Extract<Fact, { kind: 'related' | 'media' }> {
  return (
    (fact.kind === 'related' && fact.label === null) ||
    (fact.kind === 'media' && fact.size === null)
  )
}

// Canonical, because the database reorders the keys of JSON.
function fingerprintOf(fact: Fact): string {
  return hash('sha256', canonicalJson(fact), 'base64url').slice(0, 22)
}

/** Returns whether there is nothing to overwrite. An empty URL is null or an empty string. */
function isEmpty(field: keyof Video, value: unknown): boolean {
  return value === '' || isSame(value, videoDefaults[field as keyof typeof videoDefaults])
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
