import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import { ExportedEntity, ExportedVideo } from './exports.ts'
import { matching, oneOf } from './formats.ts'

// The change feed: an entry for each change of what anyone can read. docs/follow.md explains how to
// follow it.

export const feedKinds = ['category', 'speaker', 'tag', 'video'] as const
export const feedStates = ['live', 'hidden', 'merged', 'taken-down'] as const

/** The highest number of seconds that a request waits for a change. */
export const maxWaitSeconds = 55
/** The highest number of ids in a request. */
export const maxFeedIds = 100
/** The highest number of entries of a page. */
export const maxFeedEntries = 1000

const exact = { additionalProperties: false }
const owners = (description: string) =>
  Type.Optional(Type.Array(Type.String(), { description: `${description}. Only if there are any` }))

/** A record as in an export, with the ids of its entities: names change, ids do not. */
const FeedVideo = Type.Object(
  {
    ...ExportedVideo.properties,
    ids: Type.Object({ category: Id, speakers: Type.Array(Id), tags: Type.Array(Id) }, exact),
  },
  exact,
)
export type FeedVideo = Static<typeof FeedVideo>

export const FeedEntry = Type.Object(
  {
    seq: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Number of the entry: 1, 2, 3 … without gaps',
    }),
    at: Type.String({ description: 'When it was added to the feed, UTC. Never decreases' }),
    kind: oneOf(feedKinds, 'What has changed. A change of facts is one of their record'),
    id: Id,
    state: oneOf(
      feedStates,
      '`live`: anyone can read it. `hidden`: it is not public any more. `merged`: it redirects to ' +
        '`merged_into`. `taken-down`: removed for good, delete all copies',
    ),
    version: Type.Optional(
      Type.String({
        description:
          'Changes with what is public; only if it is live. That of a record begins with its id ' +
          'and revision, as its ETag does',
      }),
    ),
    merged_into: Type.Optional(Id),
    belongs_to: owners(
      'Category, speakers, tags and language of a record: `category:3`, `language:en`',
    ),
    belonged_to: owners('Those that the record had before and no longer has'),
    record: Type.Optional(
      Type.Union([FeedVideo, ExportedEntity, Type.Null()], {
        description:
          'With `include=record`: the record or entity as it is now, as in an export, records ' +
          'with the ids of their entities; null if it is not public now',
      }),
    ),
  },
  { ...exact, description: 'An entry of the change feed' },
)
export type FeedEntry = Static<typeof FeedEntry>

const cursor = 'A position in the feed. Send it as `since` to continue'
export const FeedPage = Type.Object(
  {
    results: Type.Array(FeedEntry),
    cursor: Type.String({ description: cursor }),
    more: Type.Boolean({ description: 'Whether there are further entries now' }),
  },
  { ...exact, description: 'Entries of the change feed, oldest first' },
)
export type FeedPage = Static<typeof FeedPage>

/** Parameters that select entries. */
export const feedFilters = {
  kind: oneOf(feedKinds, 'Only entries of this kind'),
  category: Type.Integer({ ...Id, description: 'Id of a category: only its records' }),
  speaker: Type.Integer({ ...Id, description: 'Id of a speaker: only their records' }),
  tag: Type.Integer({ ...Id, description: 'Id of a tag: only its records' }),
}
/** Returns the schema of a position in the feed. */
export const feedSince = (description: string) =>
  matching(
    '^(0|now|[0-9]{1,15}\\.[0-9a-f]{16}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{5,12}Z?)?)$',
    'must be a cursor, 0, now, or a time such as 2026-11-15T10:00:00Z',
    { maxLength: 40, description },
  )

export const listChangesEndpoint = endpoint({
  name: 'listChanges',
  method: 'GET',
  path: '/api/v2/changes',
  role: 'anyone',
  summary: 'Follow the changes of the archive',
  description:
    'Every change of what anyone can read, in the order in which it became public: records, ' +
    'categories, speakers and tags that are new, changed, hidden, merged or taken down. Follow it ' +
    'with the cursor of each page; nothing is missed, and entries are kept for ever. A page may ' +
    'be empty and still have a further cursor if a filter matched nothing. Filters also return ' +
    'records that have left the category, speaker or tag.',
  query: {
    since: feedSince(
      'Entries after this: the cursor of a page, `0` for all (the default), `now`, or a time (UTC)',
    ),
    limit: Type.Integer({
      minimum: 1,
      maximum: maxFeedEntries,
      description: 'Highest number of entries; default: 100. With `include=record` at most 100',
    }),
    wait: Type.Integer({
      minimum: 0,
      maximum: maxWaitSeconds,
      description: 'Seconds to wait for an entry if there is none; default: 0',
    }),
    ...feedFilters,
    id: matching(
      `^[0-9]{1,15}(,[0-9]{1,15}){0,${maxFeedIds - 1}}$`,
      `must be 1 to ${maxFeedIds} ids, separated by commas`,
      {
        maxLength: maxFeedIds * 16,
        description:
          'With `kind`: the newest entry of each of these, and no other. Ids that were never ' +
          'public are missing. `since` is not used; the cursor is the end of the feed',
      },
    ),
    include: oneOf(['record'], 'Adds the record or entity, as it is now'),
    compact: oneOf(
      ['true'],
      'Leaves out entries that a later one replaces. Not with `category`, `speaker` or `tag`',
    ),
  },
  response: { status: 200, type: jsonType, schema: FeedPage },
  problems: ['other-history'],
})

export const streamChangesEndpoint = endpoint({
  name: 'streamChanges',
  method: 'GET',
  path: '/api/v2/changes/stream',
  role: 'anyone',
  summary: 'Follow the changes as Server-Sent Events',
  description:
    'The entries of `/api/v2/changes` as they are added, for `EventSource`: `data` is an entry, ' +
    '`id` is the cursor after it. A client that reconnects continues there (`Last-Event-ID`). ' +
    'Connections are closed after about 10 minutes, and if the client does not keep up.',
  query: { since: feedSince('As for `/api/v2/changes`; default: `now`'), ...feedFilters },
  response: { status: 200, type: 'text/event-stream', schema: FeedEntry },
  problems: ['other-history'],
})

export const changesEndpoints = { listChanges: listChangesEndpoint } as const
