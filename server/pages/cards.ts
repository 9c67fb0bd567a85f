import { durationDoubt, type Video } from '@talkshelf/contract'
import type { Card, LanguageOf, NamedLink } from '@talkshelf/web'
import { findPublicEntities } from '../entities/entities.ts'
import { pictureVersion } from '../pictures/pictures.ts'
import type { Db } from '../platform/db/db.ts'

// Turns records, which contain names, into cards with links.

/** Builds the cards of records, by record id. All names are looked up in one query. */
export async function buildCards(db: Db, records: readonly Video[]): Promise<Map<number, Card>> {
  const names = await lookUpCardNames(db, records)
  return new Map(records.map((record) => [record.id, buildCard(record, names)]))
}

export interface CardNames {
  category(name: string): NamedLink
  speaker(name: string): NamedLink
  tag(name: string): NamedLink
  language(name: string): LanguageOf
}

/** Looks up the entities behind all names of the records. */
export async function lookUpCardNames(db: Db, records: readonly Video[]): Promise<CardNames> {
  const entities = await findPublicEntities(db, {
    category: records.map(({ category }) => category),
    speaker: records.flatMap(({ speakers }) => speakers),
    tag: records.flatMap(({ tags }) => tags),
    language: records.map(({ language }) => language),
  })
  // A name that was changed a moment ago can be unknown for a short time: its link returns 404.
  const unknown = (name: string) => ({ id: 0, slug: '-', name })
  return {
    category: (name) => entities.category.get(name) ?? unknown(name),
    speaker: (name) => entities.speaker.get(name) ?? unknown(name),
    tag: (name) => entities.tag.get(name) ?? unknown(name),
    language: (name) => entities.language.get(name) ?? { name, slug: '-', code: 'und' },
  }
}

/** Builds the card of a record. */
export function buildCard(record: Video, names: CardNames): Card {
  return {
    id: record.id,
    slug: record.slug,
    title: record.title,
    speakers: record.speakers.map(names.speaker),
    category: names.category(record.category),
    language: names.language(record.language),
    recorded: record.recorded,
    seconds: record.duration,
    isLengthDoubtful: record.duration !== null && durationDoubt(record.duration) !== undefined,
    pictureVersion: pictureVersion(record),
  }
}

/** Parses the bodies of a list of records. */
export const parseRecords = (bodies: readonly string[]): Video[] =>
  bodies.map((body) => JSON.parse(body) as Video)
