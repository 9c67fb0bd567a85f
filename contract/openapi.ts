import Type, { type TSchema } from 'typebox'
import {
  allowedMethods,
  type Endpoint,
  endpoint,
  isNegotiated,
  jsonType,
  problemsOf,
  type RequestHeader,
  requestHeaders,
} from './endpoint.ts'
import { CursorText, PageNumber, PageSize } from './page.ts'
import { type ProblemName, problems } from './problems.ts'
import { resourceOf } from './resources.ts'
import { schemaNames } from './schema-names.ts'

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

type Json = Record<string, unknown>

/** Examples of requests and responses. The server has them, and its tests send and receive them. */
export interface OpenapiExamples {
  /** Request bodies, by the name of the endpoint. */
  readonly requests: Readonly<Record<string, unknown>>
  /** Response bodies, by the name of their schema. */
  readonly responses: Readonly<Record<string, unknown>>
  readonly problems: Readonly<Partial<Record<ProblemName, unknown>>>
}

export interface OpenapiOptions {
  readonly version: string
  /** The URL that the paths are relative to. Default: the host that serves the document. */
  readonly server?: string
  readonly examples: OpenapiExamples
  /** What the archive says about itself, as members of `info`. */
  readonly info?: Readonly<Record<string, unknown>>
}

/** Builds the OpenAPI document. */
export function openapi(
  endpoints: readonly Endpoint[],
  { version, server = '/', examples, info = {} }: OpenapiOptions,
): Json {
  const paths: Record<string, Json> = {}
  for (const endpoint of endpoints) {
    // HTTP defines HEAD and OPTIONS, so they are not operations, of which generators would make
    // two more functions for every path.
    paths[endpoint.path] ??= { 'x-allow': allowedMethods(endpoints, endpoint.path) }
    const path = paths[endpoint.path] as Json
    path[endpoint.method.toLowerCase()] = operation(endpoint, examples)
  }
  const tags = new Map(endpoints.map(resourceOf).map((resource) => [resource.tag, resource]))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Talkshelf',
      version,
      summary: 'An archive of recorded talks',
      description:
        'All bodies are JSON in pure ASCII. For compatibility with existing clients, they are ' +
        'sent as text/html unless the request has application/json in Accept or adds ' +
        '?format=json.\n\n' +
        'HEAD works wherever GET does and returns its headers; OPTIONS works on every path and ' +
        'returns 204. `Allow` lists the methods of a path, and so does `x-allow` in this document.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      ...info,
    },
    servers: [{ url: server }],
    tags: [...tags.values()].map(({ tag: name, title, description }) => ({
      name,
      description,
      'x-displayName': title,
    })),
    paths,
    components: {
      schemas: mapValues(schemaNames, definition),
      parameters: mapValues(sharedParameters, parameter),
      responses: problemResponses(endpoints, examples),
      examples: mapValues(examples.responses, (value) => ({ value })),
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

function operation(endpoint: Endpoint, examples: OpenapiExamples): Json {
  const { body, response } = endpoint
  return {
    operationId: endpoint.name,
    tags: [resourceOf(endpoint).tag],
    summary: endpoint.summary,
    ...describe(endpoint),
    // The empty requirement makes the token optional.
    security: endpoint.role === 'anyone' ? [{}, { token: [] }] : [{ token: [] }],
    'x-role': endpoint.role,
    ...parametersOf(endpoint),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          body.types.map((type) => [
            type,
            {
              schema: plain(body.schema),
              ...(Object.hasOwn(examples.requests, endpoint.name) && {
                example: examples.requests[endpoint.name],
              }),
            },
          ]),
        ),
      },
    }),
    responses: {
      [response.status]: success(endpoint, examples),
      ...(response.redirects && {
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
      ...mapValues(failuresOf(endpoint), (names) => {
        const [name = '', ...others] = names
        return others.length === 0
          ? { $ref: `#/components/responses/${pascalCase(name)}` }
          : problemResponse(names, examples)
      }),
    },
  }
}

/** Returns the problems of an endpoint, by status. */
function failuresOf(endpoint: Endpoint): Record<string, ProblemName[]> {
  return Object.fromEntries(Map.groupBy(problemsOf(endpoint), (name) => problems[name].status))
}

/** Returns the responses of the statuses that have one problem. */
function problemResponses(endpoints: readonly Endpoint[], examples: OpenapiExamples): Json {
  const single = endpoints
    .flatMap((endpoint) => Object.values(failuresOf(endpoint)))
    .flatMap(([name, ...others]) => (name && others.length === 0 ? [name] : []))
  return Object.fromEntries(
    [...new Set(single)].map((name) => [pascalCase(name), problemResponse([name], examples)]),
  )
}

function problemResponse(names: readonly ProblemName[], examples: OpenapiExamples): Json {
  const shown = names.filter((name) => examples.problems[name] !== undefined)
  return {
    description: names.map((name) => `${problems[name].title} (${name})`).join('; '),
    content: {
      'application/problem+json': {
        schema: referenceTo('schemas', 'Problem'),
        ...(shown.length > 0 && {
          examples: Object.fromEntries(
            shown.map((name) => [name, { value: examples.problems[name] }]),
          ),
        }),
      },
    },
  }
}

function success(endpoint: Endpoint, examples: OpenapiExamples): Json {
  const { response, summary } = endpoint
  const schema = plain(response.schema)
  const name = schemaName(response.schema)
  const isJson = (response.type ?? jsonType) === jsonType
  const json = {
    schema,
    ...(isJson &&
      name !== undefined &&
      Object.hasOwn(examples.responses, name) && {
        examples: { [name]: referenceTo('examples', name) },
      }),
  }
  const headers = {
    ...(response.etag && {
      ETag: { description: 'Version of the response', schema: { type: 'string' } },
    }),
    ...(response.location && {
      Location: { description: 'URL of the created resource', schema: { type: 'string' } },
    }),
  }
  return {
    description: 'description' in response.schema ? String(response.schema.description) : summary,
    ...(Object.keys(headers).length > 0 && { headers }),
    // Generators take the first type.
    content: isNegotiated(endpoint)
      ? { [jsonType]: json, 'text/html': { schema } }
      : { [response.type ?? jsonType]: json },
  }
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: TSchema
}

const headerParameter = (name: RequestHeader): Parameter => ({
  name,
  in: 'header',
  schema: Type.String({ description: requestHeaders[name] }),
})
const formatParameter: Parameter = {
  name: 'format',
  in: 'query',
  schema: Type.Literal('json', { description: 'json: send the response as application/json' }),
}

/** Parameters of many endpoints, by their names in the document. */
const sharedParameters: Readonly<Record<string, Parameter>> = {
  Format: formatParameter,
  Page: { name: 'page', in: 'query', schema: PageNumber },
  PageSize: { name: 'page_size', in: 'query', schema: PageSize },
  Cursor: { name: 'cursor', in: 'query', schema: CursorText },
  IfMatch: headerParameter('If-Match'),
  IfNoneMatch: headerParameter('If-None-Match'),
  IfModifiedSince: headerParameter('If-Modified-Since'),
  IdempotencyKey: headerParameter('Idempotency-Key'),
}

function parametersOf(endpoint: Endpoint): Json {
  const { params = {}, query = {} } = endpoint
  const parameters: Parameter[] = [
    ...Object.entries(params).map(([name, schema]) => ({ name, in: 'path' as const, schema })),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query' as const, schema })),
    ...(isNegotiated(endpoint) ? [formatParameter] : []),
    ...(endpoint.requestHeaders ?? []).map(headerParameter),
  ]
  return parameters.length > 0 ? { parameters: parameters.map(sharedOrOwn) } : {}
}

function sharedOrOwn(own: Parameter): Json {
  const text = JSON.stringify(own)
  const shared = Object.entries(sharedParameters).find(([, it]) => JSON.stringify(it) === text)
  return shared ? referenceTo('parameters', shared[0]) : parameter(own)
}

function parameter({ name, in: location, schema }: Parameter): Json {
  const { description, ...others } = plain(schema)
  return {
    name,
    in: location,
    ...(location === 'path' && { required: true }),
    ...(description !== undefined && { description }),
    schema: others,
  }
}

// Built when the document is: programs that only import the contract need no names.
let namesBySchema: ReadonlyMap<string, string> | undefined
const nameCache = new WeakMap<object, string | undefined>()

/**
 * Returns the name of a schema in the document. Schemas are compared as JSON: one that was made from another one,
 * for example as an optional field, is a copy of it.
 */
export function schemaName(schema: object): string | undefined {
  namesBySchema ??= new Map(
    Object.entries(schemaNames).map(([name, schema]) => [JSON.stringify(schema), name]),
  )
  if (!nameCache.has(schema)) nameCache.set(schema, namesBySchema.get(JSON.stringify(schema)))
  return nameCache.get(schema)
}

/**
 * Returns a copy of a schema without TypeBox's own properties, in which other named schemas are
 * references.
 */
function plain(schema: TSchema): Json {
  const name = schemaName(schema)
  return name === undefined ? definition(schema) : referenceTo('schemas', name)
}

function definition(schema: TSchema): Json {
  const copy = JSON.stringify(schema, (key, value) => {
    const name = key !== '' && canHaveName(value) ? schemaName(value) : undefined
    return name === undefined ? withEnum(value) : referenceTo('schemas', name)
  })
  return JSON.parse(copy) as Json
}

/** Tells whether a value may be a schema with a name: an object or a choice. */
const canHaveName = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  ('anyOf' in value || ('type' in value && value.type === 'object'))

/** Writes a choice of strings as `enum`, of which generators make better types. */
function withEnum(value: unknown): unknown {
  const { anyOf, ...others } = Object(value) as { anyOf?: readonly Json[] }
  const isChoice = Array.isArray(anyOf) && anyOf.every((branch) => typeof branch.const === 'string')
  return isChoice ? { type: 'string', enum: anyOf.map((branch) => branch.const), ...others } : value
}

const referenceTo = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` })

const pascalCase = (name: string) =>
  name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => unknown): Json {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
