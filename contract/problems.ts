import Type, { type Static } from 'typebox'

// All the ways in which a request can fail (RFC 9457). Throw a Problem where the failure is
// detected; one error handler turns it into the response. No other error leaves the service.

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** What happened and what to do next, for the page behind `type`. */
  readonly explain: string
}

export const problems = {
  'malformed-body': {
    status: 400,
    title: 'Invalid JSON body',
    explain:
      'The body must be a single JSON object in UTF-8: at most 8 levels deep, with at most 256 ' +
      'keys and 10,000 commas, no duplicate keys, no key named __proto__, no byte order mark, ' +
      'and only numbers that survive a round trip. The detail says which rule was broken. Fix ' +
      'the body and send it again.',
  },
  'invalid-fields': {
    status: 400,
    title: 'Invalid fields',
    explain:
      'The body is valid JSON, but some fields have invalid values. Nothing was changed. Each ' +
      'entry of `errors` has a JSON pointer to the field, a stable code for programs and a ' +
      'message for people. All invalid fields are listed at once.',
  },
  'invalid-query': {
    status: 400,
    title: 'Invalid query parameter',
    explain:
      'A query parameter is unknown or has an invalid value. `errors` says which one, and why.',
  },
  'invalid-header': {
    status: 400,
    title: 'Invalid request header',
    explain: 'A request header has an invalid value. The detail says which one.',
  },
  'bad-request': {
    status: 400,
    title: 'Malformed request',
    explain:
      'The request is not valid HTTP: its request line, a header or its length is malformed.',
  },
  unauthenticated: {
    status: 401,
    title: 'Missing or invalid token',
    explain:
      'This endpoint requires an API token, or the token you sent is unknown, expired or ' +
      'revoked. Send it as `Authorization: Token <key>` or `Authorization: Bearer <key>`. The ' +
      'operators of the archive create tokens with `talkshelf token create`.',
  },
  forbidden: {
    status: 403,
    title: 'Insufficient permissions',
    explain:
      'Your token is valid, but its role does not allow this call. The reference lists the role ' +
      'that each endpoint requires.',
  },
  'read-only': {
    status: 403,
    title: 'A read-only copy',
    explain:
      'This archive is a copy of another one, which the detail names. Nothing was changed: make ' +
      'the change there, and it will appear here.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    explain:
      'The URL or the record does not exist, or the record is a draft, which only editors can see.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    explain: 'This URL does not support the method. The Allow header lists those that it supports.',
  },
  'not-acceptable': {
    status: 406,
    title: 'Not acceptable',
    explain:
      'Responses are JSON, sent as text/html or application/json. Accept one of the two, or add ' +
      '?format=json. Nothing was changed.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    explain: 'The request did not arrive completely in time. Send it again.',
  },
  'import-refused': {
    status: 400,
    title: 'This file cannot be imported',
    explain:
      'The file is damaged or in a format that is not supported. The detail says what is wrong ' +
      'and how to fix it. Nothing was planned or changed.',
  },
  'picture-refused': {
    status: 400,
    title: 'This picture cannot be used',
    explain:
      'The file is empty, damaged, animated, too large to decode or in a format that is not ' +
      'supported. The detail says what to send instead. Nothing was stored.',
  },
  'wrong-state': {
    status: 409,
    title: 'Not possible in the current state',
    explain:
      'An import is first planned, then applied, and can then be undone. Only a draft can be ' +
      'scheduled for publication. A person who is disabled gets no sign-in link. A new webhook is ' +
      'enabled by a ping. A suggestion or a replacement is decided once. The detail says which state ' +
      'it is in. Nothing was changed.',
  },
  'queue-full': {
    status: 409,
    title: 'Too many open suggestions',
    explain:
      'A record has at most 20 open suggestions and the archive 500, so that editors can read them ' +
      'all. Nothing was stored. Try again when some of them are decided.',
  },
  'fields-changed': {
    status: 409,
    title: 'Fields have changed since',
    explain:
      'Some fields of the change that you want to revert, or of the suggestion that you accept, ' +
      'have other values today, because they were changed since. Nothing was written. `fields` ' +
      'lists them. Send `fields` without them to take the others, or write these fields yourself.',
  },
  'not-merged': {
    status: 409,
    title: 'This merge cannot be undone',
    explain:
      'No entity with this slug is merged, or it was merged by a version that did not keep what ' +
      'the entity had. Nothing was written.',
  },
  'not-revertible': {
    status: 409,
    title: 'This revision cannot be reverted',
    explain:
      'The first revision created the record, so there are no earlier values. Nothing was ' +
      'written. To hide the record from readers, make it a draft: set `state` to 2.',
  },
  'key-reused': {
    status: 409,
    title: 'Idempotency-Key already used',
    explain:
      'The key was used within the last 24 hours with a different body. Use a new key for each ' +
      'new request.',
  },
  'category-exists': {
    status: 409,
    title: 'Category already exists',
    explain:
      'Category titles are unique, and so are their aliases. Use the existing category, or ' +
      'choose another title.',
  },
  'name-taken': {
    status: 409,
    title: 'Name already taken',
    explain:
      'Each name or alias belongs to exactly one speaker, tag or category, and each mail address ' +
      'to one person. Nothing was changed. ' +
      'The detail has the slug of the current owner. If both are the same, merge them; otherwise ' +
      'choose a different name.',
  },
  merged: {
    status: 409,
    title: 'Record merged into another one',
    explain:
      'This record and another one are the same talk, and an editor merged them. `merged_into` is ' +
      'the id of the record to change instead. To undo the merge, restore a revision of this one.',
  },
  'taken-down': {
    status: 410,
    title: 'Record taken down',
    explain:
      'An administrator removed this record permanently. `taken_down` is the date and `reason` ' +
      'the reason.',
  },
  'slug-retired': {
    status: 410,
    title: 'Slug retired',
    explain:
      'A speaker, tag or category used to have this slug, and an editor retired it. It no longer ' +
      'redirects and is never reused. Editors find it in `retired_slugs` of its former owner.',
  },
  'other-history': {
    status: 410,
    title: 'The cursor belongs to another history',
    explain:
      'The archive was restored from a backup, and the entry that the cursor names is not part of ' +
      'its history any more. Continue from an older cursor that is accepted, or read the whole ' +
      'archive again. docs/follow.md describes how.',
  },
  'stale-revision': {
    status: 412,
    title: 'Record has changed',
    explain:
      'The ETag in If-Match is out of date: the record changed in the meantime, and nothing was ' +
      'written. `current` has the revision, ETag and time of the newest version, who made it, ' +
      'and which fields changed since yours. Read the record again and repeat your change.',
  },
  'too-large': {
    status: 413,
    title: 'Body too large',
    explain:
      'A body can have at most 1 MiB, a file to import at most 4 MB, and a picture at most 10 MB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    explain:
      'Send application/json in UTF-8 (for PATCH also application/merge-patch+json; for a picture ' +
      'its image type), without Content-Encoding. Nothing was changed.',
  },
  'expectation-failed': {
    status: 417,
    title: 'Unsupported Expect header',
    explain: 'The only supported value of the Expect header is 100-continue.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    explain:
      'You have used up your points for this minute. Wait for the number of seconds in ' +
      'Retry-After. A read costs 1 point and a write 10; a 304 response is free, so send ' +
      'If-None-Match. The RateLimit headers show how many points are left.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Request headers too large',
    explain: 'The request headers are too large. Send fewer or shorter ones.',
  },
  internal: {
    status: 500,
    title: 'Internal server error',
    explain:
      'This is a bug in the service, not in your request. The operators can find it in their log ' +
      'by the `instance` of this response.',
  },
  'not-implemented': {
    status: 501,
    title: 'Format not supported',
    explain:
      'The requested format is not available at this URL. The detail lists the supported formats.',
  },
  unavailable: {
    status: 503,
    title: 'Service temporarily unavailable',
    explain:
      'The server is overloaded, or its database did not respond in time. Try again after the ' +
      'number of seconds in Retry-After. For a write, `outcome` says whether it was certainly ' +
      'not applied (not-applied) or may have been (unknown); repeating the same request has one ' +
      'effect in both cases.',
  },
  'storage-full': {
    status: 507,
    title: 'Storage full',
    explain:
      'The archive stores at most 20,000 uploaded pictures or 2 GB of them. Nothing was stored. ' +
      'Remove pictures from profiles that no longer need them; they are deleted after 90 days.',
  },
} as const satisfies Record<string, ProblemKind>

export type ProblemName = keyof typeof problems

export const FieldError = Type.Object(
  {
    pointer: Type.String({ description: 'JSON pointer to the field (RFC 6901)' }),
    code: Type.String({ description: 'Error code, for programs' }),
    detail: Type.String({
      description: 'What is wrong and what is allowed, for people. Never repeats the value',
    }),
  },
  { additionalProperties: false },
)
export type FieldError = Static<typeof FieldError>

/** The version of a record that a change with another one in `If-Match` would have overwritten. */
export const CurrentVersion = Type.Object(
  {
    revision: Type.Integer(),
    etag: Type.String({ description: 'The ETag of the current version' }),
    updated: Type.Union([Type.String(), Type.Null()], {
      description: 'Time of the last change, or null if it is not known',
    }),
    by: Type.Union([Type.String(), Type.Null()], { description: 'Who made the last change' }),
    fields: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'What has changed since the version in If-Match',
    }),
  },
  { description: 'stale-revision: the version that is current' },
)

export const ProblemDocument = Type.Object({
  type: Type.String({ description: 'URL of a page that explains this kind of problem' }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  instance: Type.String({ description: 'Request id, as in the server log' }),
  errors: Type.Optional(Type.Array(FieldError)),
  retry_after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Seconds to wait, as in the header Retry-After' }),
  ),
  outcome: Type.Optional(
    Type.Union([Type.Literal('not-applied'), Type.Literal('unknown')], {
      description: 'unavailable: whether the write was certainly not applied',
    }),
  ),
  current: Type.Optional(CurrentVersion),
  fields: Type.Optional(
    Type.Array(Type.String(), {
      description: 'fields-changed: the fields that have changed since the revision',
    }),
  ),
  merged_into: Type.Optional(
    Type.Integer({ description: 'merged: id of the record that this one was merged into' }),
  ),
  taken_down: Type.Optional(
    Type.String({ format: 'date', description: 'taken-down: day of the takedown' }),
  ),
  reason: Type.Optional(Type.String({ description: 'taken-down: reason of the takedown' })),
})
export type ProblemDocument = Static<typeof ProblemDocument>

/** An expected failure of a request. `detail` and `more` are sent to the client. */
export class Problem extends Error {
  readonly problem: ProblemName
  /**
   * Extension members of the problem document. `retry_after`, in seconds, is also sent in the
   * Retry-After header: `too-many-requests` requires it, and `unavailable` has a default.
   */
  readonly more: Readonly<Record<string, unknown>>

  constructor(problem: ProblemName, detail: string, more: Readonly<Record<string, unknown>> = {}) {
    super(detail)
    this.name = 'Problem'
    this.problem = problem
    this.more = more
  }
}

/** Builds the problem for a body with invalid fields, one error for each. */
export function invalidFields(errors: readonly FieldError[]): Problem {
  const summary = errors.length === 1 ? '1 invalid field' : `${errors.length} invalid fields`
  return new Problem('invalid-fields', `${summary}; nothing was changed`, { errors })
}
