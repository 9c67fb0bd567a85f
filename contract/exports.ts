import Type, { type Static } from 'typebox'
import { endpoint, Id, Slug } from './endpoint.ts'
import { Alias, categoryDetails } from './entities.ts'
import { Facts } from './facts.ts'
import { Takedown, Video } from './videos.ts'

// An export is a text with one JSON object a line, in this order: what it is, the entities that
// records name, the records, and how many there were. Read into an empty archive it gives the same
// archive.

const exact = { additionalProperties: false }

/** The highest id that an import keeps. A higher one would use up the ids of later records. */
export const maxImportedId = 1_000_000_000
/** The highest revision that an import keeps: the next changes still fit into a 32-bit integer. */
export const maxImportedRevision = 1_000_000_000
/** Far more than an entity has; a line is bounded in bytes as well. */
const maxNames = 10_000

const entity = {
  id: Type.Integer({ minimum: 1, maximum: maxImportedId }),
  name: Type.String({ minLength: 1, maxLength: 255, format: 'text' }),
  slug: Slug,
  /** All that ever led here, but for the one of today. */
  old_slugs: Type.Array(Slug, { maxItems: maxNames }),
  /** Old slugs that answer 410. */
  retired_slugs: Type.Optional(Type.Array(Slug, { maxItems: maxNames })),
  aliases: Type.Array(Alias, { maxItems: maxNames }),
  /** 0 for an entity that was made by naming it in a record and has not been changed since. */
  revision: Type.Integer({ minimum: 0, maximum: maxImportedRevision }),
}

export const ExportHead = Type.Object(
  {
    kind: Type.Literal('talkshelf'),
    version: Type.Literal(1),
    at: Type.String(),
    after: Type.Optional(Id),
    up_to: Type.Optional(Id),
  },
  exact,
)
export const ExportedEntity = Type.Union([
  Type.Object({ kind: Type.Literal('speaker'), ...entity }, exact),
  Type.Object({ kind: Type.Literal('tag'), ...entity }, exact),
  Type.Object({ kind: Type.Literal('category'), ...entity, ...categoryDetails }, exact),
])
export type ExportedEntity = Static<typeof ExportedEntity>

export const ExportedVideo = Type.Object(
  {
    kind: Type.Literal('video'),
    revision: Type.Integer({ minimum: 1, maximum: maxImportedRevision }),
    record: Video,
    facts: Type.Optional(Facts.properties.facts),
    taken_down: Type.Optional(
      Type.Object(
        { day: Type.String({ format: 'date' }), reason: Takedown.properties.reason },
        exact,
      ),
    ),
  },
  exact,
)
export type ExportedVideo = Static<typeof ExportedVideo>

export const ExportEnd = Type.Object(
  { kind: Type.Literal('end'), videos: Type.Integer({ minimum: 0 }) },
  exact,
)

const idOr = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const exportNdjsonEndpoint = endpoint({
  name: 'exportNdjson',
  method: 'GET',
  path: '/api/v2/export.ndjson',
  role: 'anyone',
  summary: 'Take everything with you',
  description:
    'All that the archive has at one moment, one JSON object a line: what it is, the categories, speakers and tags, the records by their ids, and how ' +
    'many records there were. Without that last line it was cut off: go on with `after` and the id of the last record. Everybody gets what is live; editors ' +
    'get drafts, all other names, old slugs and raw values of sources as well. It is packed for whoever sends `Accept-Encoding: gzip`. A process gives few exports at a time, and ' +
    'ends one that is read slower than 16 KiB/s, or takes longer than 10 minutes.',
  query: {
    after: idOr('Only records with a higher id'),
    up_to: idOr('Only records up to this id'),
  },
  response: {
    status: 200,
    type: 'application/x-ndjson',
    schema: Type.Union([ExportHead, ExportedEntity, ExportedVideo, ExportEnd], {
      description: 'One line of the export',
    }),
  },
  problems: [],
})
