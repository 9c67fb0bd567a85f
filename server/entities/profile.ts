import type { CategoryProfile, Profile, SpeakerProfile } from '@talkshelf/contract'
import type { EntityKind } from './queries.ts'

// The profiles of categories and speakers. A profile is stored as JSON that has only the fields that
// are set.

/** The profiles without any information, in the order of the contract. */
const emptyProfiles: Readonly<Record<EntityKind, Profile>> = {
  category: {
    city: null,
    country: null,
    online: false,
    series: null,
    logo_url: null,
    colour: null,
    links: [],
  } satisfies CategoryProfile,
  speaker: {
    description: '',
    pronouns: null,
    picture_url: null,
    links: [],
  } satisfies SpeakerProfile,
  tag: {},
}

type Fields = Readonly<Record<string, unknown>>

/** Returns all fields of a stored profile, in a fixed order: history and ETags compare them. */
export function fullProfile<T extends Profile = Profile>(kind: EntityKind, stored: Profile): T {
  const links = stored.links?.map((link) => ({ kind: link.kind, url: link.url }))
  const set: Fields = { ...stored, ...(links && { links }) }
  const empty: Fields = emptyProfiles[kind]
  return Object.fromEntries(
    Object.keys(empty).map((field) => [field, set[field] ?? empty[field]]),
  ) as T
}

/** Returns the address of the logo of an event or the picture of a speaker. */
export function profilePictureUrl({ logo_url, picture_url }: Profile): string | null {
  return logo_url ?? picture_url ?? null
}

/** Picks the fields of a profile out of other fields, as far as they have any. */
export function pickProfile(kind: EntityKind, fields: Fields): Profile {
  return Object.fromEntries(
    Object.keys(emptyProfiles[kind]).flatMap((field) =>
      fields[field] === undefined ? [] : [[field, fields[field]]],
    ),
  )
}

/** Returns the fields of a profile that are set, as they are stored and exported. */
export function storedProfile(profile: Profile): Profile {
  return Object.fromEntries(Object.entries(profile).filter(([, value]) => isSet(value)))
}

/** Fields that are only merged together: one from each entity would describe neither of them. */
const groups: readonly (readonly string[])[] = [
  ['city', 'country', 'online'],
  ['start_date', 'end_date'],
]

/**
 * Returns the fields of an entity, completed by those of one that is merged into it. A value is
 * never replaced. Place and dates are taken over as a whole or not at all.
 */
export function fillEmpty<T extends object>(into: T, from: T): T {
  const [target, source] = [into as Fields, from as Fields]
  const isFree = (field: string) =>
    (groups.find((group) => group.includes(field)) ?? [field]).every((it) => !isSet(target[it]))
  return Object.fromEntries(
    Object.entries(target).map(([field, value]) => [field, isFree(field) ? source[field] : value]),
  ) as T
}

/**
 * Returns the fields of an entity without those that `fillEmpty` took from another one, as far as
 * they were not changed since. Place and dates are removed as a whole or not at all.
 */
export function removeFilled<T extends object>(
  entity: T,
  source: T,
  filled: readonly string[],
  empty: object,
): T {
  const [fields, given, none] = [entity as Fields, source as Fields, empty as Fields]
  const isUnchanged = (field: string) =>
    (groups.find((group) => group.includes(field)) ?? [field]).every(
      (it) => JSON.stringify(fields[it]) === JSON.stringify(given[it]),
    )
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      field,
      filled.includes(field) && isUnchanged(field) ? none[field] : value,
    ]),
  ) as T
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== undefined && value !== null && value !== '' && value !== false
}
