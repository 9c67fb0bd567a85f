import { type CategoryProfile, categoryProfile, validationErrors } from '@talkshelf/contract'

type ProfileField = keyof CategoryProfile

/**
 * Returns the values of a profile that an event can have. The others are left out: an odd colour or
 * logo in the source is no reason to refuse the event.
 */
export function readProfile(
  values: Readonly<Partial<Record<ProfileField, unknown>>>,
): Partial<CategoryProfile> {
  const isValid = ([field, value]: [string, unknown]) =>
    value !== undefined &&
    value !== '' &&
    validationErrors(categoryProfile[field as ProfileField], value).length === 0
  return Object.fromEntries(Object.entries(values).filter(isValid))
}
