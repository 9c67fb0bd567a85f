import type { ProfileLink } from '@talkshelf/contract'
import {
  type EntityPageKind,
  type ProfileField,
  type ProfileValues,
  profileFields,
} from '@talkshelf/web'
import type { EditedEntity } from './entity-data.ts'

// Profiles of events and speakers as texts of a form, and back.

/** Returns the texts of a profile. */
export function profileValues(kind: EntityPageKind, { fields }: EditedEntity): ProfileValues {
  return Object.fromEntries(
    profileFields[kind].map((field) => [field, toText(field, fields[field])]),
  )
}

function toText(field: ProfileField, value: unknown): string {
  if (field === 'online') return value ? '1' : '0'
  if (field === 'links')
    return (value as readonly ProfileLink[]).map(({ kind, url }) => `${kind} ${url}`).join('\n')
  return String(value ?? '')
}

/** Returns the profile in a form. */
export function profileIn(kind: EntityPageKind, form: URLSearchParams): ProfileValues {
  return Object.fromEntries(
    // The hidden field of a checkbox comes first.
    profileFields[kind].map((field) => [field, form.getAll(field).at(-1) ?? '']),
  )
}

/** Returns the body of the PATCH that saves the fields that differ from the entity. */
export function profilePatch(
  kind: EntityPageKind,
  entity: EditedEntity,
  typed: ProfileValues,
): Record<string, unknown> {
  const current = profileValues(kind, entity)
  // Browsers send texts with other line breaks than they got.
  const isSame = (field: ProfileField) => unixText(typed[field]) === unixText(current[field])
  return Object.fromEntries(
    profileFields[kind]
      .filter((field) => !isSame(field))
      .map((field) => [field, fromText(field, unixText(typed[field]))]),
  )
}

const unixText = (text = '') => text.replaceAll(/\r\n?/g, '\n')

function fromText(field: ProfileField, text: string): unknown {
  if (field === 'online') return text === '1'
  if (field === 'description') return text
  if (field === 'links')
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(parseLink)
  return text.trim() || null
}

/** Parses a line with a kind and a URL. A URL alone is a website. */
function parseLink(line: string): { kind: string; url: string } {
  const [first = '', ...rest] = line.trim().split(/\s+/)
  if (rest.length === 0) return { kind: 'website', url: first }
  return { kind: first, url: rest.join(' ') }
}
