import Type, { type Static } from 'typebox'
import { endpoint, Id, Slug } from './endpoint.ts'
import { Fact } from './facts.ts'
import { Video } from './videos.ts'
import { Alias } from './vocabulary.ts'

// An export is a text with one JSON object a line, in this order: what it is, the things that records name, the records, and how many there were.
// Read into an empty archive it gives the same archive.

const exact = { additionalProperties: false }
const revision = Type.Integer({ minimum: 0 })
const named = {
  id: Id,
  name: Type.String({ minLength: 1, maxLength: 255 }),
  slug: Slug,
  /** All that ever led here, but for the one of today. */
  old_slugs: Type.Array(Slug),
  aliases: Type.Array(Alias),
  revision,
}
const MaybeText = Type.Union([Type.String(), Type.Null()])

export const ExportHead = Type.Object(
  { kind: Type.Literal('talkshelf'), version: Type.Literal(1), at: Type.String(), after: Type.Optional(Id), up_to: Type.Optional(Id) },
  exact,
)
export const ExportedThing = Type.Union([
  Type.Object({ kind: Type.Literal('speaker'), ...named }, exact),
  Type.Object({ kind: Type.Literal('tag'), ...named }, exact),
  Type.Object(
    {
      kind: Type.Literal('category'),
      ...named,
      description: Type.String(),
      url: MaybeText,
      start_date: MaybeText,
      end_date: MaybeText,
    },
    exact,
  ),
])
export type ExportedThing = Static<typeof ExportedThing>

export const ExportedVideo = Type.Object(
  {
    kind: Type.Literal('video'),
    revision,
    record: Video,
    facts: Type.Optional(Type.Array(Fact)),
    taken_down: Type.Optional(Type.Object({ day: Type.String(), reason: Type.String() }, exact)),
  },
  exact,
)
export type ExportedVideo = Static<typeof ExportedVideo>

export const ExportEnd = Type.Object({ kind: Type.Literal('end'), videos: Type.Integer({ minimum: 0 }) }, exact)

const idOr = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const exportNdjson = endpoint({
  name: 'exportNdjson',
  method: 'GET',
  path: '/api/v2/export.ndjson',
  role: 'anyone',
  summary: 'Take everything with you',
  about:
    'All that the archive has at one moment, one JSON object a line: what it is, the categories, speakers and tags, the records by their ids, and how ' +
    'many records there were. Without that last line it was cut off: go on with `after` and the id of the last record. Everybody gets what is live; editors ' +
    'get drafts, all other names and old slugs as well. It is packed for whoever sends `Accept-Encoding: gzip`. A process gives few exports at a time, and ' +
    'ends one that nobody reads.',
  query: { after: idOr('Only records with a higher id'), up_to: idOr('Only records up to this id') },
  gives: {
    status: 200,
    type: 'application/x-ndjson',
    schema: Type.Union([ExportHead, ExportedThing, ExportedVideo, ExportEnd], { description: 'One line of the export' }),
  },
  problems: [],
})
