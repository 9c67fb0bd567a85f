import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType, mergePatchType, Slug } from './endpoint.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'
import { categoryProfile, speakerProfile } from './profiles.ts'
import './formats.ts'

// Categories (the events that talks belong to), speakers, tags and languages. Records contain their
// names; behind each name is an entity. All but languages can be renamed, merged and have aliases.

/** Fields of a category other than its names. */
export const categoryDetails = {
  description: Type.String({ maxLength: 100_000, format: 'text', description: 'Markdown' }),
  url: Type.Union([Type.String({ maxLength: 2048, format: 'address' }), Type.Null()], {
    description: 'Website of the event',
  }),
  start_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  end_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
}
const nameOf = (description: string) =>
  Type.String({ minLength: 1, maxLength: 255, format: 'text', description })
const title = nameOf('Unique. Surrounding whitespace is removed')
const name = nameOf('Name shown in records')
const talks = Type.Integer({ minimum: 0, description: 'Number of live talks' })

/** Another name of an entity. Only editors see a hidden one. */
export const Alias = Type.Object(
  {
    name: nameOf('Alternative name'),
    shown: Type.Boolean({ description: 'Whether readers can see this name' }),
  },
  { additionalProperties: false },
)
export type Alias = Static<typeof Alias>
const aliases = Type.Array(Alias, {
  description: 'Alternative names. Readers get those with `shown`, editors all of them',
})

const slugs = {
  old_slugs: Type.Optional(
    Type.Array(Slug, {
      description: 'Former slugs that redirect here. Only for editors, and only if there are any',
    }),
  ),
  retired_slugs: Type.Optional(
    Type.Array(Slug, {
      description: 'Former slugs that return 410. Only for editors, and only if there are any',
    }),
  ),
}

const exact = { additionalProperties: false }
const category = { id: Id, title, slug: Slug, ...categoryDetails, ...categoryProfile, talks }
const named = { id: Id, name, slug: Slug, talks }

export const ListedCategory = Type.Object(category, {
  ...exact,
  description: 'A category in a list',
})
export const ListedSpeaker = Type.Object(named, { ...exact, description: 'A speaker in a list' })
export const ListedTag = Type.Object(named, { ...exact, description: 'A tag in a list' })
export const Category = Type.Object(
  { ...category, aliases, ...slugs },
  { ...exact, description: 'A category' },
)
export const Speaker = Type.Object(
  { ...named, ...speakerProfile, aliases, ...slugs },
  { ...exact, description: 'A speaker' },
)
export const Tag = Type.Object({ ...named, aliases, ...slugs }, { ...exact, description: 'A tag' })
export type Category = Static<typeof Category>
export const Language = Type.Object(
  { code: Type.String({ description: 'BCP 47 code' }), name, slug: Slug, talks },
  { ...exact, description: 'A language' },
)

const recordsLeft = Type.Integer({
  minimum: 0,
  description: 'Number of records that still show the old name. They are updated in the background',
})
const recordsKept = Type.Integer({
  minimum: 0,
  description: 'Number of records that were edited since the merge and stay as they are',
})
const ChangedCategory = Type.Object(
  { ...Category.properties, records_left: recordsLeft },
  { ...exact, description: 'The updated category' },
)
const UnmergedCategory = Type.Object(
  { ...ChangedCategory.properties, records_kept: recordsKept },
  { ...exact, description: 'The category that was merged' },
)
const ChangedSpeaker = Type.Object(
  { ...Speaker.properties, records_left: recordsLeft },
  { ...exact, description: 'The updated speaker' },
)
const UnmergedSpeaker = Type.Object(
  { ...ChangedSpeaker.properties, records_kept: recordsKept },
  { ...exact, description: 'The speaker that was merged' },
)
const ChangedTag = Type.Object(
  { ...Tag.properties, records_left: recordsLeft },
  { ...exact, description: 'The updated tag' },
)
const UnmergedTag = Type.Object(
  { ...ChangedTag.properties, records_kept: recordsKept },
  { ...exact, description: 'The tag that was merged' },
)

// Accepted because clients send back what they read.
const readOnly = Type.Unknown({ readOnly: true, description: 'Read-only: accepted and ignored' })
const ignored = {
  id: readOnly,
  slug: readOnly,
  talks: readOnly,
  records_left: readOnly,
  old_slugs: readOnly,
}
const newAliases = Type.Array(
  Type.Object(
    {
      name: nameOf('Alternative name'),
      shown: Type.Optional(Type.Boolean({ description: 'Default: false' })),
    },
    exact,
  ),
  {
    maxItems: 1000,
    description:
      'Replaces the whole list. A removed name no longer refers to this entity and can be used ' +
      'for another one',
  },
)
const retiredSlugs = Type.Array(Slug, {
  maxItems: 1000,
  description:
    'Replaces the whole list. A former slug in it returns 410 instead of a redirect, so that ' +
    'readers cannot tell whose it was; one that is left out redirects again. A rename can retire ' +
    'the previous slug in the same call',
})

export const CategoryInput = Type.Object(
  {
    title,
    ...Type.Partial(Type.Object({ ...ignored, ...categoryDetails, ...categoryProfile })).properties,
  },
  exact,
)
export type CategoryInput = Static<typeof CategoryInput>

export const CategoryPatch = Type.Partial(
  Type.Object({
    ...ignored,
    title,
    ...categoryDetails,
    ...categoryProfile,
    aliases: newAliases,
    retired_slugs: retiredSlugs,
  }),
  {
    ...exact,
    description: 'Omitted fields stay unchanged',
  },
)
export type CategoryPatch = Static<typeof CategoryPatch>

export const NamePatch = Type.Partial(
  Type.Object({ ...ignored, name, aliases: newAliases, retired_slugs: retiredSlugs }),
  {
    ...exact,
    description: 'Omitted fields stay unchanged',
  },
)
export type NamePatch = Static<typeof NamePatch>

export const SpeakerPatch = Type.Partial(
  Type.Object({ ...NamePatch.properties, ...speakerProfile }),
  {
    ...exact,
    description: 'Omitted fields stay unchanged',
  },
)
export type SpeakerPatch = Static<typeof SpeakerPatch>

/** The maximum number of keys in a body: 1,000 aliases have two each. */
const maxKeys = 2500

export const Merge = Type.Object(
  { into: Slug },
  { ...exact, description: 'The slug of the one to keep' },
)
export const Split = Type.Object(
  {
    name: nameOf('Name of the other speaker, who is created if necessary'),
    videos: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
      minItems: 1,
      maxItems: 200,
      description: 'Ids of the records by the other speaker',
    }),
  },
  exact,
)
export type Split = Static<typeof Split>

const redirectsNote =
  'A former slug redirects to the current URL (301); a retired one returns 410. '
const renameNote =
  'JSON Merge Patch (RFC 7396). A new name gets a new slug and is applied to every record that ' +
  'shows the old one, each with a revision of its own. The old name becomes a hidden alias, and ' +
  'the old slug redirects until you retire it (`retired_slugs`).'
const mergeNote =
  'All records, names and slugs move to the entity in `into`; a record that has both shows its ' +
  'name once. The entity in `into` keeps its own details and gets those that it lacks. ' +
  '`If-Match` takes the ETag of the one that is merged. Repeating the request has no further ' +
  'effect. `/unmerge` undoes it.'
const unmergeNote =
  'Takes the slug that the entity had before it was merged. It gets back its names and slugs, as ' +
  'far as its target still has them, and its details. Records that had it and still have the ' +
  'target get it back at its position; records that an editor changed since and that no longer ' +
  'have the target stay as they are. `If-Match` takes the ETag of the target. Repeating the ' +
  'request has no further effect.'

export const createCategoryEndpoint = endpoint({
  name: 'createCategory',
  method: 'POST',
  path: '/api/v2/category',
  role: 'editor',
  summary: 'Create a category',
  body: { schema: CategoryInput, types: [jsonType] },
  response: { status: 201, schema: Category, etag: true, location: true },
  problems: ['category-exists'],
})

export const readCategoryEndpoint = endpoint({
  name: 'readCategory',
  method: 'GET',
  path: '/api/v2/category/{slug}',
  role: 'anyone',
  summary: 'Read a category',
  description: `${redirectsNote}Its talks are at \`/api/v2/video?category={slug}\`.`,
  params: { slug: Slug },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: Category, etag: true, redirects: true },
  problems: ['slug-retired'],
})

export const patchCategoryEndpoint = endpoint({
  name: 'patchCategory',
  method: 'PATCH',
  path: '/api/v2/category/{slug}',
  role: 'editor',
  summary: 'Change or rename a category',
  description: renameNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: CategoryPatch, types: [jsonType, mergePatchType], maxKeys },
  response: { status: 200, schema: ChangedCategory, etag: true },
  problems: ['name-taken', 'slug-retired'],
})

export const mergeCategoryEndpoint = endpoint({
  name: 'mergeCategory',
  method: 'POST',
  path: '/api/v2/category/{slug}/merge',
  role: 'editor',
  summary: 'Merge a category into another',
  description: mergeNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Merge, types: [jsonType] },
  response: { status: 200, schema: ChangedCategory, etag: true },
  problems: ['slug-retired'],
})

export const unmergeCategoryEndpoint = endpoint({
  name: 'unmergeCategory',
  method: 'POST',
  path: '/api/v2/category/{slug}/unmerge',
  role: 'editor',
  summary: 'Undo the merge of a category',
  description: unmergeNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  response: { status: 200, schema: UnmergedCategory, etag: true },
  problems: ['not-merged', 'name-taken', 'slug-retired'],
})

const paging = { page: PageNumber, page_size: PageSize, cursor: CursorText }
const orderNote = 'Sorted by name, 50 per page. '

export const listCategoriesEndpoint = endpoint({
  name: 'listCategories',
  method: 'GET',
  path: '/api/v2/category',
  role: 'anyone',
  summary: 'List categories',
  description: `${orderNote}Includes categories without live talks.`,
  query: paging,
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(ListedCategory, 'A page of categories'), etag: true },
  problems: [],
})

export const listSpeakersEndpoint = endpoint({
  name: 'listSpeakers',
  method: 'GET',
  path: '/api/v2/speaker',
  role: 'anyone',
  summary: 'List speakers',
  description: `${orderNote}Only speakers with live talks.`,
  query: paging,
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(ListedSpeaker, 'A page of speakers'), etag: true },
  problems: [],
})

export const readSpeakerEndpoint = endpoint({
  name: 'readSpeaker',
  method: 'GET',
  path: '/api/v2/speaker/{slug}',
  role: 'anyone',
  summary: 'Read a speaker',
  description:
    `${redirectsNote}Their talks are at \`/api/v2/video?speaker={slug}\`. ` +
    'Only editors see speakers whose talks are all drafts.',
  params: { slug: Slug },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: Speaker, etag: true, redirects: true },
  problems: ['slug-retired'],
})

export const patchSpeakerEndpoint = endpoint({
  name: 'patchSpeaker',
  method: 'PATCH',
  path: '/api/v2/speaker/{slug}',
  role: 'editor',
  summary: 'Change or rename a speaker',
  description: renameNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: SpeakerPatch, types: [jsonType, mergePatchType], maxKeys },
  response: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: ['name-taken', 'slug-retired'],
})

export const splitSpeakerEndpoint = endpoint({
  name: 'splitSpeaker',
  method: 'POST',
  path: '/api/v2/speaker/{slug}/split',
  role: 'editor',
  summary: 'Split a speaker into two',
  description:
    'Replaces the speaker with another one in the given records, and returns the other one. The ' +
    'name can be an alias of the first speaker, which loses it. `If-Match` takes the ETag ' +
    'of the first speaker. Repeating the request has no further effect.',
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Split, types: [jsonType] },
  response: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: ['slug-retired'],
})

export const mergeSpeakerEndpoint = endpoint({
  name: 'mergeSpeaker',
  method: 'POST',
  path: '/api/v2/speaker/{slug}/merge',
  role: 'editor',
  summary: 'Merge a speaker into another',
  description: mergeNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Merge, types: [jsonType] },
  response: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: ['slug-retired'],
})

export const unmergeSpeakerEndpoint = endpoint({
  name: 'unmergeSpeaker',
  method: 'POST',
  path: '/api/v2/speaker/{slug}/unmerge',
  role: 'editor',
  summary: 'Undo the merge of a speaker',
  description: unmergeNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  response: { status: 200, schema: UnmergedSpeaker, etag: true },
  problems: ['not-merged', 'name-taken', 'slug-retired'],
})

export const listTagsEndpoint = endpoint({
  name: 'listTags',
  method: 'GET',
  path: '/api/v2/tag',
  role: 'anyone',
  summary: 'List tags',
  description: `${orderNote}Only tags of live talks.`,
  query: paging,
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(ListedTag, 'A page of tags'), etag: true },
  problems: [],
})

export const readTagEndpoint = endpoint({
  name: 'readTag',
  method: 'GET',
  path: '/api/v2/tag/{slug}',
  role: 'anyone',
  summary: 'Read a tag',
  description:
    `${redirectsNote}Its talks are at \`/api/v2/video?tag={slug}\`. ` +
    'Only editors see tags whose talks are all drafts.',
  params: { slug: Slug },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: Tag, etag: true, redirects: true },
  problems: ['slug-retired'],
})

export const patchTagEndpoint = endpoint({
  name: 'patchTag',
  method: 'PATCH',
  path: '/api/v2/tag/{slug}',
  role: 'editor',
  summary: 'Rename a tag or change the aliases',
  description: renameNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: NamePatch, types: [jsonType, mergePatchType], maxKeys },
  response: { status: 200, schema: ChangedTag, etag: true },
  problems: ['name-taken', 'slug-retired'],
})

export const mergeTagEndpoint = endpoint({
  name: 'mergeTag',
  method: 'POST',
  path: '/api/v2/tag/{slug}/merge',
  role: 'editor',
  summary: 'Merge a tag into another',
  description: mergeNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Merge, types: [jsonType] },
  response: { status: 200, schema: ChangedTag, etag: true },
  problems: ['slug-retired'],
})

export const unmergeTagEndpoint = endpoint({
  name: 'unmergeTag',
  method: 'POST',
  path: '/api/v2/tag/{slug}/unmerge',
  role: 'editor',
  summary: 'Undo the merge of a tag',
  description: unmergeNote,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  response: { status: 200, schema: UnmergedTag, etag: true },
  problems: ['not-merged', 'name-taken', 'slug-retired'],
})

export const listLanguagesEndpoint = endpoint({
  name: 'listLanguages',
  method: 'GET',
  path: '/api/v2/language',
  role: 'anyone',
  summary: 'List languages',
  description: `${orderNote}Only languages of live talks.`,
  query: paging,
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(Language, 'A page of languages'), etag: true },
  problems: [],
})

export const entityEndpoints = {
  createCategory: createCategoryEndpoint,
  readCategory: readCategoryEndpoint,
  patchCategory: patchCategoryEndpoint,
  mergeCategory: mergeCategoryEndpoint,
  unmergeCategory: unmergeCategoryEndpoint,
  listCategories: listCategoriesEndpoint,
  listSpeakers: listSpeakersEndpoint,
  readSpeaker: readSpeakerEndpoint,
  patchSpeaker: patchSpeakerEndpoint,
  splitSpeaker: splitSpeakerEndpoint,
  mergeSpeaker: mergeSpeakerEndpoint,
  unmergeSpeaker: unmergeSpeakerEndpoint,
  listTags: listTagsEndpoint,
  readTag: readTagEndpoint,
  patchTag: patchTagEndpoint,
  mergeTag: mergeTagEndpoint,
  unmergeTag: unmergeTagEndpoint,
  listLanguages: listLanguagesEndpoint,
} as const
