import Type, { type Static } from 'typebox'
import { endpoint, Slug } from './endpoint.ts'
import { ListedSpeaker } from './entities.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'
import { Video } from './videos.ts'

// Data-quality problems in the archive, by rule. New rules can be added at any time.

const rule = Type.String({ ...Slug, description: 'Name of the rule' })

const QualityRule = Type.Object(
  {
    rule,
    title: Type.String({ description: 'What the problem is' }),
    advice: Type.String({ description: 'How to fix it' }),
    count: Type.Integer({ minimum: 0, description: 'Number of findings' }),
    count_exact: Type.Optional(
      Type.Literal(false, {
        description:
          'Only present if the count is an estimate: above 10,000, or for `one-host` in an archive ' +
          'of more than 12,000 talks',
      }),
    ),
    records: Type.String({ description: 'URL of the findings' }),
  },
  { additionalProperties: false, description: 'A rule and its number of findings' },
)
export type QualityRule = Static<typeof QualityRule>

const { id, title, category, state } = Video.properties
export const FoundRecord = Type.Object(
  {
    id,
    title,
    category,
    state,
    address: Type.String({ description: 'URL of the record in the API' }),
  },
  { additionalProperties: false, description: 'A record with a problem' },
)

export const QualityFinding = Type.Object(
  {
    value: Type.Union([Type.String(), Type.Integer(), Type.Null()], {
      description:
        'The problematic value, or the value that the records have in common; null if the rule ' +
        'implies it',
    }),
    count: Type.Integer({
      minimum: 1,
      description: 'Number of affected records or names. At most 100 of them are listed',
    }),
    records: Type.Array(FoundRecord, {
      description: 'Affected records; empty if the finding is about names',
    }),
    names: Type.Array(ListedSpeaker, {
      description:
        'Speakers or tags that may be the same, most used first; empty if the finding is about ' +
        'records',
    }),
  },
  { additionalProperties: false, description: 'A data-quality problem' },
)
export type QualityFinding = Static<typeof QualityFinding>

export const listRulesEndpoint = endpoint({
  name: 'listRules',
  method: 'GET',
  path: '/api/v2/quality',
  role: 'editor',
  forEventEditors: true,
  summary: 'List data-quality rules',
  description: 'All rules on one page. Drafts are included, records that were taken down are not.',
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(QualityRule, 'All rules'), etag: true },
  problems: [],
})

export const listFindingsEndpoint = endpoint({
  name: 'listFindings',
  method: 'GET',
  path: '/api/v2/quality/{rule}',
  role: 'editor',
  forEventEditors: true,
  summary: 'List the findings of a rule',
  description:
    '20 per page. A finding is a record, or several records or names that may be the same. Fixed ' +
    'findings disappear immediately: to see each of the others exactly once while you fix them, ' +
    'start with an empty `cursor` and follow `next`.',
  params: { rule },
  query: { page: PageNumber, page_size: PageSize, cursor: CursorText },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(QualityFinding, 'A page of findings'), etag: true },
  problems: [],
})

export const qualityEndpoints = {
  listRules: listRulesEndpoint,
  listFindings: listFindingsEndpoint,
} as const
