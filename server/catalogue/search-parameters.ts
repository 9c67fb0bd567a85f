import {
  type FieldError,
  listVideosEndpoint,
  Problem,
  type QueryOf,
  validationErrors,
} from '@talkshelf/contract'

type Asked = QueryOf<typeof listVideosEndpoint>
type Key = keyof Asked

/**
 * The parameters of a search as an address has them. Others bring their own (`utm_source`), and
 * what is empty asks for nothing.
 */
export function parseSearchParams(
  given: Readonly<Record<string, unknown>>,
  keys: readonly Key[],
): Asked {
  const asked: Record<string, unknown> = {}
  const errors: FieldError[] = []
  for (const key of keys) {
    const value = typeof given[key] === 'string' ? given[key].trim() : given[key]
    if (value === undefined || value === '') continue
    const isNumber =
      'type' in listVideosEndpoint.query[key] &&
      listVideosEndpoint.query[key].type === 'integer' &&
      /^[1-9]\d{0,8}$/.test(String(value))
    asked[key] = isNumber ? Number(value) : value
    errors.push(
      ...validationErrors(listVideosEndpoint.query[key], asked[key]).map((error) => ({
        ...error,
        pointer: `/${key}`,
      })),
    )
  }
  if (errors.length > 0)
    throw new Problem(
      'invalid-query',
      errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join('; '),
      { errors },
    )
  return asked as Asked
}
