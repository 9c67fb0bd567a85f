import Type, { type Static } from 'typebox'
import { endpoint, Id, json, mergePatch, Slug } from './endpoint.ts'
import { Cursor, Page, PageNumber, PageSize } from './page.ts'
import './formats.ts'

// Categories are the groups or events that talks belong to. A record shows the title, and the names of speakers and tags; behind each is a thing
// that can be renamed, have other names, and be merged.

const about = {
  description: Type.String({ maxLength: 100_000, format: 'text', description: 'Markdown' }),
  url: Type.Union([Type.String({ maxLength: 2048, format: 'address' }), Type.Null()], { description: 'The web site of the event' }),
  start_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  end_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
}
const nameOf = (description: string) => Type.String({ minLength: 1, maxLength: 255, format: 'text', description })
const title = nameOf('Unique. Surrounding white space is removed')
const name = nameOf('As records show it')
const talks = Type.Integer({ minimum: 0, description: 'How many live talks there are' })

export const Alias = Type.Object(
  { name: nameOf('Another name'), shown: Type.Boolean({ description: 'Whether readers are told this name' }) },
  { additionalProperties: false },
)
export type Alias = Static<typeof Alias>
const aliases = Type.Array(Alias, { description: 'Other names that lead here. Readers get the shown ones, editors all' })

const exact = { additionalProperties: false }
const category = { id: Id, title, slug: Slug, ...about, talks }
const named = { id: Id, name, slug: Slug, talks }

export const ListedCategory = Type.Object(category, { ...exact, description: 'A category in a list' })
export const ListedSpeaker = Type.Object(named, { ...exact, description: 'A speaker in a list' })
export const ListedTag = Type.Object(named, { ...exact, description: 'A tag in a list' })
export const Category = Type.Object({ ...category, aliases }, { ...exact, description: 'A category' })
export const Speaker = Type.Object({ ...named, aliases }, { ...exact, description: 'A speaker' })
export const Tag = Type.Object({ ...named, aliases }, { ...exact, description: 'A tag' })
export type Category = Static<typeof Category>
export const Language = Type.Object(
  { code: Type.String({ description: 'BCP 47' }), name, slug: Slug, talks },
  { ...exact, description: 'A language' },
)

const recordsLeft = Type.Integer({
  minimum: 0,
  description: 'How many records still show what was before. They follow by themselves, batch by batch',
})
const ChangedCategory = Type.Object(
  { ...Category.properties, records_left: recordsLeft },
  { ...exact, description: 'The category as it is now' },
)
const ChangedSpeaker = Type.Object(
  { ...Speaker.properties, records_left: recordsLeft },
  { ...exact, description: 'The speaker as it is now' },
)
const ChangedTag = Type.Object({ ...Tag.properties, records_left: recordsLeft }, { ...exact, description: 'The tag as it is now' })

// Clients send back what they read.
const readOnly = Type.Unknown({ readOnly: true, description: 'Read-only: taken and ignored' })
const ignored = { id: readOnly, slug: readOnly, talks: readOnly, records_left: readOnly }
const newAliases = Type.Array(
  Type.Object({ name: nameOf('Another name'), shown: Type.Optional(Type.Boolean({ description: 'Without it: no' })) }, exact),
  { maxItems: 1000, description: 'Replaces the whole list. Without a name that was removed, whoever is called so next is somebody else' },
)

export const CategoryInput = Type.Object({ title, ...Type.Partial(Type.Object({ ...ignored, ...about })).properties }, exact)
export type CategoryInput = Static<typeof CategoryInput>

export const CategoryPatch = Type.Partial(Type.Object({ ...ignored, title, ...about, aliases: newAliases }), {
  ...exact,
  description: 'What is absent stays',
})
export type CategoryPatch = Static<typeof CategoryPatch>

export const NamePatch = Type.Partial(Type.Object({ ...ignored, name, aliases: newAliases }), {
  ...exact,
  description: 'What is absent stays',
})
export type NamePatch = Static<typeof NamePatch>

export const Merge = Type.Object({ into: Slug }, { ...exact, description: 'The slug of the one that stays' })
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

const moves = 'An old slug answers 301 with the address of today. '
const renames =
  'JSON Merge Patch (RFC 7396). A new name gets a new slug, and reaches every record that shows the old one, each as a change with its history. ' +
  'The old name becomes an alias that readers are not told, and the old slug leads here for ever.'
const merges =
  'The records show the name of the other one instead, once. All names and slugs of the one that goes lead to the other. Sent again, it has no second effect.'

export const createCategory = endpoint({
  name: 'createCategory',
  method: 'POST',
  path: '/api/v2/category',
  role: 'editor',
  summary: 'Create a category',
  takes: { schema: CategoryInput, types: [json] },
  gives: { status: 201, schema: Category, etag: true, location: true },
  problems: ['category-exists'],
})

export const readCategory = endpoint({
  name: 'readCategory',
  method: 'GET',
  path: '/api/v2/category/{slug}',
  role: 'anyone',
  summary: 'Read a category',
  about: `${moves}Its talks: \`/api/v2/video?category=\` and the slug.`,
  params: { slug: Slug },
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Category, etag: true, moves: true },
  problems: [],
})

export const patchCategory = endpoint({
  name: 'patchCategory',
  method: 'PATCH',
  path: '/api/v2/category/{slug}',
  role: 'editor',
  summary: 'Change or rename a category',
  about: renames,
  params: { slug: Slug },
  hears: ['If-Match'],
  takes: { schema: CategoryPatch, types: [json, mergePatch] },
  gives: { status: 200, schema: ChangedCategory, etag: true },
  problems: ['name-taken'],
})

export const mergeCategory = endpoint({
  name: 'mergeCategory',
  method: 'POST',
  path: '/api/v2/category/{slug}/merge',
  role: 'editor',
  summary: 'Merge a category into another',
  about: merges,
  params: { slug: Slug },
  takes: { schema: Merge, types: [json] },
  gives: { status: 200, schema: ChangedCategory, etag: true },
  problems: [],
})

const paging = { page: PageNumber, page_size: PageSize, cursor: Cursor }
const inOrder = 'In the order of the names, 50 on a page. '

export const listCategories = endpoint({
  name: 'listCategories',
  method: 'GET',
  path: '/api/v2/category',
  role: 'anyone',
  summary: 'List categories',
  about: `${inOrder}Also those that have no live talks yet.`,
  query: paging,
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Page(ListedCategory, 'A page of categories'), etag: true },
  problems: [],
})

export const listSpeakers = endpoint({
  name: 'listSpeakers',
  method: 'GET',
  path: '/api/v2/speaker',
  role: 'anyone',
  summary: 'List speakers',
  about: `${inOrder}Those who have live talks.`,
  query: paging,
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Page(ListedSpeaker, 'A page of speakers'), etag: true },
  problems: [],
})

export const readSpeaker = endpoint({
  name: 'readSpeaker',
  method: 'GET',
  path: '/api/v2/speaker/{slug}',
  role: 'anyone',
  summary: 'Read a speaker',
  about: `${moves}Their talks: \`/api/v2/video?speaker=\` and the slug. A speaker of drafts only is there for editors only.`,
  params: { slug: Slug },
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Speaker, etag: true, moves: true },
  problems: [],
})

export const patchSpeaker = endpoint({
  name: 'patchSpeaker',
  method: 'PATCH',
  path: '/api/v2/speaker/{slug}',
  role: 'editor',
  summary: 'Rename a speaker, or give other names',
  about: renames,
  params: { slug: Slug },
  hears: ['If-Match'],
  takes: { schema: NamePatch, types: [json, mergePatch] },
  gives: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: ['name-taken'],
})

export const splitSpeaker = endpoint({
  name: 'splitSpeaker',
  method: 'POST',
  path: '/api/v2/speaker/{slug}/split',
  role: 'editor',
  summary: 'Split two people who share a name',
  about:
    'These records show the other name in the same place. The answer is the other person. An alias of the first one can be the name: that undoes a merge. ' +
    'Sent again, it has no second effect.',
  params: { slug: Slug },
  takes: { schema: Split, types: [json] },
  gives: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: [],
})

export const mergeSpeaker = endpoint({
  name: 'mergeSpeaker',
  method: 'POST',
  path: '/api/v2/speaker/{slug}/merge',
  role: 'editor',
  summary: 'Merge a speaker into another',
  about: merges,
  params: { slug: Slug },
  takes: { schema: Merge, types: [json] },
  gives: { status: 200, schema: ChangedSpeaker, etag: true },
  problems: [],
})

export const listTags = endpoint({
  name: 'listTags',
  method: 'GET',
  path: '/api/v2/tag',
  role: 'anyone',
  summary: 'List tags',
  about: `${inOrder}Those that live talks have.`,
  query: paging,
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Page(ListedTag, 'A page of tags'), etag: true },
  problems: [],
})

export const readTag = endpoint({
  name: 'readTag',
  method: 'GET',
  path: '/api/v2/tag/{slug}',
  role: 'anyone',
  summary: 'Read a tag',
  about: `${moves}Its talks: \`/api/v2/video?tag=\` and the slug. A tag of drafts only is there for editors only.`,
  params: { slug: Slug },
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Tag, etag: true, moves: true },
  problems: [],
})

export const patchTag = endpoint({
  name: 'patchTag',
  method: 'PATCH',
  path: '/api/v2/tag/{slug}',
  role: 'editor',
  summary: 'Rename a tag, or give other names',
  about: renames,
  params: { slug: Slug },
  hears: ['If-Match'],
  takes: { schema: NamePatch, types: [json, mergePatch] },
  gives: { status: 200, schema: ChangedTag, etag: true },
  problems: ['name-taken'],
})

export const mergeTag = endpoint({
  name: 'mergeTag',
  method: 'POST',
  path: '/api/v2/tag/{slug}/merge',
  role: 'editor',
  summary: 'Merge a tag into another',
  about: merges,
  params: { slug: Slug },
  takes: { schema: Merge, types: [json] },
  gives: { status: 200, schema: ChangedTag, etag: true },
  problems: [],
})

export const listLanguages = endpoint({
  name: 'listLanguages',
  method: 'GET',
  path: '/api/v2/language',
  role: 'anyone',
  summary: 'List languages',
  about: `${inOrder}Those that live talks are in.`,
  query: paging,
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Page(Language, 'A page of languages'), etag: true },
  problems: [],
})
