import { check } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'

// Every setting, in one schema: the environment is read here and nowhere else. docs/configuration.md is made from it.

const settings = {
  DATABASE_URL: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'Where PostgreSQL is: postgres://user:password@host:port/database.',
    secret: true,
  }),
  HOST: Type.String({ minLength: 1, maxLength: 255, default: '127.0.0.1', description: 'The address to listen on.' }),
  PORT: Type.Integer({ minimum: 0, maximum: 65_535, default: 8000, description: 'The port to listen on. 0 takes any free one.' }),
  PUBLIC_URL: Type.String({
    maxLength: 2048,
    format: 'address',
    default: '',
    description:
      'The address that readers use, which may have a path: the whole service is mounted under it, and absolute links start with it. Default: http://HOST:PORT.',
  }),
  SITE_NAME: Type.String({
    minLength: 1,
    maxLength: 60,
    default: 'Talkshelf',
    description: 'What the archive is called on its pages and feeds.',
  }),
  DATABASE_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 10,
    description: 'How many connections to PostgreSQL one process opens at most.',
  }),
  LOOKUP_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 4,
    description: 'How many more connections one process opens for reading single records. They are pipelined: four are plenty.',
  }),
  SEARCH_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 4,
    description:
      'How many more connections one process opens for lists, and half as many for searches. A question waits while all of them are busy.',
  }),
  CACHE_MB: Type.Integer({
    minimum: 0,
    maximum: 65_536,
    default: 64,
    description: 'How much memory one process uses for the most wanted records. 0 keeps none.',
  }),
  RESUME_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 3600,
    default: 5,
    description: 'How often one process looks for renames that another one did not finish. 0 looks never.',
  }),
  REQUESTS_AT_ONCE: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 1000,
    description: 'How many requests one process works on at once. Above that it answers 503 at once.',
  }),
  ANSWER_SECONDS: Type.Integer({
    minimum: 3,
    maximum: 60,
    default: 3,
    description:
      'How long a request may take: after that it is answered 503 (a search 400), whatever holds it up. What it, or a command, asks of PostgreSQL is given up in proportion. More than 3 is for machines that are slow or shared with others.',
  }),
  POINTS_PER_MINUTE: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 0,
    description:
      'How much one caller (a token, an IPv4 address, an IPv6 network) may ask of one process in a minute: reading costs 1, a list or a search 5, writing 10, a 304 nothing. 0 sets no limit.',
  }),
  PROXIES: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 0,
    description: 'How many proxies stand in front and add to X-Forwarded-For. 0 believes nobody: the caller is whoever connects.',
  }),
  DRAIN_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 300,
    default: 2,
    description:
      'How long the server goes on answering after SIGTERM while /readyz already says no, so that a load balancer can take it out first.',
  }),
  SNAPSHOT_DIR: Type.String({
    maxLength: 4096,
    default: '',
    description:
      'A folder for an export of what everybody may read, written every night: a web server can give it to anybody. Of several processes one writes it. Without it there is none.',
  }),
  SNAPSHOT_HOUR: Type.Integer({
    minimum: 0,
    maximum: 23,
    default: 3,
    description: 'From which hour on it is written, UTC. Who was off at that hour catches up.',
  }),
  SNAPSHOT_KEEP: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 14,
    description: 'How many of these exports stay; older ones are removed.',
  }),
  PICTURE_CACHE_MB: Type.Integer({
    minimum: 0,
    maximum: 65_536,
    default: 32,
    description: 'How much memory one process uses for the most wanted pictures of talks. 0 keeps none.',
  }),
  PICTURE_DIR: Type.String({
    maxLength: 4096,
    default: '',
    description:
      'A folder where pictures of talks are kept as files, after they were fetched and made smaller. Several processes may share it, and it may be emptied at any time. Without it they are kept in memory only.',
  }),
  PICTURE_DIR_MB: Type.Integer({
    minimum: 1,
    maximum: 16_777_216,
    default: 1024,
    description: 'How large this folder grows; then the oldest files are removed.',
  }),
  LOG_LEVEL: Type.Union(
    (['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const).map((level) => Type.Literal(level)),
    { default: 'info', description: 'How much is logged, as one JSON object a line on standard output.' },
  ),
}

export const ConfigSchema = Type.Object(settings)
export type Config = Static<typeof ConfigSchema>

export class ConfigError extends Error {}

/** Reads the settings; all mistakes are told at once. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const given: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(settings)) {
    const value = environment[name] || undefined
    const isNumber = 'type' in schema && schema.type === 'integer' && /^\d+$/.test(value ?? '')
    given[name] = value === undefined ? ('default' in schema ? schema.default : undefined) : isNumber ? Number(value) : value
    if (given[name] === undefined) delete given[name]
  }
  const mistakes = check(ConfigSchema, given).map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`)
  if (given.DATABASE_URL !== undefined && !/^postgres(ql)?:\/\//.test(String(given.DATABASE_URL)))
    mistakes.push('DATABASE_URL must start with postgres:// or postgresql://')
  const url = URL.canParse(String(given.PUBLIC_URL)) ? new URL(String(given.PUBLIC_URL)) : undefined
  if (url && !/^[\w./~-]*$/.test(url.pathname)) mistakes.push('PUBLIC_URL must have only letters, digits and ._~- in its path')
  if (url?.username || url?.password || url?.search || url?.hash)
    mistakes.push('PUBLIC_URL must have no user, password, query or fragment: it is shown to everybody')
  if (mistakes.length > 0) throw new ConfigError(mistakes.join('\n'))
  return given as Config
}

/** The settings as they can be shown to anybody: of an address that may hold a password, only where it leads. */
export function shownConfig(config: Config): [string, string][] {
  return Object.entries(config).map(([name, value]) => {
    const isSecret = 'secret' in settings[name as keyof typeof settings]
    if (!isSecret) return [name, String(value)]
    if (!URL.canParse(String(value))) return [name, '***']
    const url = new URL(String(value))
    url.password &&= '***'
    // libpq takes a password here as well.
    for (const key of url.searchParams.keys()) if (/pass/i.test(key)) url.searchParams.set(key, '***')
    return [name, url.href]
  })
}
