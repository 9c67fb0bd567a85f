import { CategoryPatch, NamePatch, SpeakerPatch, validate } from '@talkshelf/contract'
import {
  type EntityKind,
  type EntityPatch,
  normalizeEntityInput,
  pickProfile,
} from '../entities/entities.ts'

/** Validates the body of a PATCH of an entity. Throws `invalid-fields`. */
export function parseEntityPatch(kind: EntityKind, body: unknown): EntityPatch {
  const fields = normalizeEntityInput(body)
  if (kind === 'category') return categoryPatch(validate(CategoryPatch, fields))
  const input = validate(kind === 'speaker' ? SpeakerPatch : NamePatch, fields)
  const { name, aliases, retired_slugs: retiredSlugs } = input
  return { name, aliases, retiredSlugs, profile: pickProfile(kind, input) }
}

function categoryPatch(input: CategoryPatch): EntityPatch {
  const { title, aliases, retired_slugs, description, url, start_date, end_date } = input
  const about = Object.fromEntries(
    Object.entries({ description, url, start_date, end_date }).filter(
      ([, value]) => value !== undefined,
    ),
  )
  const profile = pickProfile('category', input)
  return { name: title, aliases, about, profile, retiredSlugs: retired_slugs }
}
