import { hash } from 'node:crypto'
import type { ImportItem } from '../item.ts'

// The key under which a source knows a talk. No I/O.

const derivedPrefix = 'talk:'

/** The longest key that fits into an index entry. */
const maxKeyLength = 500

/**
 * Returns the key of a talk at its source. Without a key of its own, the video identifies it, and
 * without a video its category, title and speakers. A long key is hashed.
 */
export function itemKey({ key, fields }: ImportItem, sourceKey: string | undefined): string {
  if (key !== undefined) return key.length <= maxKeyLength ? key : `sha256:${digestOf(key)}`
  if (sourceKey !== undefined)
    return sourceKey.length <= maxKeyLength
      ? `source:${sourceKey}`
      : `source:${digestOf(sourceKey)}`
  return `${derivedPrefix}${digestOf(JSON.stringify([fields.category, fields.title, fields.speakers]))}`
}

const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, 22)

/** Tells whether a key was made of category, title and speakers: it changes with each of them. */
export const isDerivedKey = (key: string) => key.startsWith(derivedPrefix)
