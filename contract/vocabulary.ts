import Type, { type Static } from 'typebox'
import { endpoint, Id, json, mergePatch, Slug } from './endpoint.ts'
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
