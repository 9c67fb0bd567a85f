import Type, { type Static } from 'typebox'
import { endpoint, Id, json, mergePatch, Slug } from './endpoint.ts'
import { Cursor, Page, PageNumber, PageSize } from './page.ts'
import './formats.ts'

// Categories are the groups or events that talks belong to. A record shows the title; behind it is this thing.

const about = {
  description: Type.String({ maxLength: 100_000, format: 'text', description: 'Markdown' }),
  url: Type.Union([Type.String({ maxLength: 2048, format: 'address' }), Type.Null()], { description: 'The web site of the event' }),
  start_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  end_date: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
}
const title = Type.String({ minLength: 1, maxLength: 255, format: 'text', description: 'Unique. Surrounding white space is removed' })

export const Category = Type.Object({ id: Id, title, slug: Slug, ...about }, { additionalProperties: false, description: 'A category' })
export type Category = Static<typeof Category>

const ignored = { id: Type.Unknown({ readOnly: true }), slug: Type.Unknown({ readOnly: true }) }

export const CategoryInput = Type.Object(
  { title, ...Type.Partial(Type.Object({ ...ignored, ...about })).properties },
  { additionalProperties: false },
)
export type CategoryInput = Static<typeof CategoryInput>

export const CategoryPatch = Type.Partial(Type.Object({ ...ignored, title, ...about }), {
  additionalProperties: false,
  description: 'What is absent stays. The title cannot be changed yet: sent back as it is, it is taken',
})
export type CategoryPatch = Static<typeof CategoryPatch>

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
  params: { slug: Slug },
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Category, etag: true },
  problems: [],
})

export const patchCategory = endpoint({
  name: 'patchCategory',
  method: 'PATCH',
  path: '/api/v2/category/{slug}',
  role: 'editor',
  summary: 'Change some fields of a category',
  about: 'JSON Merge Patch (RFC 7396).',
  params: { slug: Slug },
  hears: ['If-Match'],
  takes: { schema: CategoryPatch, types: [json, mergePatch] },
  gives: { status: 200, schema: Category, etag: true },
  problems: [],
})

const talks = Type.Integer({ minimum: 0, description: 'How many live talks there are' })
const name = Type.String({ description: 'As records show it' })

export const ListedCategory = Type.Object(
  { ...Category.properties, talks },
  { additionalProperties: false, description: 'A category in a list' },
)
export const Speaker = Type.Object({ id: Id, name, slug: Slug, talks }, { additionalProperties: false, description: 'A speaker' })
export const Tag = Type.Object({ id: Id, name, slug: Slug, talks }, { additionalProperties: false, description: 'A tag' })
export const Language = Type.Object(
  { code: Type.String({ description: 'BCP 47' }), name, slug: Slug, talks },
  { additionalProperties: false, description: 'A language' },
)

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
  gives: { status: 200, schema: Page(Speaker, 'A page of speakers'), etag: true },
  problems: [],
})

export const readSpeaker = endpoint({
  name: 'readSpeaker',
  method: 'GET',
  path: '/api/v2/speaker/{slug}',
  role: 'anyone',
  summary: 'Read a speaker',
  about: 'Their talks: `/api/v2/video?speaker=` and the slug. A speaker of drafts only is not there.',
  params: { slug: Slug },
  hears: ['If-None-Match'],
  gives: { status: 200, schema: Speaker, etag: true },
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
  gives: { status: 200, schema: Page(Tag, 'A page of tags'), etag: true },
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
