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

// Builds the OpenAPI document from the endpoints. OpenAPI 3.1 uses JSON Schema, as the contract
// does, so the schemas are only rearranged.

export const readOpenapiEndpoint = endpoint({
  name: 'readOpenapi',
  method: 'GET',
  path: '/api/v2/openapi.json',
  role: 'anyone',
  summary: 'Read the OpenAPI document',
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
 * Builds the OpenAPI document. `server` is the URL that the paths are relative to; the default is
 * the host that serves the document.
 */
export function openapi(endpoints: readonly Endpoint[], version: string, server = '/'): Json {
  const paths: Record<string, Json> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] ??= { options: optionsOperation(endpoints, endpoint) }
    const path = paths[endpoint.path] as Json
    path[endpoint.method.toLowerCase()] = operation(endpoint)
    if (endpoint.method === 'GET') path.head = headOperation(endpoint)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Talkshelf',
      version,
      summary: 'An archive of recorded talks',
      description:
        'All bodies are JSON in pure ASCII. For compatibility with existing clients, they are ' +
        'sent as text/html unless the request has application/json in Accept or adds ?format=json.',
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
          description: 'An API token. `Authorization: Token <key>` works as well.',
        },
      },
    },
  }
}

/** Returns the description of an operation, with its warning as a paragraph of its own. */
function describe({ warning, description }: Endpoint): Json {
  const paragraphs = [warning && `**Warning:** ${warning}`, description].filter(Boolean)
  return paragraphs.length > 0 ? { description: paragraphs.join('\n\n') } : {}
}

function operation(endpoint: Endpoint): Json {
  const failures = Map.groupBy(problemsOf(endpoint), (name) => problems[name].status)
  return {
    operationId: endpoint.name,
    summary: endpoint.summary,
    ...describe(endpoint),
    // The empty requirement makes the token optional.
    security: endpoint.role === 'anyone' ? [{}, { token: [] }] : [{ token: [] }],
    'x-role': endpoint.role,
    ...parametersOf(endpoint),
    ...(endpoint.body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          endpoint.body.types.map((type) => [
            type,
            { schema: reference(endpoint.body?.schema as TSchema) },
          ]),
        ),
      },
    }),
    responses: {
      [endpoint.response.status]: success(endpoint),
      ...(endpoint.response.redirects && {
        301: {
          description: 'Moved to the current URL',
          headers: {
            Location: { description: 'Current URL', schema: { type: 'string' } },
          },
        },
      }),
      ...(endpoint.requestHeaders?.includes('If-None-Match') && {
        304: { description: 'Not modified' },
      }),
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

function success(endpoint: Endpoint): Json {
  const schema = reference(endpoint.response.schema)
  return {
    description:
      endpoint.response.schema && 'description' in endpoint.response.schema
        ? String(endpoint.response.schema.description)
        : endpoint.summary,
    headers: {
      ...(endpoint.response.etag && {
        ETag: { description: 'Version of the response', schema: { type: 'string' } },
      }),
      ...(endpoint.response.location && {
        Location: { description: 'URL of the created resource', schema: { type: 'string' } },
      }),
    },
    content: isNegotiated(endpoint)
      ? { 'text/html': { schema }, 'application/json': { schema } }
      : { [endpoint.response.type ?? jsonType]: { schema } },
  }
}

function parametersOf(endpoint: Endpoint): Json {
  const parameters = [
    ...Object.entries(endpoint.params ?? {}).map(([name, schema]) => ({
      name,
      in: 'path',
      required: true,
      schema: plain(schema),
    })),
    ...Object.entries(endpoint.query ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      schema: plain(schema),
    })),
    ...(isNegotiated(endpoint)
      ? [
          {
            name: 'format',
            in: 'query',
            description: 'json: send the response as application/json',
            schema: { const: 'json' },
          },
        ]
      : []),
    ...(endpoint.requestHeaders ?? []).map((name) => ({
      name,
      in: 'header',
      description: requestHeaders[name],
      schema: { type: 'string' },
    })),
  ]
  return parameters.length ? { parameters } : {}
}

function headOperation(endpoint: Endpoint): Json {
  return {
    ...(operation(endpoint) as { parameters?: unknown }),
    operationId: `${endpoint.name}Head`,
    summary: `${endpoint.summary}: headers only`,
    responses: {
      [endpoint.response.status]: { description: 'Headers of GET' },
      default: { description: 'Status and headers of GET' },
    },
  }
}

function optionsOperation(endpoints: readonly Endpoint[], endpoint: Endpoint): Json {
  const parameters = Object.entries(endpoint.params ?? {}).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    schema: plain(schema),
  }))
  return {
    operationId: `${endpoint.name}Options`,
    summary: 'List the allowed methods',
    ...(parameters.length && { parameters }),
    responses: { 204: { description: `Allow: ${allowedMethods(endpoints, endpoint.path)}` } },
  }
}

function reference(schema: TSchema): Json {
  return nameOf(schema) ?? plain(schema)
}

function nameOf(schema: unknown): Json | undefined {
  const name = Object.keys(named).find((key) => named[key] === schema)
  return name === undefined ? undefined : { $ref: `#/components/schemas/${name}` }
}

// Returns a copy without TypeBox's own properties, in which named schemas are references.
function plain(schema: TSchema): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === '' ? value : (nameOf(value) ?? value))),
  ) as Json
}
