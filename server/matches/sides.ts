import { hash } from 'node:crypto'
import type { Match } from '@talkshelf/contract'
import type { ImportItem } from '../imports/imports.ts'
import { type Recording, type ScheduledTalk, titleFingerprint } from '../matching/matching.ts'
import type { ItemRow } from './queries.ts'

// Reads talks and recordings from the items of imports. No I/O.

/** An item with its key at its source. */
export interface KeyedItem {
  readonly key: string
  readonly item: ImportItem
}

/** Returns the talks of one side, each key once. */
export function talksOf(rows: readonly ItemRow[], side: ItemRow['side']): KeyedItem[] {
  const keys = new Set<string>()
  return rows.flatMap((row) => {
    const { key, item } = row
    if (row.side !== side || key === null || !('fields' in item) || keys.has(key)) return []
    keys.add(key)
    return { key, item }
  })
}

/** Finds the entries of both files that are not matched, because of an error or a repeated key. */
export function findLeftOut(rows: readonly ItemRow[]): Match['left_out'] {
  const used = new Map<string, string>()
  return rows.flatMap(({ side, key, item }): Match['left_out'] => {
    const file = side === 'talk' ? 'schedule' : 'playlist'
    if ('unreadable' in item) return [{ file, place: item.place, reason: item.unreadable }]
    if (key === null || !('fields' in item)) return []
    const first = used.get(`${side} ${key}`)
    if (first === undefined) used.set(`${side} ${key}`, item.place)
    return first === undefined ? [] : [{ file, place: item.place, reason: `Duplicate of ${first}` }]
  })
}

/** Describes a talk of the schedule for the matcher. */
export function toScheduledTalk({ key, item: { fields, fallback, facts } }: KeyedItem) {
  const slot = facts.find((fact) => fact.kind === 'slot')
  const { recorded, duration } = { ...fallback, ...fields }
  return {
    key,
    title: textOf(fields.title),
    speakers: namesOf(fields.speakers),
    start: slot?.start.slice(0, 16) ?? (typeof recorded === 'string' ? recorded : null),
    room: slot?.room ?? null,
    minutes: slot?.minutes ?? (typeof duration === 'number' ? Math.round(duration / 60) : null),
  } satisfies ScheduledTalk
}

/** Describes a recording for the matcher, with the title that it has at its host. */
export function toRecording({ key, item: { fields, facts } }: KeyedItem) {
  const original = facts.find((fact) => fact.kind === 'said' && fact.field === 'title')
  const title = original?.kind === 'said' ? original.value : fields.title
  return {
    key,
    title: textOf(title),
    seconds: typeof fields.duration === 'number' ? fields.duration : null,
    description: textOf(fields.description),
  } satisfies Recording
}

/** Returns the hash of a title by which a decision knows whether it has changed. */
export const hashTitle = (title: string) =>
  hash('sha256', titleFingerprint(title), 'base64url').slice(0, 22)

// Nothing in an item has been validated yet.
const textOf = (value: unknown) => (typeof value === 'string' ? value : '')
const namesOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
