import type { Fact, Video } from '@talkshelf/contract'
import { type Card, findSources, type Talk, type TalkData } from '@talkshelf/web'
import { findRelated } from '../catalogue/catalogue.ts'
import { findFactsById } from '../facts/facts.ts'
import { findSourceStates, noSourceStates, type SourceStates } from '../links/links.ts'
import type { Markdown } from '../markdown/markdown.ts'
import { anyone } from '../platform/actor.ts'
import { Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import { listCredits } from '../suggestions/suggestions.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import { buildCard, type CardNames, lookUpCardNames, parseRecords } from './cards.ts'

/** Readers who get credit on the page of a talk. */
const maxCredits = 20

type RelatedRecords = [Video[], Video[], Video[], Video[]]

/** Reads a live record. Throws 404 or 410 otherwise. */
export async function readTalk(recordCache: RecordCache, id: number): Promise<Video> {
  const { body } = await readVideo(recordCache, anyone, id)
  return JSON.parse(body) as Video
}

/** Loads the watch page. `at` is the start time in seconds. */
export async function talkPage(
  pool: Pool,
  markdown: Markdown,
  record: Video,
  at: number,
  origin: string,
): Promise<TalkData> {
  const [facts, states, credits, related, texts] = await Promise.all([
    findFactsById(pool.lookups, [record.id]),
    findSourceStates(pool.lookups, [record.id]),
    listCredits(pool.lookups, record.id, maxCredits),
    relatedOrNone(pool, record),
    Promise.all(visibleTexts(record).map(markdown.render)),
  ])
  const [also, speakers, event, similar] = [
    related.also,
    related.speakers,
    related.event,
    related.similar,
  ].map(parseRecords) as RelatedRecords
  const names = await lookUpCardNames(pool.lookups, [
    record,
    ...also,
    ...speakers,
    ...event,
    ...similar,
  ])
  const cards = (records: readonly Video[]): Card[] =>
    records.map((video) => buildCard(video, names))
  return {
    talk: talkOf(record, { facts, states, names, origin }),
    texts,
    also: cards(also),
    bySpeakers: cards(speakers),
    atEvent: cards(event),
    similar: cards(similar),
    at,
    credits,
  }
}

/** Omits a summary that the description repeats. */
function visibleTexts({ summary, description }: Video): string[] {
  const texts = description.startsWith(summary) ? [description] : [summary, description]
  return texts.filter((text) => text.trim() !== '')
}

/** Returns no related talks while the database is overloaded: the page works without them. */
async function relatedOrNone(pool: Pool, record: Video): ReturnType<typeof findRelated> {
  try {
    return await findRelated(pool, record, false)
  } catch (error) {
    if (error instanceof Unavailable) return { also: [], speakers: [], event: [], similar: [] }
    throw error
  }
}

/** Loads the embeddable player. `at` is the start time in seconds. */
export async function embedPage(
  pool: Pool,
  record: Video,
  at: number,
  origin: string,
): Promise<{ talk: Talk; at: number }> {
  const [facts, states, names] = await Promise.all([
    findFactsById(pool.lookups, [record.id]),
    findSourceStates(pool.lookups, [record.id]),
    lookUpCardNames(pool.lookups, [record]),
  ])
  return { talk: talkOf(record, { facts, states, names, origin }), at }
}

function recordingStatusOf(facts: readonly Fact[]): Pick<Talk, 'recordingStatus'> {
  const fact = facts.find(({ kind }) => kind === 'recording')
  return fact?.kind === 'recording' ? { recordingStatus: fact.status } : {}
}

interface TalkContext {
  readonly facts: Awaited<ReturnType<typeof findFactsById>>
  readonly states: ReadonlyMap<number, SourceStates>
  readonly names: CardNames
  readonly origin: string
}

function talkOf(record: Video, { facts: all, states, names, origin }: TalkContext): Talk {
  const facts = all.get(record.id)?.facts ?? []
  const { byUrl } = states.get(record.id) ?? noSourceStates
  return {
    ...buildCard(record, names),
    ...findSources(record, facts, origin, byUrl),
    ...recordingStatusOf(facts),
    summary: record.summary,
    description: record.description,
    tags: record.tags.map(names.tag),
    qualityNotes: record.quality_notes,
    copyrightText: record.copyright_text,
    added: `${record.added}Z`,
    updated: `${record.updated}Z`,
  }
}

/** Returns the id of a talk that a person typed: a number, or the URL of a page of the talk. */
export function talkIdIn(text: string): number | undefined {
  const [, id] = /(?:^|\/(?:video|talk)\/)(\d{1,15})(?:\/|$|\?)/.exec(text.trim()) ?? []
  return id === undefined ? undefined : parseId(id)
}
