import { linkKinds, maxPictureBytes, type PictureRefusal, pictureTypes } from '@talkshelf/contract'
import { Fragment } from 'preact'
import { deskEntityPaths, type EntityPageKind } from '../paths.ts'
import { Field, FileField, Form, TextArea } from './form.tsx'
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

/** The field with the URL of the picture. A tag has none. */
export const pictureFields = {
  speaker: 'picture_url',
  tag: undefined,
  category: 'logo_url',
} as const satisfies Readonly<Record<EntityPageKind, ProfileField | undefined>>

/** The checkbox that removes the picture. */
export const removePicture = 'remove_picture'

/** A profile as texts of a form. Links have one line each, a checkbox is 1 or 0. */
export type ProfileValues = Readonly<Partial<Record<ProfileField, string>>>

export interface ProfileFormData {
  readonly kind: EntityPageKind
  readonly slug: string
  /** The version that the form changes. */
  readonly etag: string
  readonly profile: ProfileValues
  readonly errors: Readonly<Record<string, string>>
  /** Whether the entity has a picture, whatever the form contains. */
  readonly hasPicture: boolean
  readonly pictureError: PictureRefusal | undefined
}

/** The form of a profile. */
export function ProfileForm(data: ProfileFormData) {
  const { kind, slug, etag, profile, errors } = data
  const { words } = useDesk()
  const path = deskEntityPaths[kind].profile
  if (!path) return null
  return (
    <section>
      <h2>{words.entities.profile}</h2>
      <Form action={path(slug)} enctype="multipart/form-data">
        <input type="hidden" name="etag" value={etag} />
        {profileFields[kind].map((field) => (
          <Fragment key={field}>
            {field === pictureFields[kind] && <PictureField {...data} />}
            <ProfileInput field={field} value={profile[field] ?? ''} error={errors[field]} />
          </Fragment>
        ))}
        <button type="submit">{words.entities.saveProfile}</button>
      </Form>
    </section>
  )
}

/** The current picture, a checkbox that removes it, and a file that replaces it. */
function PictureField({ kind, slug, hasPicture, pictureError }: ProfileFormData) {
  const { words, href, locale } = useDesk()
  const path = deskEntityPaths[kind].picture
  if (!path) return null
  const text = words.pictures
  const labels = kind === 'category' ? text.logo : text.portrait
  const megabytes = (maxPictureBytes / 1e6).toLocaleString(locale)
  const tooLarge = text.tooLarge(megabytes)
  const errorText = { ...text.errors, 'too-large': tooLarge }
  return (
    <>
      {hasPicture && (
        <div class="field current-picture">
          <img src={href(path(slug))} alt={labels.current} />
          <label class="choice">
            <input type="checkbox" name={removePicture} value="1" />
            {labels.remove}
          </label>
        </div>
      )}
      <FileField
        label={labels.upload}
        help={text.help(megabytes)}
        error={pictureError && errorText[pictureError]}
        maxBytes={maxPictureBytes}
        tooLarge={tooLarge}
        accept={pictureTypes.join()}
      />
    </>
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
