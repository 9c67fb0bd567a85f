import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import type { SourceKind } from '@talkshelf/contract'
import type { GuardOptions } from '../../server/platform/net/guard.ts'
import { createAuthority, selfSigned } from '../support/certificates.ts'
import { answerNamed, defaultHosts, type HostAnswer, type Reply, sourceUrls } from './answers.ts'
import { hostileBehaviours } from './hostile.ts'

// The hosts of videos, all of them on one server on this machine. What each video answers follows a
// script of days, and the clock is given. Requests come over real HTTP and real TLS.

/** An address of this machine at which nothing else listens. */
const worldIp = '127.77.0.1'
/** An address at which nothing listens at all. */
const deadIp = '127.77.0.2'

const dayMs = 24 * 3_600_000

export interface ScriptedVideo {
  readonly kind: SourceKind
  readonly id: string
  /** For kinds without a host of their own. */
  readonly host?: string
  /** The account that owns it; default: one for each video. */
  readonly owner?: string
}

/** What a video answers from a day on, until the next entry of its script. */
export interface ScriptDay {
  readonly fromDay: number
  /** Its name in answers.ts, or an answer of its own. */
  readonly answer: string | HostAnswer
}

export type HostFault =
  | 'no-address'
  | 'refuses-connections'
  | 'resets-connections'
  | 'never-answers'
  | 'expired-certificate'
  | 'unknown-authority'
  | 'certificate-of-another-host'

/** What a host answers to everything in some days. */
export interface HostDays {
  readonly fromDay: number
  /** The day on which it ends; default: never. */
  readonly toDay?: number
  readonly reply?: Reply
  readonly fault?: HostFault
}

export interface WorldRequest {
  /** Real time. */
  readonly atMs: number
  /** Time of the given clock. */
  readonly virtualMs: number
  readonly method: string
  readonly protocol: 'http:' | 'https:'
  readonly host: string
  /** With the query. */
  readonly path: string
  readonly userAgent: string
  /** The Range header. */
  readonly range: string | undefined
  /** Other requests to the same host that were not answered yet. */
  readonly openAtHost: number
}

/** Where a world is, for other processes. JSON. */
export interface WorldAddress {
  readonly http: number
  readonly https: number
  readonly ca: string
}

export interface World {
  readonly address: WorldAddress
  /** Lets requests reach this world, and nothing else. */
  readonly guard: GuardOptions
  /** All requests in the order in which they arrived. */
  readonly requests: WorldRequest[]
  /** Sets the script of a video. Returns the URL of the source on its first day. */
  script(video: ScriptedVideo, days: readonly ScriptDay[]): string
  /** Sets what a host, or with `*` every host, answers to everything in some days. */
  hostDays(host: string, days: readonly HostDays[]): void
  /** Sets the robots.txt of a host; default: 404. */
  robots(host: string, text: string): void
  /** Returns the IP addresses of a host; none if it has no address today. */
  resolve(host: string): readonly string[]
  close(): Promise<void>
}

/** What the robots.txt of YouTube forbids, as far as it matters here. */
const youtubeRobots = `User-agent: *
Disallow: /api/
Disallow: /feeds/videos.xml
Disallow: /get_video
Disallow: /get_video_info
Disallow: /results
Disallow: /watch_ajax
Disallow: /youtubei/
`

/** Starts a world. Its first day is the one on which it starts. */
export async function startWorld(now: () => number): Promise<World> {
  const startMs = now()
  const today = () => Math.floor((now() - startMs) / dayMs)
  /** The scripts of videos by the URLs that are asked about them. */
  const byUrl = new Map<string, Script>()
  const byYoutubeId = new Map<string, Script>()
  const knownHosts = new Set(['www.googleapis.com', 'archive.org', 'web.archive.org'])
  const faults = new Map<string, readonly HostDays[]>()
  const robots = new Map<string, string>([['www.youtube.com', youtubeRobots]])
  const requests: WorldRequest[] = []
  const open = new Map<string, number>()

  const hostDay = (host: string): HostDays | undefined => {
    const day = today()
    const isNow = ({ fromDay, toDay = Number.POSITIVE_INFINITY }: HostDays) =>
      fromDay <= day && day < toDay
    return faults.get('*')?.find(isNow) ?? faults.get(host)?.find(isNow)
  }

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url: path = '/', headers, socket } = request
    const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
    const protocol = socket instanceof TLSSocket ? 'https:' : 'http:'
    const openAtHost = open.get(host) ?? 0
    open.set(host, openAtHost + 1)
    socket.once('close', () => open.set(host, (open.get(host) ?? 1) - 1))
    const userAgent = headers['user-agent'] ?? ''
    const at = { atMs: Date.now(), virtualMs: now() }
    const { range } = headers
    requests.push({ ...at, method, protocol, host, path, userAgent, range, openAtHost })
    const reply = replyTo(method, `${protocol}//${host}${path}`, headers['x-goog-api-key'])
    if (socket instanceof TLSSocket)
      socket.resetAndDestroy = () => {
        // Only sockets without TLS can be reset.
        for (const raw of sockets) if (raw.remotePort === socket.remotePort) raw.resetAndDestroy()
        return socket
      }
    if (reply === 'never') return
    if (reply === 'reset') socket.resetAndDestroy()
    else send(socket, method, response, reply)
  }

  function replyTo(method: string, href: string, key: unknown): Reply | 'never' | 'reset' {
    const url = new URL(href)
    const { reply, fault } = hostDay(url.hostname) ?? {}
    if (reply) return reply
    if (fault === 'never-answers') return 'never'
    if (fault === 'resets-connections') return 'reset'
    if (url.pathname === '/robots.txt' && robots.has(url.hostname))
      return { status: 200, body: robots.get(url.hostname) ?? '' }
    if (url.hostname === 'www.googleapis.com') return replyOfApi(url, key)
    const script = byUrl.get(href)
    const answer = script && answerOn(script, today())
    const template =
      answer &&
      Object.entries(answer.replies).find(([question]) =>
        [href, `${method} ${href}`].includes(fill(question, script.video)),
      )
    // A reply to a method comes first in the table.
    return template ? filled(template[1], script.video) : defaultReply(url)
  }

  /** Answers as the YouTube Data API does, from the scripts of all videos that are asked for. */
  function replyOfApi({ pathname, searchParams }: URL, key: unknown): Reply {
    const error = (status: number, reason: string) =>
      json(status, { error: { code: status, errors: [{ reason }] } })
    if (typeof key !== 'string' || key === '') return error(403, 'forbidden')
    const ids = (searchParams.get('id') ?? '').split(',').filter(Boolean)
    if (ids.length > 50) return error(400, 'invalidParameter')
    const day = today()
    if (pathname === '/youtube/v3/channels') {
      const closed = new Set(
        [...byYoutubeId.values()].flatMap((script) =>
          answerOn(script, day)?.isOwnerGone ? ownerOf(script.video) : [],
        ),
      )
      return json(200, { items: ids.filter((id) => !closed.has(id)).map((id) => ({ id })) })
    }
    if (pathname !== '/youtube/v3/videos') return error(404, 'notFound')
    const found = ids.flatMap((id) => {
      const script = byYoutubeId.get(id)
      const answer = script && answerOn(script, day)
      return answer ? [{ script, answer }] : []
    })
    const refusal = found.find(({ answer }) => answer.apiReply)?.answer.apiReply
    if (refusal) return refusal
    return json(200, {
      items: found.flatMap(({ script, answer }) =>
        answer.item ? [JSON.parse(fill(JSON.stringify(answer.item), script.video))] : [],
      ),
    })
  }

  const certificates = new Map<string, SecureContext>()
  const authority = createAuthority()

  /** Returns the certificate of a host, or a wrong one if that is its fault today. */
  function certificateOf(host: string): SecureContext {
    const fault = hostDay(host)?.fault
    const name = `${fault} ${host}`
    const known = certificates.get(name)
    if (known) return known
    const certificate = {
      'expired-certificate': () => authority.issue(host, { isExpired: true }),
      'unknown-authority': () => selfSigned(host),
      'certificate-of-another-host': () => authority.issue('another.example.net'),
    }[fault as string]
    const context = createSecureContext((certificate ?? (() => authority.issue(host)))())
    certificates.set(name, context)
    return context
  }

  const plain = createServer(respond)
  const secure = createTlsServer(
    {
      ...authority.issue('unnamed.example.net'),
      SNICallback: (host, callback) => callback(null, certificateOf(host)),
    },
    respond,
  )
  const sockets = new Set<Socket>()
  for (const server of [plain, secure]) {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    })
    server.listen(0, worldIp)
    await once(server, 'listening')
  }
  const portOf = (server: typeof plain) => (server.address() as AddressInfo).port
  const address = { http: portOf(plain), https: portOf(secure), ca: authority.ca }

  function resolve(host: string): readonly string[] {
    const fault = hostDay(host)?.fault
    if (fault === 'no-address' || !knownHosts.has(host)) return []
    return [fault === 'refuses-connections' ? deadIp : worldIp]
  }

  return {
    address,
    guard: guardOf(address, async (host) => resolve(host)),
    requests,
    script(video, days) {
      const script = {
        video,
        days: days
          .map(({ fromDay, answer }) => ({
            fromDay,
            answer: typeof answer === 'string' ? answerNamed(answer) : answer,
          }))
          .sort((a, b) => b.fromDay - a.fromDay),
      }
      for (const { answer } of script.days)
        for (const question of Object.keys(answer.replies)) {
          const href = fill(question.replace(/^[A-Z]+ /, ''), video)
          byUrl.set(href, script)
          knownHosts.add(new URL(href).hostname)
        }
      if (video.kind === 'youtube') byYoutubeId.set(video.id, script)
      const first = script.days.at(-1)?.answer
      return fill(first?.source ?? sourceUrls[video.kind], video)
    },
    hostDays(host, days) {
      faults.set(host, days)
      if (host !== '*') knownHosts.add(host)
    },
    robots(host, text) {
      robots.set(host, text)
      knownHosts.add(host)
    },
    resolve,
    async close() {
      for (const socket of sockets) socket.destroy()
      for (const server of [plain, secure]) server.close()
    },
  }
}

/** Returns options with which requests reach a world, and nothing else. */
export function guardOf(
  { http, https, ca }: WorldAddress,
  lookup: NonNullable<GuardOptions['lookup']>,
): GuardOptions {
  return {
    ca,
    lookup,
    isAllowed: (ip) => ip === worldIp || ip === deadIp,
    connectPort: (port) => (port === 443 ? https : http),
  }
}

interface Script {
  readonly video: ScriptedVideo
  /** The last day first. */
  readonly days: readonly { readonly fromDay: number; readonly answer: HostAnswer }[]
}

const answerOn = ({ days }: Script, day: number): HostAnswer | undefined =>
  days.find(({ fromDay }) => fromDay <= day)?.answer

/** Returns the owner of a video; by default a text in the form of a channel of YouTube. */
function ownerOf({ owner, kind, id }: ScriptedVideo): string {
  const hash = createHash('sha256').update(`${kind} ${id}`).digest('base64url')
  return owner ?? `UC${hash.slice(0, 22)}`
}

/** Puts the values of a video into a template. */
export function fill(template: string, video: ScriptedVideo): string {
  const host = video.host ?? defaultHosts[video.kind] ?? ''
  return template
    .replaceAll('{id}', video.id)
    .replaceAll('{host}', host)
    .replaceAll('{owner}', () => ownerOf(video))
}

function filled({ headers, body, ...reply }: Reply, video: ScriptedVideo): Reply {
  return {
    ...reply,
    ...(headers && { headers: JSON.parse(fill(JSON.stringify(headers), video)) }),
    ...(body !== undefined && { body: fill(body, video) }),
  }
}

function send(socket: Socket, method: string, response: ServerResponse, reply: Reply): void {
  const { status, headers = {}, body = '', behaviour } = reply
  if (behaviour === undefined) {
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
    response.end(method === 'HEAD' ? undefined : body)
    return
  }
  const misbehave = hostileBehaviours[behaviour]
  if (!misbehave) throw new Error(`There is no behaviour ${behaviour}`)
  misbehave(socket)
}

/** What hosts answer for videos that they do not know. */
function defaultReply({ hostname, pathname }: URL): Reply {
  if (hostname === 'archive.org' && pathname.startsWith('/metadata/')) return json(200, {})
  if (hostname === 'archive.org' && pathname === '/wayback/available')
    return json(200, { archived_snapshots: {} })
  if (pathname.startsWith('/api/') || pathname.startsWith('/public/'))
    return json(404, { detail: 'Not Found' })
  return { status: 404, headers: { 'content-type': 'text/plain' }, body: 'Not Found' }
}

function json(status: number, value: unknown): Reply {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify(value) }
}
