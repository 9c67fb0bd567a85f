import Type, { type Static, type TProperties } from 'typebox'
import { endpoint, Id, Slug } from './endpoint.ts'
import { Alias, categoryDetails } from './entities.ts'
import { Facts } from './facts.ts'
import { categoryProfile, speakerProfile } from './profiles.ts'
import { Takedown, Video } from './videos.ts'

// An export is NDJSON in this order: a header, the categories, speakers and tags, the records, and
// the number of records. Importing the file of `talkshelf export` into an empty archive reproduces
// the archive without its history; the public export has only what readers can see.

const exact = { additionalProperties: false }

/** Highest id that an import preserves. A higher one would use up the ids of later records. */
export const maxImportedId = 1_000_000_000
/** Highest revision that an import preserves: later ones must fit into a 32-bit integer. */
export const maxImportedRevision = 1_000_000_000
/** Far above the number in practice. The bytes of a line are limited as well. */
const maxNames = 10_000

const entity = {
  id: Type.Integer({ minimum: 1, maximum: maxImportedId }),
  name: Type.String({ minLength: 1, maxLength: 255, format: 'text' }),
  slug: Slug,
  /** Former slugs that redirect. */
  old_slugs: Type.Array(Slug, { maxItems: maxNames }),
  /** Former slugs that return 410. */
  retired_slugs: Type.Optional(Type.Array(Slug, { maxItems: maxNames })),
  aliases: Type.Array(Alias, { maxItems: maxNames }),
  /** 0 for an entity that was created by a record and has not been changed since. */
  revision: Type.Integer({ minimum: 0, maximum: maxImportedRevision }),
}

/** Fields of a profile: only those that are set are exported. */
const optional = <T extends TProperties>(fields: T) => Type.Partial(Type.Object(fields)).properties

export const ExportHead = Type.Object(
  {
    kind: Type.Literal('talkshelf'),
    version: Type.Literal(1),
    at: Type.String(),
    after: Type.Optional(Id),
    up_to: Type.Optional(Id),
    license: Type.Optional(
      Type.String({
        description:
          'Licence of the data: an SPDX identifier or a URL. Recordings have their own licences',
      }),
    ),
  },
  exact,
)
export const ExportedEntity = Type.Union([
  Type.Object({ kind: Type.Literal('speaker'), ...entity, ...optional(speakerProfile) }, exact),
  Type.Object({ kind: Type.Literal('tag'), ...entity }, exact),
  Type.Object(
    {
      kind: Type.Literal('category'),
      ...entity,
      ...categoryDetails,
      ...optional(categoryProfile),
    },
    exact,
  ),
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
    merged_into: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'The record of the same talk into which this one was merged. An import creates a draft ' +
          'that does not redirect',
      }),
    ),
  },
  exact,
)
export type ExportedVideo = Static<typeof ExportedVideo>

export const ExportEnd = Type.Object(
  { kind: Type.Literal('end'), videos: Type.Integer({ minimum: 0 }) },
  exact,
)

const idFilter = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const exportNdjsonEndpoint = endpoint({
  name: 'exportNdjson',
  method: 'GET',
  path: '/api/v2/export.ndjson',
  role: 'anyone',
  summary: 'Export the whole archive',
  description:
    'A consistent snapshot as NDJSON (one JSON object per line): a header, the categories, ' +
    'speakers and tags, the records by id, and the number of records. If that last line is ' +
    'missing, the export was cut off: continue with `after` and the id of the last record. ' +
    'Everyone gets live records; editors also get drafts, all aliases, former slugs and raw ' +
    'source values. Send `Accept-Encoding: gzip` to compress it. Only a few exports run at a ' +
    'time, and one that is read slower than 16 KiB/s or takes longer than 10 minutes is aborted.',
  query: {
    after: idFilter('Only records with a higher id'),
    up_to: idFilter('Only records up to this id'),
  },
  response: {
    status: 200,
    type: 'application/x-ndjson',
    schema: Type.Union([ExportHead, ExportedEntity, ExportedVideo, ExportEnd], {
      description: 'A line of the export',
    }),
  },
  problems: [],
})
