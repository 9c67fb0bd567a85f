import Type, { type TSchema } from 'typebox'
import {
  allowedMethods,
  type Endpoint,
  endpoint,
  isNegotiated,
  jsonType,
  problemsOf,
  requestHeaders,
} from './endpoint.ts'
import {
  Alias,
  Category,
  CategoryInput,
  CategoryPatch,
  Merge,
  NamePatch,
  Speaker,
  Split,
  Tag,
} from './entities.ts'
import { ProblemDocument, problems } from './problems.ts'
import { QualityFinding } from './quality.ts'
import { Revision, RevisionSummary, Video, VideoInput, VideoPatch } from './videos.ts'

// The interface describes itself: OpenAPI 3.1 is JSON Schema, and so are our schemas, so this only
// arranges them.

export const readOpenapiEndpoint = endpoint({
  name: 'readOpenapi',
  method: 'GET',
  path: '/api/v2/openapi.json',
  role: 'anyone',
  summary: 'This description',
  response: { status: 200, schema: Type.Object({}, { description: 'An OpenAPI 3.1 document' }) },
  problems: [],
})

const named: Record<string, TSchema> = {
  Video,
  VideoInput,
  VideoPatch,
  RevisionSummary,
  Revision,
  Category,
  CategoryInput,
  CategoryPatch,
  Finding: QualityFinding,
  Speaker,
  Tag,
  Alias,
  NamePatch,
  Merge,
  Split,
  Problem: ProblemDocument,
}

type Json = Record<string, unknown>

/**
 * `server` is the address that the paths are relative to; without it they are relative to where the
 * document is served.
 */
export function openapi(endpoints: readonly Endpoint[], version: string, server = '/'): Json {
  const paths: Record<string, Json> = {}
  for (const it of endpoints) {
    paths[it.path] ??= { options: optionsOperation(endpoints, it) }
    const path = paths[it.path] as Json
    path[it.method.toLowerCase()] = operation(it)
    if (it.method === 'GET') path.head = headOperation(it)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Talkshelf',
      version,
      summary: 'Records of recorded talks: read, correct, keep',
      description:
        'All bodies are JSON in pure ASCII. They are declared text/html unless the request names application/json in Accept or adds ?format=json: ' +
        'that is what the clients of this interface have always been given.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(named).map(([name, schema]) => [name, plain(schema)]),
      ),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API token. `Authorization: Token <key>` is taken as well.',
        },
      },
    },
  }
}

function operation(it: Endpoint): Json {
  const failures = Map.groupBy(problemsOf(it), (name) => problems[name].status)
  return {
    operationId: it.name,
    summary: it.summary,
    ...(it.description && { description: it.description }),
    // An empty requirement beside the token: it may be sent, and then it counts.
    security: it.role === 'anyone' ? [{}, { token: [] }] : [{ token: [] }],
    'x-role': it.role,
    ...parametersOf(it),
    ...(it.body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          it.body.types.map((type) => [type, { schema: reference(it.body?.schema as TSchema) }]),
        ),
      },
    }),
    responses: {
      [it.response.status]: success(it),
      ...(it.response.redirects && {
        301: {
          description: 'The address is another one today',
          headers: {
            Location: { description: 'The address of today', schema: { type: 'string' } },
          },
        },
      }),
      ...(it.requestHeaders?.includes('If-None-Match') && { 304: { description: 'Not modified' } }),
      ...Object.fromEntries(
        [...failures].map(([status, names]) => [
          status,
          {
            description: names.map((name) => `${problems[name].title} (${name})`).join('; '),
            content: {
              'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
            },
          },
        ]),
      ),
    },
  }
}

function success(it: Endpoint): Json {
  const schema = reference(it.response.schema)
  return {
    description:
      it.response.schema && 'description' in it.response.schema
        ? String(it.response.schema.description)
        : it.summary,
    headers: {
      ...(it.response.etag && {
        ETag: { description: 'The version of what is sent', schema: { type: 'string' } },
      }),
      ...(it.response.location && {
        Location: { description: 'The address of what was created', schema: { type: 'string' } },
      }),
    },
    content: isNegotiated(it)
      ? { 'text/html': { schema }, 'application/json': { schema } }
      : { [it.response.type ?? jsonType]: { schema } },
  }
}

function parametersOf(it: Endpoint): Json {
  const parameters = [
    ...Object.entries(it.params ?? {}).map(([name, schema]) => ({
      name,
      in: 'path',
      required: true,
      schema: plain(schema),
    })),
    ...Object.entries(it.query ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      schema: plain(schema),
    })),
    ...(isNegotiated(it)
      ? [
          {
            name: 'format',
            in: 'query',
            description: 'json: declare the answer application/json',
            schema: { const: 'json' },
          },
        ]
      : []),
    ...(it.requestHeaders ?? []).map((name) => ({
      name,
      in: 'header',
      description: requestHeaders[name],
      schema: { type: 'string' },
    })),
  ]
  return parameters.length ? { parameters } : {}
}

function headOperation(it: Endpoint): Json {
  return {
    ...(operation(it) as { parameters?: unknown }),
    operationId: `${it.name}Head`,
    summary: `${it.summary}: the headers alone`,
    responses: {
      [it.response.status]: { description: 'The headers of GET' },
      default: { description: 'The status and headers of GET' },
    },
  }
}

function optionsOperation(endpoints: readonly Endpoint[], it: Endpoint): Json {
  const parameters = Object.entries(it.params ?? {}).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    schema: plain(schema),
  }))
  return {
    operationId: `${it.name}Options`,
    summary: 'Which methods this address takes',
    ...(parameters.length && { parameters }),
    responses: { 204: { description: `Allow: ${allowedMethods(endpoints, it.path)}` } },
  }
}

function reference(schema: TSchema): Json {
  return nameOf(schema) ?? plain(schema)
}

function nameOf(schema: unknown): Json | undefined {
  const name = Object.keys(named).find((key) => named[key] === schema)
  return name === undefined ? undefined : { $ref: `#/components/schemas/${name}` }
}

// A copy without TypeBox's own marks, in which every schema inside that has a name is a reference
// to it.
function plain(schema: TSchema): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === '' ? value : (nameOf(value) ?? value))),
  ) as Json
}
