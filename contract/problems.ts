import Type, { type Static } from 'typebox'

// Every way in which a request can fail has a name here, and only these leave the service (RFC
// 9457). Throw a Problem where you know it; one handler turns it into the answer.

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** For the page behind `type`: what happened, and what to do next. */
  readonly explain: string
}

export const problems = {
  'malformed-body': {
    status: 400,
    title: 'The body is not JSON that this service takes',
    explain:
      'The body must be one JSON object in UTF-8, at most 8 levels deep, with no key twice, no byte order mark, no key named __proto__, ' +
      'only numbers that survive a round trip, and at most 256 keys and 10,000 commas. The detail says which of these was broken. Mend the body and send it again.',
  },
  'invalid-fields': {
    status: 400,
    title: 'Some fields are wrong',
    explain:
      'The body was read, but some of its fields were not accepted, and nothing was changed. Each member of `errors` has a JSON pointer to the ' +
      'field, a short code that programs can rely on, and a sentence for people. All wrong fields are named at once.',
  },
  'invalid-query': {
    status: 400,
    title: 'A parameter of the address is wrong',
    explain:
      'A parameter behind the question mark has a value that this address does not take. `errors` names it.',
  },
  'invalid-header': {
    status: 400,
    title: 'A request header is wrong',
    explain:
      'A header of the request has a value that this service does not take. The detail names it.',
  },
  'bad-request': {
    status: 400,
    title: 'The request could not be read',
    explain:
      'The request is not HTTP as this service takes it: a broken request line, header or length.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid token is needed',
    explain:
      'This call needs an API token, or the token sent is unknown, expired or revoked. Send it as `Authorization: Token <key>` or ' +
      '`Authorization: Bearer <key>`. The people who run the archive make tokens with `talkshelf token create`.',
  },
  forbidden: {
    status: 403,
    title: 'This token may not do that',
    explain:
      'The token is valid, but its role does not include this call. The reference lists the role that each call needs.',
  },
  'not-found': {
    status: 404,
    title: 'Nothing is here',
    explain:
      'There is no such address, or no such record, or it is a draft, which only editors see.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'This address does not take that method',
    explain: 'The Allow header lists the methods that this address takes.',
  },
  'not-acceptable': {
    status: 406,
    title: 'No acceptable form of the answer',
    explain:
      'Answers are JSON, sent as text/html or application/json. Accept one of the two, or add ?format=json. Nothing was changed.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request came too slowly',
    explain: 'The whole request did not arrive in time. Send it again.',
  },
  'import-refused': {
    status: 400,
    title: 'This file cannot be imported',
    explain:
      'The file is of no format that can be read, or broken. The detail says what is wrong with it and what to do. Nothing was planned or changed.',
  },
  'wrong-state': {
    status: 409,
    title: 'The import is not in a state for that',
    explain:
      'An import is planned, applied and undone in this order. The detail tells its state. Nothing was changed.',
  },
  'key-reused': {
    status: 409,
    title: 'This Idempotency-Key was used for something else',
    explain:
      'The key was sent within the last 24 hours with another body. Use a new key for a new request.',
  },
  'category-exists': {
    status: 409,
    title: 'A category with this title exists',
    explain:
      'Titles of categories are unique, also among the aliases. Use the existing one, or choose another title.',
  },
  'name-taken': {
    status: 409,
    title: 'Another one has this name',
    explain:
      'A name leads to one speaker, one tag or one category, and so does an alias; nothing was changed. The detail has the slug of the one that has it. ' +
      'If the two are one, merge them; otherwise choose a name that tells them apart.',
  },
  'taken-down': {
    status: 410,
    title: 'This record was taken down',
    explain:
      'An administrator withdrew the record. `taken_down` has the date and `reason` the reason. It does not come back.',
  },
  'slug-retired': {
    status: 410,
    title: 'This slug was retired',
    explain:
      'A speaker, tag or category had this slug once, and an editor retired it. It leads nowhere, and no other ' +
      'one gets it. Editors find it in `retired_slugs` of the one that had it.',
  },
  'stale-revision': {
    status: 412,
    title: 'The record has changed since',
    explain:
      'The ETag in If-Match is no longer the current one: somebody changed the record in between, and nothing was written. `current` tells the ' +
      'revision, ETag and time of the newest version, who made it, and which fields changed since yours. Read it again and repeat your change.',
  },
  'too-large': {
    status: 413,
    title: 'The body is too large',
    explain: 'A body may have 1 MiB at most, and a file to be imported 4 MB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The body has a type that is not taken here',
    explain:
      'Send application/json in UTF-8, on PATCH also application/merge-patch+json, without Content-Encoding. Nothing was changed.',
  },
  'expectation-failed': {
    status: 417,
    title: 'This expectation cannot be met',
    explain: 'The only Expect header that this service knows is 100-continue.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    explain:
      'You have used up your share for this minute. Wait for the seconds in Retry-After. Reading costs 1 point, writing 10; an answer that nothing ' +
      'has changed (304) is free, so send If-None-Match. The RateLimit headers tell how many points are left.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The request headers are too large',
    explain: 'Send fewer or shorter headers.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong here',
    explain:
      'This is a fault of the service, not of the request. The operators find it in their log by the `instance` of this answer.',
  },
  'not-implemented': {
    status: 501,
    title: 'This form of the answer does not exist',
    explain:
      'The address was asked for a format that it does not have. The detail names those that it has.',
  },
  unavailable: {
    status: 503,
    title: 'The service is not available now',
    explain:
      'The database could not be reached in time. Try again after the seconds in Retry-After. On a write, `outcome` says whether it was ' +
      'certainly not applied (not-applied) or may have been (unknown); repeating the same request has one effect in both cases.',
  },
} as const satisfies Record<string, ProblemKind>

export type ProblemName = keyof typeof problems

export const FieldError = Type.Object(
  {
    pointer: Type.String({ description: 'JSON pointer to the field (RFC 6901)' }),
    code: Type.String({ description: 'What is wrong, for programs' }),
    detail: Type.String({
      description: 'What is wrong and what would be right, for people. Never repeats the value',
    }),
  },
  { additionalProperties: false },
)
export type FieldError = Static<typeof FieldError>

export const ProblemDocument = Type.Object({
  type: Type.String({ description: 'The address of a page that explains this kind of problem' }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  instance: Type.String({ description: 'The id of this request, also in the log' }),
  errors: Type.Optional(Type.Array(FieldError)),
})
export type ProblemDocument = Static<typeof ProblemDocument>

export class Problem extends Error {
  readonly problem: ProblemName
  readonly more: Readonly<Record<string, unknown>>

  constructor(problem: ProblemName, detail: string, more: Readonly<Record<string, unknown>> = {}) {
    super(detail)
    this.name = 'Problem'
    this.problem = problem
    this.more = more
  }
}

export function invalidFields(errors: readonly FieldError[]): Problem {
  const wrong = errors.length === 1 ? 'One field is wrong' : `${errors.length} fields are wrong`
  return new Problem('invalid-fields', `${wrong}; nothing was changed`, { errors })
}
