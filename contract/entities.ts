import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType, mergePatchType, Slug } from './endpoint.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'
import './formats.ts'

// Categories are the groups or events that talks belong to. A record shows the title, and the names
// of speakers and tags; behind each is an entity that can be renamed, have other names, and be
// merged.

/** What a category has beside its names. */
export const categoryDetails = {
  description: Type.String({ maxLength: 100_000, format: 'text', description: 'Markdown' }),
  url: Type.Union([Type.String({ maxLength: 2048, format: 'address' }), Type.Null()], {
    description: 'The web site of the event',
  }),
  start_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  end_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
}
const nameOf = (description: string) =>
  Type.String({ minLength: 1, maxLength: 255, format: 'text', description })
const title = nameOf('Unique. Surrounding white space is removed')
const name = nameOf('As records show it')
const talks = Type.Integer({ minimum: 0, description: 'How many live talks there are' })

export const Alias = Type.Object(
  {
    name: nameOf('Another name'),
    shown: Type.Boolean({ description: 'Whether readers are told this name' }),
  },
  { additionalProperties: false },
)
export type Alias = Static<typeof Alias>
const aliases = Type.Array(Alias, {
  description: 'Other names that lead here. Readers get the shown ones, editors all',
})

const slugs = {
  old_slugs: Type.Optional(
    Type.Array(Slug, {
      description: 'Old slugs that redirect here. For editors only, where there are any',
    }),
  ),
  retired_slugs: Type.Optional(
    Type.Array(Slug, {
      description: 'Old slugs that answer 410. For editors only, where there are any',
    }),
  ),
}

const exact = { additionalProperties: false }
const category = { id: Id, title, slug: Slug, ...categoryDetails, talks }
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
  { ...named, aliases, ...slugs },
  { ...exact, description: 'A speaker' },
)
export const Tag = Type.Object({ ...named, aliases, ...slugs }, { ...exact, description: 'A tag' })
export type Category = Static<typeof Category>
export const Language = Type.Object(
  { code: Type.String({ description: 'BCP 47' }), name, slug: Slug, talks },
  { ...exact, description: 'A language' },
)

const recordsLeft = Type.Integer({
  minimum: 0,
  description:
    'How many records still show what was before. They follow by themselves, batch by batch',
})
const ChangedCategory = Type.Object(
  { ...Category.properties, records_left: recordsLeft },
  { ...exact, description: 'The category as it is now' },
)
const ChangedSpeaker = Type.Object(
  { ...Speaker.properties, records_left: recordsLeft },
  { ...exact, description: 'The speaker as it is now' },
)
const ChangedTag = Type.Object(
  { ...Tag.properties, records_left: recordsLeft },
  { ...exact, description: 'The tag as it is now' },
)

// Clients send back what they read.
const readOnly = Type.Unknown({ readOnly: true, description: 'Read-only: taken and ignored' })
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
      name: nameOf('Another name'),
      shown: Type.Optional(Type.Boolean({ description: 'Without it: no' })),
    },
    exact,
  ),
  {
    maxItems: 1000,
    description:
      'Replaces the whole list. Without a name that was removed, whoever is called so next is somebody else',
  },
)
const retiredSlugs = Type.Array(Slug, {
  maxItems: 1000,
  description:
    'Replaces the whole list. An old slug in it answers 410 instead of redirecting, so that readers cannot tell whose it ' +
    'was; one that is left out redirects again. A rename may retire the slug of before in the same call',
})

export const CategoryInput = Type.Object(
  { title, ...Type.Partial(Type.Object({ ...ignored, ...categoryDetails })).properties },
  exact,
)
export type CategoryInput = Static<typeof CategoryInput>

export const CategoryPatch = Type.Partial(
  Type.Object({
    ...ignored,
    title,
    ...categoryDetails,
    aliases: newAliases,
    retired_slugs: retiredSlugs,
  }),
  {
    ...exact,
    description: 'What is absent stays',
  },
)
export type CategoryPatch = Static<typeof CategoryPatch>

export const NamePatch = Type.Partial(
  Type.Object({ ...ignored, name, aliases: newAliases, retired_slugs: retiredSlugs }),
  {
    ...exact,
    description: 'What is absent stays',
  },
)
export type NamePatch = Static<typeof NamePatch>

/** Two for each other name. */
const maxKeys = 2500

export const Merge = Type.Object(
  { into: Slug },
  { ...exact, description: 'The slug of the one that stays' },
)
export const Split = Type.Object(
  {
    name: nameOf('Who these records are by instead. Made if there is none of this name yet'),
    videos: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
      minItems: 1,
      maxItems: 200,
      description: 'The ids of the records',
    }),
  },
  exact,
)
export type Split = Static<typeof Split>

const moves = 'An old slug answers 301 with the address of today, a retired one 410. '
const renames =
  'JSON Merge Patch (RFC 7396). A new name gets a new slug, and reaches every record that shows the old one, each as a change with its history. ' +
  'The old name becomes an alias that readers are not told, and the old slug leads here until it is retired (`retired_slugs`).'
const merges =
  'The records show the name of the other one instead, once. All names and slugs of the one that goes lead to the other. `If-Match` takes the ETag of the one that goes. ' +
  'Sent again, it has no second effect.'

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
  description: `${moves}Its talks: \`/api/v2/video?category=\` and the slug.`,
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
  description: renames,
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
  description: merges,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Merge, types: [jsonType] },
  response: { status: 200, schema: ChangedCategory, etag: true },
  problems: ['slug-retired'],
})

const paging = { page: PageNumber, page_size: PageSize, cursor: CursorText }
const inOrder = 'In the order of the names, 50 on a page. '

export const listCategoriesEndpoint = endpoint({
  name: 'listCategories',
  method: 'GET',
  path: '/api/v2/category',
  role: 'anyone',
  summary: 'List categories',
  description: `${inOrder}Also those that have no live talks yet.`,
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
  description: `${inOrder}Those who have live talks.`,
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
  description: `${moves}Their talks: \`/api/v2/video?speaker=\` and the slug. A speaker of drafts only is there for editors only.`,
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
  summary: 'Rename a speaker, or give other names',
  description: renames,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: NamePatch, types: [jsonType, mergePatchType], maxKeys },
  response: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: ['name-taken', 'slug-retired'],
})

export const splitSpeakerEndpoint = endpoint({
  name: 'splitSpeaker',
  method: 'POST',
  path: '/api/v2/speaker/{slug}/split',
  role: 'editor',
  summary: 'Split two people who share a name',
  description:
    'These records show the other name in the same place. The answer is the other person. An alias of the first one can be the name: that undoes a merge. ' +
    '`If-Match` takes the ETag of the first one. Sent again, it has no second effect.',
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
  description: merges,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Merge, types: [jsonType] },
  response: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: ['slug-retired'],
})

export const listTagsEndpoint = endpoint({
  name: 'listTags',
  method: 'GET',
  path: '/api/v2/tag',
  role: 'anyone',
  summary: 'List tags',
  description: `${inOrder}Those that live talks have.`,
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
  description: `${moves}Its talks: \`/api/v2/video?tag=\` and the slug. A tag of drafts only is there for editors only.`,
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
  summary: 'Rename a tag, or give other names',
  description: renames,
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
  description: merges,
  params: { slug: Slug },
  requestHeaders: ['If-Match'],
  body: { schema: Merge, types: [jsonType] },
  response: { status: 200, schema: ChangedTag, etag: true },
  problems: ['slug-retired'],
})

export const listLanguagesEndpoint = endpoint({
  name: 'listLanguages',
  method: 'GET',
  path: '/api/v2/language',
  role: 'anyone',
  summary: 'List languages',
  description: `${inOrder}Those that live talks are in.`,
  query: paging,
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(Language, 'A page of languages'), etag: true },
  problems: [],
})
