import { readFileSync } from 'node:fs'
import { validationErrors } from '@talkshelf/contract'
import { parseDataLicence } from '@talkshelf/web'
import Type, { type Static } from 'typebox'
import { parseEdgeTarget } from './edge/edge.ts'
import { parseNetworks } from './platform/net/addresses.ts'
import { isSender } from './platform/net/mail.ts'

// Defines all settings in one schema. The environment is read only here.
// scripts/write-docs.ts generates docs/configuration.md from it.

const settings = {
  DATABASE_URL: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'PostgreSQL connection URL: postgres://user:password@host:port/database.',
    secret: true,
  }),
  REPLICA_URLS: Type.String({
    maxLength: 8192,
    default: '',
    description:
      'Connection URLs of read replicas of that server, separated by commas; each replica with an ' +
      'address of its own, not one address that is balanced. Lists, searches, feeds and exports of ' +
      'anonymous readers read from them. See docs/operations.md.',
    secret: true,
  }),
  HOST: Type.String({
    minLength: 1,
    maxLength: 255,
    default: '127.0.0.1',
    description: 'Address to listen on.',
  }),
  PORT: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 8000,
    description: 'Port to listen on. 0 selects any free port.',
  }),
  PUBLIC_URL: Type.String({
    maxLength: 2048,
    format: 'address',
    default: '',
    description:
      'Public base URL of the archive. It may have a path: all routes are mounted under it, ' +
      'and absolute links start with it. Defaults to http://HOST:PORT; messages of webhooks then ' +
      'do not name the archive.',
  }),
  SITE_NAME: Type.String({
    minLength: 1,
    maxLength: 60,
    default: 'Talkshelf',
    description: 'Name of the archive on its pages, feeds and link previews.',
  }),
  SITE_DIR: Type.String({
    maxLength: 4096,
    default: '',
    description:
      'Folder with the texts, logo, icon and colours of the archive, which is read at startup. See ' +
      'docs/site.md.',
  }),
  SITE_CONTACT: Type.String({
    maxLength: 500,
    default: '',
    description:
      'Where readers reach the operator: a mail address, or the https URL of a form. Pages link to ' +
      'it, also where readers report mistakes; if SITE_DIR has contact.md, they link to that page.',
  }),
  DATA_LICENSE: Type.String({
    maxLength: 500,
    default: '',
    description:
      'Licence of the titles, descriptions and other data, for the footer of pages, feeds, exports ' +
      'and search engines: an SPDX identifier such as CC0-1.0, CC-BY-4.0 or ODbL-1.0, or the https ' +
      'URL of its text. If it is not set, no licence is claimed.',
  }),
  SMTP_URL: Type.String({
    maxLength: 2048,
    default: '',
    description:
      'Mail server for sign-in links: smtp://user:password@host:587 (with STARTTLS) or ' +
      'smtps://user:password@host:465. Add ?tls=off for a server in a private network without ' +
      'encryption. If it is not set, no mail is sent.',
    secret: true,
  }),
  MAIL_FROM: Type.String({
    maxLength: 320,
    default: '',
    description:
      'Sender of mail: talks@example.org or Example Talks <talks@example.org>. Required with ' +
      'SMTP_URL.',
  }),
  OPENID_ISSUER: Type.String({
    maxLength: 2048,
    default: '',
    description:
      'OpenID Connect provider with which people can sign in, as its issuer URL. Register ' +
      'PUBLIC_URL/desk/openid/callback there as the redirect URL. If it is not set, people sign ' +
      'in with passkeys and links only.',
  }),
  OPENID_CLIENT_ID: Type.String({
    maxLength: 1000,
    default: '',
    description: 'Client id at the provider. Required with OPENID_ISSUER.',
  }),
  OPENID_CLIENT_SECRET: Type.String({
    maxLength: 1000,
    default: '',
    description: 'Client secret at the provider. Required with OPENID_ISSUER.',
    secret: true,
  }),
  WEBHOOK_KEY: Type.String({
    maxLength: 1000,
    default: '',
    description:
      'Key from which the secrets of webhooks are derived: at least 32 random characters, such ' +
      'as from `openssl rand -base64 32`. If it is not set, no webhooks can be created and none ' +
      'are sent. With another key, all webhooks have other secrets.',
    secret: true,
  }),
  WEBHOOK_PRIVATE: Type.String({
    maxLength: 1000,
    default: '',
    description:
      'Private networks that webhooks may reach, separated by commas: 10.0.0.0/8,fd00::/8. There ' +
      'they may use http and any port. If it is not set, webhooks reach only public addresses, ' +
      'with https on port 443.',
  }),
  DATABASE_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 10,
    description: 'Maximum number of PostgreSQL connections in the main pool of each process.',
  }),
  LOOKUP_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 4,
    description:
      'Additional connections of each process for reading single records. Queries are ' +
      'pipelined, so a few connections are enough.',
  }),
  SEARCH_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 4,
    description:
      'Additional connections of each process for lists, and half as many for searches: so many ' +
      'searches run at once, half of them for one client. Further ones wait for a moment, and are ' +
      'then answered with 503.',
  }),
  CACHE_MB: Type.Integer({
    minimum: 0,
    maximum: 65_536,
    default: 64,
    description: 'Memory limit of the record cache of each process. 0 disables the cache.',
  }),
  RESUME_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 3600,
    default: 5,
    description:
      'Interval at which each process polls for unfinished rename and import jobs. 0 disables ' +
      'polling; the process then neither appends to the change feed nor notices new entries.',
  }),
  FOLLOW_SOURCES: Type.Union([Type.Literal('on'), Type.Literal('off')], {
    default: 'on',
    description:
      'Whether this process fetches followed sources that are due. Set it to off for test systems ' +
      'and copies, which would fetch the sources of the archive they come from.',
  }),
  CHECK_LINKS: Type.Union([Type.Literal('on'), Type.Literal('off')], {
    default: 'off',
    description:
      'Whether this process asks the hosts of videos whether these are still there. Requires ' +
      'PUBLIC_URL, which each request names. See docs/links.md.',
  }),
  YOUTUBE_KEY: Type.String({
    maxLength: 200,
    default: '',
    description:
      'API key with which videos on YouTube are checked, 50 with each request. If it is not set, ' +
      'they are checked one by one, and nothing is known of age limits and blocked countries.',
    secret: true,
  }),
  REQUESTS_AT_ONCE: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 1000,
    description:
      'Maximum number of concurrent requests per process. Further requests are answered 503 ' +
      'immediately.',
  }),
  FOLLOWERS_AT_ONCE: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 1000,
    description:
      'Maximum number of clients per process that wait for the next entries of the change feed. ' +
      'One client (token, IPv4 address or IPv6 /64 network) can have a tenth of them.',
  }),
  ANSWER_SECONDS: Type.Integer({
    minimum: 3,
    maximum: 60,
    default: 3,
    description:
      'Timeout of a request. A request that exceeds it is answered 503 (a search 400). The ' +
      'timeouts of SQL statements scale with it, also for commands. Raise it on slow or shared' +
      ' machines.',
  }),
  POINTS_PER_MINUTE: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 0,
    description:
      'Rate limit of each client (token, IPv4 address or IPv6 /64 network) per process. A read' +
      ' costs 1 point, a list or search 5, a write 10, a 304 nothing. Every request is charged' +
      ' to the IP address, or to the token if it is valid. 0 disables the limit.',
  }),
  PROXIES: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 0,
    description:
      'Number of trusted reverse proxies that append to X-Forwarded-For. 0 ignores the header ' +
      'and uses the address of the connection.',
  }),
  DRAIN_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 300,
    default: 2,
    description:
      'Time for which the server keeps serving requests after SIGTERM while /readyz already ' +
      'fails, so that load balancers can remove it.',
  }),
  EDGE: Type.String({
    maxLength: 2048,
    default: '',
    description:
      'Cache in front of the archive that is purged after each change: varnish:URL (several ' +
      'separated by commas), fastly:SERVICE_ID, cloudflare:ZONE_ID or post:URL. If it is not set,' +
      ' responses have no headers for such a cache. See docs/edge.md.',
  }),
  EDGE_TOKEN: Type.String({
    maxLength: 1000,
    default: '',
    description:
      'Token with which the archive purges: the secret in the configuration of Varnish, or an API' +
      ' token. Required with EDGE.',
    secret: true,
  }),
  EDGE_URL: Type.String({
    maxLength: 2048,
    format: 'address',
    default: '',
    description:
      'URL under which the archive is read through EDGE to check that purges arrive. Defaults to' +
      ' PUBLIC_URL.',
  }),
  SNAPSHOT_DIR: Type.String({
    maxLength: 4096,
    default: '',
    description:
      'Directory for a nightly export of all public data, safe to publish. Only one of several' +
      ' processes writes it. If it is not set, no snapshots are written.',
  }),
  SNAPSHOT_HOUR: Type.Integer({
    minimum: 0,
    maximum: 23,
    default: 3,
    description:
      'Earliest hour (UTC) at which the snapshot is written. A server that was down at that ' +
      'hour catches up.',
  }),
  SNAPSHOT_KEEP: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 14,
    description: 'Number of snapshots to keep. Older ones are deleted.',
  }),
  IMPORT_DAYS: Type.Integer({
    minimum: 0,
    maximum: 36_500,
    default: 90,
    description:
      'Days to keep the rows of an import after its last step, and matches. Afterwards only the ' +
      'summary of an import is kept, and it can no longer be undone; of matches, what was ' +
      'decided. 0 keeps both forever.',
  }),
  MAINTENANCE_HOURS: Type.Integer({
    minimum: 0,
    maximum: 8760,
    default: 24,
    description:
      'Interval of the maintenance that deletes unneeded data: rows of old imports, unused ' +
      'search words and fingerprints, old tokens. Only one of several processes runs it. 0 ' +
      'disables it.',
  }),
  PICTURE_CACHE_MB: Type.Integer({
    minimum: 0,
    maximum: 65_536,
    default: 32,
    description: 'Memory limit of the picture cache of each process. 0 disables the cache.',
  }),
  PICTURE_DIR: Type.String({
    maxLength: 4096,
    default: '',
    description:
      'Directory for resized pictures. Several processes can share it, and it can be emptied ' +
      'at any time. If it is not set, pictures are cached in memory only.',
  }),
  PICTURE_DIR_MB: Type.Integer({
    minimum: 1,
    maximum: 16_777_216,
    default: 1024,
    description: 'Size limit of PICTURE_DIR. The oldest files are deleted first.',
  }),
  LOG_LEVEL: Type.Union(
    (['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const).map((level) =>
      Type.Literal(level),
    ),
    {
      default: 'info',
      description: 'Minimum level of log messages. The log is written to standard output.',
    },
  ),
  LOG_FORMAT: Type.Union([Type.Literal('json'), Type.Literal('text')], {
    default: 'json',
    description: 'Format of the log: one JSON object per line, or text for people.',
  }),
  METRICS_TOKEN: Type.String({
    default: '',
    description:
      'Token with which /metrics is read: `Authorization: Bearer TOKEN`. If it is not set, only ' +
      'requests from the same machine are answered, and none that a proxy forwards.',
    secret: true,
  }),
}

export const ConfigSchema = Type.Object(settings)
export type Config = Static<typeof ConfigSchema>

/** The environment has invalid settings. */
export class ConfigError extends Error {}

/** Reads and validates the settings. Throws one ConfigError that lists every invalid setting. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const values: Record<string, unknown> = {}
  const fileErrors: string[] = []
  for (const [name, schema] of Object.entries(settings)) {
    const text = 'secret' in schema ? readSecret(name, environment, fileErrors) : environment[name]
    const value = parseSetting(text || undefined, schema)
    if (value !== undefined) values[name] = value
  }
  if (fileErrors.length > 0) throw new ConfigError(fileErrors.join('\n'))
  const errors = validationErrors(ConfigSchema, values).map(
    ({ pointer, detail }) => `${pointer.slice(1)} ${detail}`,
  )
  const { DATABASE_URL, PUBLIC_URL, SMTP_URL, MAIL_FROM, OPENID_ISSUER } = values
  const { WEBHOOK_KEY, WEBHOOK_PRIVATE } = values
  if (DATABASE_URL !== undefined && !/^postgres(ql)?:\/\//.test(String(DATABASE_URL)))
    errors.push('DATABASE_URL must start with postgres:// or postgresql://')
  else if (DATABASE_URL !== undefined && !URL.canParse(String(DATABASE_URL)))
    errors.push(
      'DATABASE_URL must be a URL. In a password, write # as %23, / as %2F, @ as %40 and % as %25',
    )
  if (!parseReplicaUrls(String(values.REPLICA_URLS)).every(isPostgresUrl))
    errors.push('REPLICA_URLS must be postgres:// URLs, separated by commas')
  const url = URL.canParse(String(PUBLIC_URL)) ? new URL(String(PUBLIC_URL)) : undefined
  if (url && !/^[\w./~-]*$/.test(url.pathname))
    errors.push('PUBLIC_URL must have only letters, digits and ._~- in its path')
  if (url?.username || url?.password || url?.search || url?.hash)
    errors.push('PUBLIC_URL must have no user, password, query or fragment: it is public')
  if (values.SITE_CONTACT !== '' && !contactUrl(String(values.SITE_CONTACT)))
    errors.push('SITE_CONTACT must be a mail address or an https URL')
  if (values.DATA_LICENSE !== '' && !parseDataLicence(String(values.DATA_LICENSE)))
    errors.push(
      'DATA_LICENSE must be the SPDX identifier of a licence for data, such as CC0-1.0 or ' +
        'CC-BY-4.0, or the https URL of its text',
    )
  if (SMTP_URL !== '') errors.push(...mailErrors(String(SMTP_URL), String(MAIL_FROM)))
  const { EDGE, EDGE_TOKEN } = values
  if (EDGE !== '' && !parseEdgeTarget(String(EDGE)))
    errors.push('EDGE must be varnish:URL, fastly:SERVICE_ID, cloudflare:ZONE_ID or post:URL')
  if (EDGE !== '' && !/^[\x21-\x7e]{8,}$/.test(String(EDGE_TOKEN)))
    errors.push('EDGE_TOKEN must have at least 8 visible ASCII characters if EDGE is set')
  if (OPENID_ISSUER !== '') {
    if (!isIssuer(String(OPENID_ISSUER)))
      errors.push('OPENID_ISSUER must be an https:// URL without user, query and fragment')
    for (const name of ['OPENID_CLIENT_ID', 'OPENID_CLIENT_SECRET'])
      if (values[name] === '') errors.push(`${name} is required if OPENID_ISSUER is set`)
  }
  if (values.METRICS_TOKEN !== '' && !/^[\x21-\x7e]{16,}$/.test(String(values.METRICS_TOKEN)))
    errors.push('METRICS_TOKEN must have at least 16 visible ASCII characters')
  if (values.CHECK_LINKS === 'on' && PUBLIC_URL === '')
    errors.push(
      'PUBLIC_URL is required if CHECK_LINKS is on: the hosts of videos must see who asks them',
    )
  if (values.YOUTUBE_KEY !== '' && !/^[\w-]+$/.test(String(values.YOUTUBE_KEY)))
    errors.push('YOUTUBE_KEY must be an API key: letters, digits, - and _')
  if (WEBHOOK_KEY !== '' && String(WEBHOOK_KEY).length < 32)
    errors.push('WEBHOOK_KEY must have at least 32 characters')
  if (WEBHOOK_PRIVATE !== '' && !parseNetworks(String(WEBHOOK_PRIVATE)))
    errors.push('WEBHOOK_PRIVATE must be networks such as 10.0.0.0/8, separated by commas')
  if (errors.length > 0) throw new ConfigError(errors.join('\n'))
  return values as Config
}

/** Returns the URLs of REPLICA_URLS. */
export const parseReplicaUrls = (value: string): string[] =>
  value
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '')

const isPostgresUrl = (url: string) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)

/** Returns the link to a contact: a mail address or an https URL. */
export function contactUrl(contact: string): string | undefined {
  if (/^[^\s@<>?&%"']{1,64}@[^\s@<>?&%"']+\.[^\s@<>?&%"']+$/.test(contact))
    return `mailto:${contact}`
  const url = URL.parse(contact)
  return url?.protocol === 'https:' && !url.username && !url.password ? url.href : undefined
}

/** Returns the path under which the archive is mounted, without a slash at its end. */
export const basePathOf = ({ PUBLIC_URL: url }: Pick<Config, 'PUBLIC_URL'>): string =>
  url === '' ? '' : new URL(url).pathname.replace(/\/+$/, '')

/** Returns a secret from its variable, or from the file that NAME_FILE names. */
function readSecret(
  name: string,
  environment: Record<string, string | undefined>,
  errors: string[],
): string | undefined {
  const file = environment[`${name}_FILE`]
  if (!file) return environment[name]
  if (environment[name]) {
    errors.push(`${name} and ${name}_FILE are both set: use one of them`)
    return undefined
  }
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    errors.push(`${name}_FILE cannot be read: ${(error as Error).message}`)
    return undefined
  }
}

/** Tells whether a text is an issuer URL. HTTP is allowed on this machine only. */
function isIssuer(text: string): boolean {
  const url = URL.parse(text)
  if (!url || url.username || url.password || url.search || url.hash) return false
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)
}

/** Returns what is wrong with the settings of mail. */
function mailErrors(server: string, from: string): string[] {
  const url = URL.parse(server)
  const isServer = url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== ''
  return [
    ...(isServer ? [] : ['SMTP_URL must be a URL such as smtp://user:password@host:587']),
    ...(isSender(from) ? [] : ['MAIL_FROM must be a mail address if SMTP_URL is set']),
  ]
}

/** Returns the default of an unset setting, and parses numbers. Leaves validation to the schema. */
function parseSetting(value: string | undefined, schema: object): unknown {
  if (value === undefined) return 'default' in schema ? schema.default : undefined
  const isNumber = 'type' in schema && schema.type === 'integer' && /^\d+$/.test(value)
  return isNumber ? Number(value) : value
}

/** Lists the settings with passwords in connection URLs masked, for output and logs. */
export function redactedConfig(config: Config): [string, string | number][] {
  return Object.entries(config).map(([name, value]) => {
    const isSecret = 'secret' in settings[name as keyof typeof settings]
    if (!isSecret) return [name, value]
    if (value === '') return [name, '']
    if (name === 'REPLICA_URLS')
      return [name, parseReplicaUrls(String(value)).map(redactUrl).join(',')]
    if (!name.endsWith('_URL') || !URL.canParse(String(value))) return [name, '***']
    return [name, redactUrl(String(value))]
  })
}

function redactUrl(text: string): string {
  const url = new URL(text)
  url.password &&= '***'
  // libpq also accepts a password as a query parameter.
  for (const key of url.searchParams.keys()) if (/pass/i.test(key)) url.searchParams.set(key, '***')
  return url.href
}
