import type { Video } from '@talkshelf/contract'
import type { Card, LanguageOf, NamedLink } from '@talkshelf/web'
import { findPublicEntities } from '../entities/entities.ts'
import { pictureVersion } from '../pictures/pictures.ts'
import type { Db } from '../platform/db/db.ts'

// From records, which show names, to what pages link to.

/** Makes cards of records, with all names looked up in one go. */
export async function buildCards(db: Db, records: readonly Video[]): Promise<Map<number, Card>> {
  const named = await lookUpCardNames(db, records)
  return new Map(records.map((record) => [record.id, buildCard(record, named)]))
}

export interface CardNames {
  category(name: string): NamedLink
  speaker(name: string): NamedLink
  tag(name: string): NamedLink
  language(name: string): LanguageOf
}

export async function lookUpCardNames(db: Db, records: readonly Video[]): Promise<CardNames> {
  const found = await findPublicEntities(db, {
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

export function buildCard(record: Video, named: CardNames): Card {
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

export const parseRecords = (bodies: readonly string[]): Video[] =>
  bodies.map((body) => JSON.parse(body) as Video)
