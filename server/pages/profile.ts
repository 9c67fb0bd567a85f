import type { EntityPageKind, EntityProfile } from '@talkshelf/web'
import { findSeriesEvents, type PublicEntity, profilePictureUrl } from '../entities/entities.ts'
import { profilePictureVersion } from '../pictures/pictures.ts'
import type { Db } from '../platform/db/db.ts'

/** Loads the profile of an event or speaker. Tags have none. */
export async function entityProfile(
  db: Db,
  kind: EntityPageKind,
  { id, profile }: PublicEntity,
): Promise<EntityProfile | undefined> {
  if (kind === 'tag') return undefined
  const { city = null, country = null, online = false, series } = profile
  const pictureUrl = profilePictureUrl(profile)
  const events = series ? await findSeriesEvents(db, series) : []
  return {
    picture: pictureUrl ? { kind, id, version: profilePictureVersion(pictureUrl) } : null,
    colour: profile.colour ?? null,
    pronouns: profile.pronouns ?? null,
    place: city || country || online ? { city, country, online } : null,
    series: series
      ? { name: series, events: events.map((event) => ({ ...event, isCurrent: event.id === id })) }
      : null,
    links: profile.links ?? [],
  }
}
