import type { Video } from '@talkshelf/contract'
import type { Card, LanguageOf, Named } from '@talkshelf/web'
import { pictureVersion } from '../pictures/pictures.ts'
import type { Db } from '../platform/db/db.ts'
import { findThings } from '../vocabulary/vocabulary.ts'

// From records, which show names, to what pages link to.

/** Makes cards of records, with all names looked up in one go. */
export async function cardsOf(db: Db, records: readonly Video[]): Promise<Map<number, Card>> {
  const named = await namesOf(db, records)
  return new Map(records.map((record) => [record.id, cardOf(record, named)]))
}

export interface NamesOf {
  category(name: string): Named
  speaker(name: string): Named
  tag(name: string): Named
  language(name: string): LanguageOf
}

export async function namesOf(db: Db, records: readonly Video[]): Promise<NamesOf> {
  const found = await findThings(db, {
    category: records.map(({ category }) => category),
    speaker: records.flatMap(({ speakers }) => speakers),
    tag: records.flatMap(({ tags }) => tags),
    language: records.map(({ language }) => language),
  })
  // A name that was changed a moment ago may lead nowhere for as long; its page then says so.
  const unknown = (name: string) => ({ id: 0, slug: '-', name })
  return {
    category: (name) => found.category.get(name) ?? unknown(name),
    speaker: (name) => found.speaker.get(name) ?? unknown(name),
    tag: (name) => found.tag.get(name) ?? unknown(name),
    language: (name) => found.language.get(name) ?? { name, slug: '-', code: 'und' },
  }
}

export function cardOf(record: Video, named: NamesOf): Card {
  return {
    id: record.id,
    slug: record.slug,
    title: record.title,
    speakers: record.speakers.map(named.speaker),
    category: named.category(record.category),
    language: named.language(record.language),
    recorded: record.recorded,
    seconds: record.duration,
    pictureVersion: pictureVersion(record),
  }
}

export const recordsOf = (bodies: readonly string[]): Video[] => bodies.map((body) => JSON.parse(body) as Video)
