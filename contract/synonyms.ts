import Type, { type Static } from 'typebox'
import { endpoint, jsonType } from './endpoint.ts'
import './formats.ts'

// Synonyms of the search. Editors change them.

const exact = { additionalProperties: false }

const Term = Type.String({
  minLength: 1,
  maxLength: 60,
  format: 'text',
  description:
    'A word, or a phrase of up to four words. In a script without spaces up to 12 characters',
})

export const Synonyms = Type.Object(
  {
    groups: Type.Array(
      Type.Array(Term, {
        minItems: 2,
        maxItems: 10,
        description: 'Terms with the same meaning',
      }),
      { maxItems: 500 },
    ),
  },
  {
    ...exact,
    description:
      'Groups of terms. A search for one finds all of its group. Case, accents and English word ' +
      'endings are ignored; a term is in one group only',
  },
)
export type Synonyms = Static<typeof Synonyms>

export const readSynonymsEndpoint = endpoint({
  name: 'readSynonyms',
  method: 'GET',
  path: '/api/v2/synonym',
  role: 'anyone',
  summary: 'Read the synonyms of the search',
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: Synonyms, etag: true },
  problems: [],
})

export const replaceSynonymsEndpoint = endpoint({
  name: 'replaceSynonyms',
  method: 'PUT',
  path: '/api/v2/synonym',
  role: 'editor',
  summary: 'Replace the synonyms of the search',
  description:
    'Replaces all groups. The next search uses them, behind an edge cache after 10 s. Send the ETag in `If-Match`, so that you do ' +
    'not overwrite the change of another editor. The audit log keeps what was added and removed, ' +
    'at most 100 groups each.',
  requestHeaders: ['If-Match'],
  body: { schema: Synonyms, types: [jsonType] },
  response: { status: 200, schema: Synonyms, etag: true },
  problems: [],
})

export const synonymEndpoints = {
  readSynonyms: readSynonymsEndpoint,
  replaceSynonyms: replaceSynonymsEndpoint,
} as const
