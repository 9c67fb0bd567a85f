import {
  type CategoryProfile,
  categoryProfile,
  type SpeakerProfile,
  speakerProfile,
  validationErrors,
} from '@talkshelf/contract'

/**
 * Returns the values of a profile that an event can have. The others are left out: an odd colour or
 * logo in the source is no reason to refuse the event.
 */
export function readEventProfile(values: Unchecked<CategoryProfile>): Partial<CategoryProfile> {
  return validFields(categoryProfile, values)
}

/** Returns the values of a profile that a speaker can have. */
export function readSpeakerProfile(values: Unchecked<SpeakerProfile>): Partial<SpeakerProfile> {
  return validFields(speakerProfile, values)
}

type Unchecked<Profile> = { readonly [Field in keyof Profile]?: unknown }

function validFields(
  schemas: Readonly<Record<string, Parameters<typeof validationErrors>[0]>>,
  values: Readonly<Record<string, unknown>>,
): object {
  const isValid = ([field, value]: [string, unknown]) => {
    const schema = schemas[field]
    return schema && value !== undefined && value !== '' && !validationErrors(schema, value).length
  }
  return Object.fromEntries(Object.entries(values).filter(isValid))
}
