import {
  type FieldError,
  listVideosEndpoint,
  Problem,
  type QueryOf,
  validationErrors,
} from '@talkshelf/contract'

type ListQuery = QueryOf<typeof listVideosEndpoint>
type ParamName = keyof ListQuery

/**
 * Parses the search parameters of the URL of a page. Ignores empty values and, unlike the API,
 * unknown parameters: links from other sites bring their own (`utm_source`).
 */
export function parseSearchParams(
  params: Readonly<Record<string, unknown>>,
  names: readonly ParamName[],
): ListQuery {
  const query: Record<string, unknown> = {}
  const errors: FieldError[] = []
  for (const name of names) {
    const param = params[name]
    const value = typeof param === 'string' ? param.trim() : param
    if (value === undefined || value === '') continue
    const schema = listVideosEndpoint.query[name]
    const isInteger =
      'type' in schema && schema.type === 'integer' && /^[1-9]\d{0,8}$/.test(String(value))
    query[name] = isInteger ? Number(value) : value
    errors.push(
      ...validationErrors(schema, query[name]).map((error) => ({ ...error, pointer: `/${name}` })),
    )
  }
  if (errors.length > 0)
    throw new Problem(
      'invalid-query',
      errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join('; '),
      { errors },
    )
  return query as ListQuery
}
