import { linkKinds } from '@talkshelf/contract'
import { deskEntityPaths, type EntityPageKind } from '../paths.ts'
import { Field, Form, TextArea } from './form.tsx'
import { useDesk } from './view.ts'

/** The fields of profiles, in the order of the form. A tag has none. */
export const profileFields = {
  speaker: ['description', 'pronouns', 'picture_url', 'links'],
  tag: [],
  category: [
    'description',
    'url',
    'start_date',
    'end_date',
    'city',
    'country',
    'online',
    'series',
    'logo_url',
    'colour',
    'links',
  ],
} as const satisfies Readonly<Record<EntityPageKind, readonly string[]>>

export type ProfileField = (typeof profileFields)[EntityPageKind][number]

/** A profile as texts of a form. Links have one line each, a checkbox is 1 or 0. */
export type ProfileValues = Readonly<Partial<Record<ProfileField, string>>>

export interface ProfileFormData {
  readonly kind: EntityPageKind
  readonly slug: string
  /** The version that the form changes. */
  readonly etag: string
  readonly profile: ProfileValues
  readonly errors: Readonly<Record<string, string>>
}

/** The form of a profile. */
export function ProfileForm({ kind, slug, etag, profile, errors }: ProfileFormData) {
  const { words } = useDesk()
  const path = deskEntityPaths[kind].profile
  if (!path) return null
  return (
    <section>
      <h2>{words.entities.profile}</h2>
      <Form action={path(slug)}>
        <input type="hidden" name="etag" value={etag} />
        {profileFields[kind].map((field) => (
          <ProfileInput
            key={field}
            field={field}
            value={profile[field] ?? ''}
            error={errors[field]}
          />
        ))}
        <button type="submit">{words.entities.saveProfile}</button>
      </Form>
    </section>
  )
}

interface InputProps {
  readonly field: ProfileField
  readonly value: string
  readonly error: string | undefined
}

function ProfileInput({ field, value, error }: InputProps) {
  const text = useDesk().words.entities
  const label = text.profileFields[field]
  if (field === 'online')
    return (
      <div class="field">
        <input type="hidden" name={field} value="0" />
        <label class="choice">
          <input type="checkbox" name={field} value="1" checked={value === '1'} />
          {label}
        </label>
      </div>
    )
  const common = { label, name: field, value, error }
  if (field === 'description') return <TextArea {...common} rows={8} />
  if (field === 'links')
    return <TextArea {...common} help={text.profileHelp.links(linkKinds.join(', '))} />
  const isDate = field === 'start_date' || field === 'end_date'
  const { links: _, ...lineHelp } = text.profileHelp
  const help = (lineHelp as Readonly<Record<string, string>>)[field]
  return (
    <Field
      {...common}
      type={isDate ? 'date' : 'text'}
      autocomplete="off"
      {...(help !== undefined && { help })}
    />
  )
}
