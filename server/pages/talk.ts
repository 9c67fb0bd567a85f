import type { Video } from '@talkshelf/contract'
import { type Card, sourcesOf, type Talk, type TalkData } from '@talkshelf/web'
import { relatedTo } from '../catalogue/catalogue.ts'
import { factsOf } from '../facts/facts.ts'
import { anyone } from '../platform/actor.ts'
import { Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type Bodies, readVideo } from '../videos/videos.ts'
import { cardOf, namesOf, recordsOf } from './cards.ts'

type Lists = [Video[], Video[], Video[], Video[]]

export async function readTalk(bodies: Bodies, id: number): Promise<Video> {
  const { body } = await readVideo(bodies, anyone, id)
  return JSON.parse(body) as Video
}

export async function talkPage(pool: Pool, record: Video, at: number): Promise<TalkData> {
  const [facts, beside] = await Promise.all([factsOf(pool.lookups, [record.id]), related(pool, record)])
  const [also, speakers, event, similar] = [beside.also, beside.speakers, beside.event, beside.similar].map(recordsOf) as Lists
  const named = await namesOf(pool.lookups, [record, ...also, ...speakers, ...event, ...similar])
  const cards = (records: readonly Video[]): Card[] => records.map((it) => cardOf(it, named))
  return {
    talk: talkOf(record, facts.get(record.id)?.facts ?? [], named),
    also: cards(also),
    bySpeakers: cards(speakers),
    atEvent: cards(event),
    similar: cards(similar),
    at,
  }
}

/** While the database has too much to do, a talk is shown without what stands beside it. */
async function related(pool: Pool, record: Video): ReturnType<typeof relatedTo> {
  try {
    return await relatedTo(pool, record)
  } catch (error) {
    if (error instanceof Unavailable) return { also: [], speakers: [], event: [], similar: [] }
    throw error
  }
}

/** The talk alone, for a page that shows nothing else. */
export async function embedPage(pool: Pool, record: Video, at: number): Promise<{ talk: Talk; at: number }> {
  const [facts, named] = await Promise.all([factsOf(pool.lookups, [record.id]), namesOf(pool.lookups, [record])])
  return { talk: talkOf(record, facts.get(record.id)?.facts ?? [], named), at }
}

function talkOf(record: Video, facts: Parameters<typeof sourcesOf>[1], named: Awaited<ReturnType<typeof namesOf>>): Talk {
  return {
    ...cardOf(record, named),
    ...sourcesOf(record, facts),
    summary: record.summary,
    description: record.description,
    tags: record.tags.map(named.tag),
    qualityNotes: record.quality_notes,
    copyrightText: record.copyright_text,
    added: `${record.added}Z`,
    updated: `${record.updated}Z`,
  }
}
