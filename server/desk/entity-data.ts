import { Problem, type Video } from '@talkshelf/contract'
import type { EntityPageKind, PreviewedTalk, TalkPreview } from '@talkshelf/web'
import { readEntity } from '../entities/entities.ts'
import type { PageSite } from '../pages/pages.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { findBodiesById } from '../videos/videos.ts'
import type { Desk, DeskRequest } from './mount.ts'

// What the pages of speakers, tags and events share: the entity, and the talks that change.

/** How many talks a preview shows. */
export const previewSize = 50
/** A merge that changes more talks needs the passkey again. */
const maxWithoutConfirmation = 100
export const entityAccess = { role: 'editor' } as const

/** What the pages of entities need besides the desk. */
export interface EntityDesk {
  readonly desk: Desk
  readonly pool: Pool
  /** Removes changed records from the cache. */
  forget(ids: readonly number[]): void
  /** Updates the records that a write has left for later. */
  readonly jobRunner: JobRunner
  readonly pictures: Pictures
  readonly site: PageSite
}

/** Returns whether a person has to confirm a change of so many talks. */
export function isTooLarge({ session }: DeskRequest, count: number): boolean {
  return count > maxWithoutConfirmation && !session.isStrong
}

/** An entity as editors see it. */
export interface EditedEntity {
  readonly id: number
  readonly name: string
  readonly slug: string
  readonly talks: number
  /** The version of the entity, without what follows the tilde. */
  readonly etag: string
  /** All fields of the API. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Reads an entity by its slug or an old one. Throws `not-found`. */
export async function readEdited(
  pool: Pool,
  kind: EntityPageKind,
  slug: string,
): Promise<EditedEntity> {
  const found = await readEntity(pool.lists, kind, slug, 'editor')
  const rendered =
    'moved' in found ? await readEntity(pool.lists, kind, found.moved, 'editor') : found
  if ('moved' in rendered) throw new Problem('not-found', `This ${kind} does not exist`)
  const fields = JSON.parse(rendered.body)
  const { id, talks } = fields
  const etag = rendered.etag.replace(/~.*/, '')
  return { id, name: fields.title ?? fields.name, slug: rendered.slug, talks, etag, fields }
}

/** Reads the talks of a preview. */
export async function readPreview(
  pool: Pool,
  { ids, count }: { readonly ids: readonly number[]; readonly count: number },
): Promise<TalkPreview> {
  return { talks: await readTalks(pool, ids), count }
}

/** Reads what editors see of talks, in the order of the ids. */
export async function readTalks(pool: Pool, ids: readonly number[]): Promise<PreviewedTalk[]> {
  const rows = await findBodiesById(pool.lists, ids)
  return ids.map((id) => {
    const row = rows.get(id)
    if (!row || row.taken_down) return { id, title: undefined, details: '', isLive: false }
    const { title, category, speakers, recorded } = JSON.parse(row.body) as Video
    const details = [speakers.join(', '), category, recorded].filter(Boolean).join(' · ')
    return { id, title, details, isLive: row.live }
  })
}
