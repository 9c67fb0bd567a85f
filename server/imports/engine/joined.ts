import { isDeepStrictEqual } from 'node:util'
import type { NameLookup } from '../../entities/entities.ts'
import { normalizeVideoInput } from '../../videos/videos.ts'
import type { ImportItem, ItemFields, JoinedContent, SourceContent } from '../item.ts'
import { type SourceState, sourceStateOf, withCurrentNames } from './merge.ts'

// The states of the sources of a talk that is joined from several. Each source is remembered by
// itself, so that each of them can be imported again. No I/O.

/** What a further source of a talk says now, and what it said at its last import. */
export interface OtherState {
  readonly source: string
  readonly key: string
  readonly sourceState: SourceState
  readonly previousState?: SourceState | undefined
  /** The record that the key had before. */
  readonly previousVideoId?: number | undefined
}

/** What a source had under a key before: the record and its state. */
export interface KnownRecord {
  readonly videoId: number
  readonly state: SourceState
}

/** Returns the fields of everything that the sources of an item say. */
export const fieldsOfSources = ({ joined }: ImportItem): ItemFields[] =>
  joined ? [joined.own, ...joined.others].map(({ fields }) => fields) : []

/**
 * Returns what the source of the import says now: the item itself, or its own content if it is
 * joined. `state` is the state that the import sets, if it does.
 */
export function ownStateOf(
  { joined, facts }: ImportItem,
  fields: object,
  lookup: NameLookup,
  state: { readonly state?: unknown },
): SourceState {
  return joined
    ? stateOfContent(joined.own, lookup, state)
    : sourceStateOf({ ...state, ...fields }, facts)
}

/** Returns the states of the other sources of a joined talk. */
export function otherStatesOf(
  { others }: JoinedContent,
  previous: ReadonlyMap<string, KnownRecord>,
  lookup: NameLookup,
  state: { readonly state?: unknown },
): OtherState[] {
  return others.map(({ source, key, ...content }) => {
    const known = previous.get(sourceKey(source, key))
    return {
      source,
      key,
      sourceState: stateOfContent(content, lookup, state),
      previousState: known?.state,
      previousVideoId: known?.videoId,
    }
  })
}

export const sourceKey = (source: string, key: string) => JSON.stringify([source, key])

/**
 * Returns what all sources of an item said before about this record. A field is compared with the
 * source that it is from, or else with any that had it.
 */
export function joinPreviousStates(
  { joined, fields }: ImportItem,
  videoId: number | undefined,
  own: SourceState | undefined,
  others: ReadonlyMap<string, KnownRecord>,
): SourceState | undefined {
  if (!joined) return own
  const stateOf = (source: string, key: string) => {
    const known = others.get(sourceKey(source, key))
    return known?.videoId === videoId ? known?.state : undefined
  }
  const sources = [
    { content: joined.own, state: own },
    ...joined.others.map(({ source, key, ...content }) => ({
      content,
      state: stateOf(source, key),
    })),
  ].flatMap(({ content, state }) => (state ? [{ content, state }] : []))
  if (sources.length === 0) return undefined
  const baseOf = (field: string) => {
    const having = sources.filter(({ state }) => state.fields[field] !== undefined)
    const name = field as keyof ItemFields
    const origin = having.find(({ content }) =>
      isDeepStrictEqual(content.fields[name], fields[name]),
    )
    return (origin ?? having[0])?.state.fields[field]
  }
  const names = new Set(sources.flatMap(({ state }) => Object.keys(state.fields)))
  return {
    fields: Object.fromEntries([...names].map((field) => [field, baseOf(field)])),
    facts: [...new Set(sources.flatMap(({ state }) => state.facts))],
  }
}

function stateOfContent(
  { fields, facts }: SourceContent,
  lookup: NameLookup,
  state: { readonly state?: unknown },
): SourceState {
  const current = withCurrentNames(normalizeVideoInput(fields) as ItemFields, lookup)
  return sourceStateOf({ ...state, ...current }, facts)
}
