import { fileURLToPath } from 'node:url'
import { type Endpoint, endpoints, jsonType } from '@talkshelf/contract'

// Generates client/operations.ts from the endpoints. The client then needs the contract for types
// only, and a bundle with the client contains no schemas.

/** The path of the generated file. */
export const operationsPath = fileURLToPath(new URL('../client/operations.ts', import.meta.url))

/** Generates client/operations.ts. */
export function operationsTs(all: readonly Endpoint[] = Object.values(endpoints)): string {
  const lines = all.map((endpoint) => `  ${endpoint.name}: { ${operation(endpoint)} },`)
  return [
    '// Generated from the contract by `npm run docs`: what the client needs to send each request.',
    '',
    "import type { endpoints } from '@talkshelf/contract'",
    "import type { Operation } from './request.ts'",
    '',
    'export const operations: { readonly [Name in keyof typeof endpoints]: Operation } = {',
    ...lines,
    '}',
    '',
  ].join('\n')
}

function operation(endpoint: Endpoint): string {
  const { name, method, path, query, requestHeaders, body, timeoutMs, response } = endpoint
  if (response.type !== undefined && response.type !== jsonType)
    throw new Error(`${name} returns ${response.type}, which the client cannot read`)
  const fields = {
    method,
    path,
    query: query && Object.keys(query),
    headers: requestHeaders,
    body: body?.types[0],
    isBinary: body?.isBinary,
    timeoutMs,
    paging: pagingOf(endpoint),
  }
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${literal(value)}`)
    .join(', ')
}

/** Returns how a response refers to the next page, if the endpoint lists something in pages. */
function pagingOf({ response }: Endpoint): 'next' | 'cursor' | undefined {
  const { properties = {} } = response.schema as { properties?: object }
  if (!('results' in properties)) return undefined
  if ('next' in properties) return 'next'
  return 'cursor' in properties && 'more' in properties ? 'cursor' : undefined
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  return typeof value === 'string' ? `'${value}'` : String(value)
}
