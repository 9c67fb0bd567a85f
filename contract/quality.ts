import Type, { type Static } from 'typebox'
import { endpoint, Slug } from './endpoint.ts'
import { ListedSpeaker } from './entities.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'
import { Video } from './videos.ts'

// What could be better in the archive, by rule. Rules may be added; a client shows what it is told.

const rule = Type.String({ ...Slug, description: 'The name of the rule' })

const QualityRule = Type.Object(
  {
    rule,
    title: Type.String({ description: 'What is wrong' }),
    advice: Type.String({ description: 'What to do about it' }),
    count: Type.Integer({ minimum: 0, description: 'How many findings there are' }),
    count_exact: Type.Optional(
      Type.Literal(false, {
        description: 'Only there when the count is an estimate, above 10,000',
      }),
    ),
    records: Type.String({ description: 'The address of the findings' }),
  },
  { additionalProperties: false, description: 'A rule, and how many findings it has' },
)
export type QualityRule = Static<typeof QualityRule>

const { id, title, category, state } = Video.properties
export const FoundRecord = Type.Object(
  {
    id,
    title,
    category,
    state,
    address: Type.String({ description: 'Where the record is read and changed' }),
  },
  { additionalProperties: false, description: 'A record that is found' },
)

export const QualityFinding = Type.Object(
  {
    value: Type.Union([Type.String(), Type.Integer(), Type.Null()], {
      description:
        'The value that is wrong, or what all of them have in common; null where it is in the rule already',
    }),
    count: Type.Integer({
      minimum: 1,
      description: 'How many records or names belong to it. Not more than 100 of them are here',
    }),
    records: Type.Array(FoundRecord, {
      description: 'One record, or those that have the same; none where it is about names',
    }),
    names: Type.Array(ListedSpeaker, {
      description:
        'Speakers or tags that are perhaps the same, the most used first; none where it is about records',
    }),
  },
  { additionalProperties: false, description: 'One problem to look at' },
)
export type QualityFinding = Static<typeof QualityFinding>

export const listRulesEndpoint = endpoint({
  name: 'listRules',
  method: 'GET',
  path: '/api/v2/quality',
  role: 'editor',
  summary: 'List what could be better, by rule',
  description: 'All rules on one page. Drafts count too; what was taken down does not.',
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(QualityRule, 'All rules'), etag: true },
  problems: [],
})

export const listFindingsEndpoint = endpoint({
  name: 'listFindings',
  method: 'GET',
  path: '/api/v2/quality/{rule}',
  role: 'editor',
  summary: 'List what a rule finds',
  description:
    '20 on a page. A finding is one record, or several records or names that are perhaps the same. What was mended is gone from the list at once; ' +
    'begin with an empty `cursor` and follow `next` to see the others exactly once meanwhile.',
  params: { rule },
  query: { page: PageNumber, page_size: PageSize, cursor: CursorText },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(QualityFinding, 'A page of findings'), etag: true },
  problems: [],
})
