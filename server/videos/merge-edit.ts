import type { Video } from '@talkshelf/contract'

// A three-way merge of an edit: the version that the editor saw (base), what the editor changed in
// it, and the current version, which others may have changed since. No I/O.

export type Edit = Partial<Video>

/** A field that both changed, differently. */
export interface EditConflict {
  readonly field: keyof Video
  readonly base: unknown
  readonly current: unknown
  readonly edited: unknown
}

export interface MergedEdit {
  /** The current version with the edit. Fields with a conflict have their current value. */
  readonly video: Video
  readonly conflicts: readonly EditConflict[]
}

/**
 * Merges an edit into the current version. A field that changed only in the edit is taken, one that
 * changed only in the current version stays, and speakers and tags are merged by element.
 */
export function mergeEdit(base: Video, edit: Edit, current: Video): MergedEdit {
  const merged: Record<string, unknown> = { ...current }
  const conflicts: EditConflict[] = []
  for (const [field, edited] of Object.entries(edit) as [keyof Video, unknown][]) {
    const value = mergeValue(base[field], edited, current[field])
    if (value === undefined)
      conflicts.push({ field, base: base[field], current: current[field], edited })
    else merged[field] = value
  }
  return { video: merged as Video, conflicts }
}

/** Returns undefined if both changed the value differently. */
function mergeValue(base: unknown, edited: unknown, current: unknown): unknown {
  if (isSame(base, edited) || isSame(edited, current)) return current
  if (isSame(base, current)) return edited
  if (![base, edited, current].every(Array.isArray)) return undefined
  return mergeLists(base as string[], edited as string[], current as string[])
}

/**
 * Merges two lists that were changed: what either side added is there, and what either side removed
 * is not. Returns undefined if both replaced the same element, because that would leave two
 * spellings of one name.
 */
function mergeLists(base: string[], edited: string[], current: string[]): string[] | undefined {
  const addedBy = (list: string[]) => list.filter((name) => !base.includes(name))
  const removedBy = (list: string[]) => base.filter((name) => !list.includes(name))
  const [added, addedToo] = [addedBy(edited), addedBy(current)]
  const removed = removedBy(edited)
  const isReplacedTwice =
    removedBy(current).some((name) => removed.includes(name)) &&
    added.some((name) => !addedToo.includes(name)) &&
    addedToo.some((name) => !added.includes(name))
  if (isReplacedTwice) return undefined
  // The order is that of the side that changed it. If both did, the current order stays.
  const keepsOrder = isSame(
    current.filter((name) => base.includes(name)),
    base.filter((name) => current.includes(name)),
  )
  return keepsOrder ? withChanges(edited, base, current) : withChanges(current, base, edited)
}

/** Makes the changes from `base` to `other` in a list. Each new element keeps its predecessor. */
function withChanges(list: string[], base: string[], other: string[]): string[] {
  const merged = list.filter((name) => !base.includes(name) || other.includes(name))
  for (const [index, name] of other.entries()) {
    if (base.includes(name) || merged.includes(name)) continue
    const predecessor = other[index - 1]
    const isGone = predecessor !== undefined && !merged.includes(predecessor)
    merged.splice(isGone ? merged.length : merged.indexOf(predecessor as string) + 1, 0, name)
  }
  return merged
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
