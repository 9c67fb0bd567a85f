import type { Video } from '@talkshelf/contract'
import { type Card, findSources, type Talk, type TalkData } from '@talkshelf/web'
import { findRelated } from '../catalogue/catalogue.ts'
import { findFactsById } from '../facts/facts.ts'
import type { Markdown } from '../markdown/markdown.ts'
import { anyone } from '../platform/actor.ts'
import { Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import { buildCard, lookUpCardNames, parseRecords } from './cards.ts'

type Lists = [Video[], Video[], Video[], Video[]]

export async function readTalk(recordCache: RecordCache, id: number): Promise<Video> {
  const { body } = await readVideo(recordCache, anyone, id)
  return JSON.parse(body) as Video
}

export async function talkPage(
  pool: Pool,
  markdown: Markdown,
  record: Video,
  at: number,
): Promise<TalkData> {
  const [facts, beside, texts] = await Promise.all([
    findFactsById(pool.lookups, [record.id]),
    related(pool, record),
    Promise.all(shownTexts(record).map(markdown.render)),
  ])
  const [also, speakers, event, similar] = [
    beside.also,
    beside.speakers,
    beside.event,
    beside.similar,
  ].map(parseRecords) as Lists
  const named = await lookUpCardNames(pool.lookups, [
    record,
    ...also,
    ...speakers,
    ...event,
    ...similar,
  ])
  const cards = (records: readonly Video[]): Card[] => records.map((it) => buildCard(it, named))
  return {
    talk: talkOf(record, facts.get(record.id)?.facts ?? [], named),
    texts,
    also: cards(also),
    bySpeakers: cards(speakers),
    atEvent: cards(event),
    similar: cards(similar),
    at,
  }
}

/** Leaves out a summary that the description repeats. */
function shownTexts({ summary, description }: Video): string[] {
  const texts = description.startsWith(summary) ? [description] : [summary, description]
  return texts.filter((text) => text.trim() !== '')
}

/** While the database has too much to do, a talk is shown without what stands beside it. */
async function related(pool: Pool, record: Video): ReturnType<typeof findRelated> {
  try {
    return await findRelated(pool, record, false)
  } catch (error) {
    if (error instanceof Unavailable) return { also: [], speakers: [], event: [], similar: [] }
    throw error
  }
}

/** The talk alone, for a page that shows nothing else. */
export async function embedPage(
  pool: Pool,
  record: Video,
  at: number,
): Promise<{ talk: Talk; at: number }> {
  const [facts, named] = await Promise.all([
    findFactsById(pool.lookups, [record.id]),
    lookUpCardNames(pool.lookups, [record]),
  ])
  return { talk: talkOf(record, facts.get(record.id)?.facts ?? [], named), at }
}

function talkOf(
  record: Video,
  facts: Parameters<typeof findSources>[1],
  named: Awaited<ReturnType<typeof lookUpCardNames>>,
): Talk {
  return {
    ...buildCard(record, named),
    ...findSources(record, facts),
    summary: record.summary,
    description: record.description,
    tags: record.tags.map(named.tag),
    qualityNotes: record.quality_notes,
    copyrightText: record.copyright_text,
    added: `${record.added}Z`,
    updated: `${record.updated}Z`,
  }
}
