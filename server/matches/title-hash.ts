import type { ImportItem } from '../imports/imports.ts'
import type { Db } from '../platform/db/db.ts'
import { updateTitleHash } from './queries.ts'
import { hashTitle, toRecording, toScheduledTalk } from './sides.ts'

/**
 * Lets decisions hold although the title of a stored item was replaced: they know it by its hash.
 * `keys` are the keys of the item before and after.
 */
export async function replaceTitleHash(
  tx: Db,
  keys: readonly string[],
  before: unknown,
  after: unknown,
): Promise<void> {
  if (!isTalk(before) || !isTalk(after)) return
  const sides = [
    ['talk', toScheduledTalk],
    ['recording', toRecording],
  ] as const
  for (const [side, describe] of sides) {
    const hashOf = (item: ImportItem) => hashTitle(describe({ key: '', item }).title)
    const [oldHash, newHash] = [hashOf(before), hashOf(after)]
    if (oldHash !== newHash) await updateTitleHash(tx, side, keys, oldHash, newHash)
  }
}

const isTalk = (item: unknown): item is ImportItem =>
  typeof item === 'object' && item !== null && 'fields' in item && 'facts' in item
