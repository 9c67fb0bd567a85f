import Type, { type Static } from 'typebox'
import './formats.ts'

// Profiles: what an archive tells about an event and a speaker besides their names and talks. All
// fields are optional; a field that is not set is null, false, empty text or an empty list.

const nullable = (schema: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description })
const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, format: 'text' })
const pictureUrl = Type.String({ maxLength: 2048, format: 'web-url' })

/** What a link leads to. */
export const linkKinds = [
  'website',
  'blog',
  'schedule',
  'code',
  'videos',
  'photos',
  'chat',
  'forum',
  'newsletter',
  'mastodon',
  'bluesky',
  'github',
  'gitlab',
  'codeberg',
  'linkedin',
  'youtube',
  'peertube',
  'orcid',
  'wikidata',
  'wikipedia',
  'other',
] as const
export type LinkKind = (typeof linkKinds)[number]

const ProfileLink = Type.Object(
  {
    kind: Type.Enum([...linkKinds], { description: 'What the link leads to' }),
    url: Type.String({ maxLength: 2048, format: 'https-url' }),
  },
  { additionalProperties: false },
)
export interface ProfileLink {
  readonly kind: LinkKind
  readonly url: string
}

const links = Type.Array(Type.Unsafe<ProfileLink>(ProfileLink), {
  maxItems: 20,
  description: 'Links to other sites. Replaces the whole list',
})

/** The profile of a category. */
export const categoryProfile = {
  city: nullable(line(100), 'City of the event'),
  country: nullable(
    Type.String({ format: 'country' }),
    'Country of the event: a code of ISO 3166-1 alpha-2, such as DE',
  ),
  online: Type.Boolean({ description: 'Whether one could take part online' }),
  series: nullable(
    line(255),
    'Name of the series that the event belongs to, such as PyCon US. Events whose series differs ' +
      'only in case and accents belong together',
  ),
  logo_url: nullable(
    pictureUrl,
    'Address of the logo. The server fetches, checks and resizes it; readers never contact the ' +
      'host. `POST /api/v2/picture` uploads one',
  ),
  colour: nullable(
    Type.String({ format: 'colour' }),
    'Colour of the banner on the page of the event, as #rrggbb',
  ),
  links,
}
const CategoryProfile = Type.Object(categoryProfile)
export type CategoryProfile = Static<typeof CategoryProfile>

/** The profile of a speaker. */
export const speakerProfile = {
  description: Type.String({
    maxLength: 20_000,
    format: 'text',
    description: 'About the speaker, in Markdown',
  }),
  pronouns: nullable(line(50), 'Pronouns, as the speaker wants them to be shown'),
  picture_url: nullable(
    pictureUrl,
    'Address of a picture of the speaker. Fetched like the logo of an event',
  ),
  links,
}
const SpeakerProfile = Type.Object(speakerProfile)
export type SpeakerProfile = Static<typeof SpeakerProfile>

/** The fields of all profiles. Each kind of entity has some of them, a tag none. */
export type Profile = Partial<CategoryProfile & SpeakerProfile>
