import type { SourceKind, Verdict } from '@talkshelf/contract'

// What hosts answer about a video, as it was documented or seen. The fake world gives these
// answers, and a test plays each of them. In URLs, headers and bodies, {id}, {host} and {owner}
// stand for those of the video.

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** What a server does instead, by its name in hostile.ts. */
  readonly behaviour?: string
}

export interface HostAnswer {
  readonly name: string
  readonly kind: SourceKind
  /** The URL of the source, if it is another one than those of its kind. */
  readonly source?: string
  /** The replies by URL, or by method and URL. Other URLs of the host answer 404. */
  readonly replies: Readonly<Record<string, Reply>>
  /** What videos.list has of the video; undefined if it is missing there. */
  readonly item?: object
  /** What videos.list answers to a call with this video. */
  readonly apiReply?: Reply
  /** Whether the channel is missing in channels.list. */
  readonly isOwnerGone?: boolean
  /** Whether the answer is one to a look with a key. */
  readonly isByKey?: boolean
  /** How a look ends. */
  readonly verdict: Verdict
  /** How the question to the second witness ends. */
  readonly witness: Verdict
  readonly owner?: string
  readonly movedTo?: string
  readonly retryAfterSeconds?: number
  readonly documentedIn: string
}

/** The URLs of sources by kind. */
export const sourceUrls: Readonly<Record<SourceKind, string>> = {
  youtube: 'https://www.youtube.com/watch?v={id}',
  vimeo: 'https://vimeo.com/{id}',
  peertube: 'https://{host}/w/{id}',
  voctoweb: 'https://media.ccc.de/v/{id}',
  'archive.org': 'https://archive.org/details/{id}',
  file: 'https://{host}/{id}.mp4',
  page: 'https://{host}/talk/{id}',
}

/** The hosts of kinds that have no host of their own. */
export const defaultHosts: Readonly<Partial<Record<SourceKind, string>>> = {
  peertube: 'tube.example.org',
  file: 'files.example.org',
  page: 'conference.example.org',
}

const json = (status: number, value: unknown, headers: Reply['headers'] = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(value),
})
const html = (status: number, title: string, headers: Reply['headers'] = {}): Reply => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
  body: `<!DOCTYPE html><html><head><title>${title}</title></head><body>${title}</body></html>`,
})
/** A status in words, which some servers call HTML. */
const words = (status: number, body: string): Reply => ({
  status,
  headers: { 'content-type': 'text/html; charset=UTF-8' },
  body,
})
const media = (status: number, headers: Reply['headers'] = {}): Reply => ({
  status,
  headers: { 'content-type': 'video/mp4', ...headers },
  body: '\0\0',
})
const redirect = (status: number, location: string): Reply => ({ status, headers: { location } })

const captcha = html(200, 'Before you continue')
const sorry = html(429, 'Sorry...', { 'retry-after': '3600' })

// YouTube

const oembed =
  'https://www.youtube.com/oembed?format=json&url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D{id}'
const thumbnail = 'https://img.youtube.com/vi/{id}/0.jpg'
const image = (status: number): Reply => ({ status, headers: { 'content-type': 'image/jpeg' } })

const oembedFound = json(200, {
  title: 'A talk about {id}',
  author_name: 'Example Conference',
  author_url: 'https://www.youtube.com/channel/{owner}',
  type: 'video',
  height: 113,
  width: 200,
  version: '1.0',
  provider_name: 'YouTube',
  provider_url: 'https://www.youtube.com/',
  html: '<iframe src="https://www.youtube.com/embed/{id}"></iframe>',
})

/** Returns an item of videos.list that differs from that of a usual video. */
const item = (status: object = {}, contentDetails: object = {}) => ({
  id: '{id}',
  snippet: { channelId: '{owner}' },
  status: { uploadStatus: 'processed', privacyStatus: 'public', embeddable: true, ...status },
  contentDetails: { contentRating: {}, ...contentDetails },
})

type YoutubeAnswer = Partial<Omit<HostAnswer, 'kind' | 'replies'>> & {
  readonly name: string
  readonly verdict: Verdict
  readonly oembed: Reply
  readonly documentedIn: string
  /** Replies of other URLs. */
  readonly more?: HostAnswer['replies']
  /** Status of the thumbnail; default: 200 where the video is there. */
  readonly thumbnail?: number
}

function youtubeAnswer(answer: YoutubeAnswer): HostAnswer {
  const { oembed: reply, thumbnail: given, more = {}, ...others } = answer
  const isThere = reply.status === 200 || reply.status === 401 || reply.status >= 429
  const status = given ?? (isThere ? 200 : 404)
  return {
    kind: 'youtube',
    replies: { [oembed]: reply, [thumbnail]: image(status), ...more },
    witness: status === 200 ? 'ok' : 'gone',
    ...others,
  }
}

const apiReference = 'developers.google.com/youtube/v3/docs/videos'
const apiError = (status: number, reason: string, message: string) =>
  json(status, { error: { code: status, message, errors: [{ message, reason, domain: 'x' }] } })

const youtubeAnswers: readonly HostAnswer[] = [
  youtubeAnswer({
    name: 'youtube: 200',
    verdict: 'ok',
    oembed: oembedFound,
    item: item(),
    owner: '{owner}',
    documentedIn: 'oembed.com, providers/youtube.yml of iamcal/oembed',
  }),
  youtubeAnswer({
    name: 'youtube: 200, unlisted',
    verdict: 'ok',
    oembed: oembedFound,
    item: item({ privacyStatus: 'unlisted' }),
    owner: '{owner}',
    documentedIn: 'leedo/noembed#98',
  }),
  youtubeAnswer({
    name: 'youtube: 401',
    verdict: 'embed-off',
    oembed: words(401, 'Unauthorized'),
    item: item({ embeddable: false }),
    documentedIn: 'extractus/oembed-extractor#168, mellowagain/pomu#9',
  }),
  youtubeAnswer({
    name: 'youtube: 403',
    verdict: 'private',
    oembed: words(403, 'Forbidden'),
    documentedIn: 'ruby-oembed/ruby-oembed#79',
  }),
  youtubeAnswer({
    name: 'youtube: 200 Forbidden',
    verdict: 'private',
    oembed: words(200, 'Forbidden'),
    thumbnail: 404,
    documentedIn: 'ruby-oembed/ruby-oembed#79',
  }),
  youtubeAnswer({
    name: 'youtube: 404',
    verdict: 'gone',
    oembed: words(404, 'Not Found'),
    documentedIn: 'iamcal/oembed#847',
  }),
  youtubeAnswer({
    name: 'youtube: 400',
    verdict: 'gone',
    oembed: words(400, 'Bad Request'),
    documentedIn: 'NikkelM/Random-YouTube-Video#5 (2022)',
  }),
  youtubeAnswer({
    name: 'youtube: gone, with its thumbnail',
    verdict: 'gone',
    oembed: words(404, 'Not Found'),
    thumbnail: 200,
    documentedIn: 'TheTechRobo/youtubevideofinder#119',
  }),
  youtubeAnswer({
    name: 'youtube: captcha with 200',
    verdict: 'refused',
    oembed: captcha,
    item: item(),
    documentedIn: 'links.md: HTML for JSON',
  }),
  youtubeAnswer({
    name: 'youtube: 429',
    verdict: 'refused',
    oembed: sorry,
    item: item(),
    retryAfterSeconds: 3600,
    documentedIn: 'links.md: 429 with HTML',
  }),
  youtubeAnswer({
    name: 'youtube: redirect to a captcha',
    verdict: 'refused',
    oembed: redirect(302, 'https://www.google.com/sorry/index'),
    more: { 'https://www.google.com/sorry/index': sorry },
    item: item(),
    thumbnail: 200,
    retryAfterSeconds: 3600,
    documentedIn: 'links.md: captcha',
  }),
  youtubeAnswer({
    name: 'youtube: redirect to a missing page',
    verdict: 'refused',
    oembed: redirect(302, '/lost'),
    more: { 'https://www.youtube.com/lost': words(404, 'Not Found') },
    item: item(),
    thumbnail: 200,
    documentedIn: 'links.md: captcha',
  }),
  youtubeAnswer({
    name: 'youtube: 403 page',
    verdict: 'refused',
    oembed: html(403, '403. That is an error.'),
    thumbnail: 200,
    item: item(),
    documentedIn: 'links.md: HTML for JSON',
  }),
  youtubeAnswer({
    name: 'youtube: 404 page',
    verdict: 'odd',
    oembed: html(404, '404. That is an error.'),
    thumbnail: 200,
    item: item(),
    documentedIn: 'links.md: an answer that means nothing',
  }),
  youtubeAnswer({
    name: 'youtube: 503',
    verdict: 'refused',
    oembed: html(503, 'Service Unavailable', { 'retry-after': '120' }),
    item: item(),
    retryAfterSeconds: 120,
    documentedIn: 'RFC 9110, section 15.6.4',
  }),
  ...(
    [
      ['found', 'ok', item()],
      ['unlisted', 'ok', item({ privacyStatus: 'unlisted' })],
      ['not embeddable', 'embed-off', item({ embeddable: false })],
      [
        'blocked in countries',
        'region',
        item({}, { regionRestriction: { blocked: ['DE', 'FR'] } }),
      ],
      ['allowed in countries', 'region', item({}, { regionRestriction: { allowed: ['US'] } })],
      ['allowed nowhere', 'region', item({}, { regionRestriction: { allowed: [] } })],
      ['blocked nowhere', 'ok', item({}, { regionRestriction: { blocked: [] } })],
      ['for adults', 'age', item({}, { contentRating: { ytRating: 'ytAgeRestricted' } })],
      ['rejected', 'removed', item({ uploadStatus: 'rejected' })],
      ['deleted', 'removed', item({ uploadStatus: 'deleted' })],
      ['failed', 'odd', item({ uploadStatus: 'failed' })],
      ['private', 'private', item({ privacyStatus: 'private' })],
    ] as const
  ).map(([name, verdict, found]) =>
    youtubeAnswer({
      name: `videos.list: ${name}`,
      verdict,
      isByKey: true,
      oembed: verdict === 'embed-off' ? words(401, 'Unauthorized') : oembedFound,
      item: found,
      owner: '{owner}',
      documentedIn: apiReference,
    }),
  ),
  youtubeAnswer({
    name: 'videos.list: missing, private',
    verdict: 'private',
    isByKey: true,
    oembed: words(403, 'Forbidden'),
    documentedIn: 'claudiob/yt#382',
  }),
  youtubeAnswer({
    name: 'videos.list: missing, gone',
    verdict: 'gone',
    isByKey: true,
    oembed: words(404, 'Not Found'),
    documentedIn: 'claudiob/yt#382',
  }),
  youtubeAnswer({
    name: 'videos.list: missing, but known to oEmbed',
    verdict: 'odd',
    isByKey: true,
    oembed: oembedFound,
    documentedIn: 'links.md: an answer that means nothing',
  }),
  youtubeAnswer({
    name: 'videos.list: missing, account closed',
    verdict: 'closed',
    isByKey: true,
    oembed: words(404, 'Not Found'),
    isOwnerGone: true,
    owner: '{owner}',
    documentedIn: 'claudiob/yt#382, DialmasterOrg/Youtarr#621',
  }),
  youtubeAnswer({
    name: 'videos.list: quota exceeded',
    verdict: 'refused',
    isByKey: true,
    oembed: oembedFound,
    apiReply: apiError(403, 'quotaExceeded', 'You have exceeded your quota.'),
    documentedIn: 'developers.google.com/youtube/v3/docs/errors',
  }),
  youtubeAnswer({
    name: 'videos.list: key not valid',
    verdict: 'refused',
    isByKey: true,
    oembed: oembedFound,
    apiReply: apiError(400, 'badRequest', 'API key not valid.'),
    documentedIn: 'developers.google.com/youtube/v3/docs/errors',
  }),
]

// Vimeo

const vimeoOembed = 'https://vimeo.com/api/oembed.json?url=https%3A%2F%2Fvimeo.com%2F{id}'
const vimeoPlayer = 'https://player.vimeo.com/video/{id}'
const vimeoFound = (more: object = {}) =>
  json(200, {
    type: 'video',
    version: '1.0',
    provider_name: 'Vimeo',
    title: 'A talk about {id}',
    author_name: 'Example Conference',
    author_url: 'https://vimeo.com/{owner}',
    duration: 1800,
    video_id: 1,
    ...more,
  })
const playable = html(200, 'A talk')
const missing = html(404, 'Page not found')
const otherSites = html(403, 'Because of its privacy settings, this video cannot be played here.')
const blocked = html(403, 'Access denied')

const vimeoAnswers: readonly HostAnswer[] = (
  [
    ['200', 'ok', 'ok', vimeoFound(), playable, 'vimeo/player.js: src/lib/embed.js'],
    ['404, gone', 'gone', 'gone', words(404, 'Not Found'), missing, 'php-embed/Embed#377'],
    [
      '404, other sites only',
      'embed-off',
      'embed-off',
      words(404, 'Not Found'),
      otherSites,
      'php-embed/Embed#377, extractor/vimeo.py of yt-dlp',
    ],
    [
      '404, but played',
      'odd',
      'ok',
      words(404, 'Not Found'),
      playable,
      'links.md: an answer that means nothing',
    ],
    [
      '403',
      'embed-off',
      'embed-off',
      json(403, { error: 'Forbidden' }),
      otherSites,
      'vimeo/player.js: src/lib/embed.js',
    ],
    [
      'domain_status_code 403',
      'embed-off',
      'embed-off',
      vimeoFound({ domain_status_code: 403 }),
      otherSites,
      'vimeo/player.js#270',
    ],
    ['403 page', 'refused', 'refused', blocked, blocked, 'extractor/vimeo.py of yt-dlp'],
    ['429 page', 'refused', 'refused', sorry, sorry, 'extractor/vimeo.py of yt-dlp'],
    [
      '404, player refuses',
      'refused',
      'refused',
      words(404, 'Not Found'),
      sorry,
      'extractor/vimeo.py of yt-dlp',
    ],
  ] as const
).map(([name, verdict, witness, reply, player, documentedIn]) => ({
  name: `vimeo: ${name}`,
  kind: 'vimeo',
  replies: { [vimeoOembed]: reply, [vimeoPlayer]: player },
  verdict,
  witness,
  ...(reply.status === 200 && { owner: '{owner}' }),
  ...([reply, player].includes(sorry) && { retryAfterSeconds: 3600 }),
  documentedIn,
}))

// PeerTube

const peertubeApi = 'https://{host}/api/v1/videos/{id}'
const peertubeOembed =
  'https://{host}/services/oembed?format=json&url=https%3A%2F%2F{host}%2Fvideos%2Fwatch%2F{id}'
const peertubeServer = 'Chocobozzz/PeerTube: server/core/middlewares/validators/shared/videos.ts'
const peertubeVideo = (state: number, more: object = {}) =>
  json(200, {
    id: 1,
    uuid: '{id}',
    name: 'A talk',
    privacy: { id: 1, label: 'Public' },
    duration: 1800,
    account: { name: '{owner}', host: '{host}' },
    state: { id: state, label: 'Any' },
    ...more,
  })
const peertubeProblem = (status: number, detail: string, code?: string, more: object = {}): Reply =>
  json(
    status,
    { type: 'about:blank', title: 'Any', detail, status, ...(code && { code }), ...more },
    { 'content-type': 'application/problem+json; charset=utf-8' },
  )
const embed = json(200, { type: 'video', version: '1.0', title: 'A talk' })
const notFound = peertubeProblem(404, 'Video not found')
const notPublic = peertubeProblem(403, 'Video is not publicly available')

const peertubeAnswers: readonly HostAnswer[] = (
  [
    ['published', 'ok', 'ok', peertubeVideo(1), embed],
    ['404', 'gone', 'gone', notFound, notFound],
    [
      'private',
      'private',
      'private',
      peertubeProblem(401, 'Authentication is required'),
      notPublic,
    ],
    [
      'password',
      'private',
      'private',
      peertubeProblem(401, 'Please provide a password', 'video_requires_password'),
      notPublic,
    ],
    ['being transcoded', 'odd', 'ok', peertubeVideo(2), embed],
    [
      'not followed',
      'moved',
      'ok',
      peertubeProblem(403, 'Cannot get this video', 'does_not_respect_follow_constraints', {
        originUrl: 'https://other.example.org/videos/watch/{id}',
      }),
      embed,
    ],
    ['404 of a proxy', 'odd', 'odd', missing, missing],
    ['captcha with 200', 'refused', 'refused', captcha, captcha],
    ['502', 'refused', 'refused', html(502, 'Bad Gateway'), html(502, 'Bad Gateway')],
  ] as const
).map(([name, verdict, witness, reply, second]) => ({
  name: `peertube: ${name}`,
  kind: 'peertube',
  replies: { [peertubeApi]: reply, [peertubeOembed]: second },
  verdict,
  witness,
  ...(reply.status === 200 && verdict !== 'refused' && { owner: '{owner}@{host}' }),
  ...(verdict === 'moved' && { movedTo: 'https://other.example.org/videos/watch/{id}' }),
  documentedIn: peertubeServer,
}))

// voctoweb

const voctowebApi = 'https://api.media.ccc.de/public/events/{id}'
const voctowebPage = 'https://media.ccc.de/v/{id}'
const voctowebEvent = (recordings: readonly object[]) =>
  json(200, {
    guid: '654331ae-1710-42e5-bdf4-65a03a80c614',
    title: 'A talk',
    slug: '{id}',
    duration: 1800,
    conference_url: 'https://api.media.ccc.de/public/conferences/{owner}',
    related: [],
    recordings,
  })
const recording = { mime_type: 'video/mp4', recording_url: 'https://cdn.media.ccc.de/{id}.mp4' }

const voctowebAnswers: readonly HostAnswer[] = (
  [
    ['recordings', 'ok', 'ok', voctowebEvent([recording]), html(200, 'A talk')],
    ['404', 'gone', 'gone', json(404, { message: 'not found', error: 'x' }), missing],
    ['no recordings', 'odd', 'ok', voctowebEvent([]), html(200, 'A talk')],
    ['500', 'refused', 'refused', html(500, 'Error'), html(500, 'Error')],
  ] as const
).map(([name, verdict, witness, reply, second]) => ({
  name: `voctoweb: ${name}`,
  kind: 'voctoweb',
  replies: { [voctowebApi]: reply, [voctowebPage]: second },
  verdict,
  witness,
  ...(reply.status === 200 && { owner: '{owner}' }),
  documentedIn: 'voc/voctoweb: app/controllers/public/events_controller.rb',
}))

// archive.org

const metadata = 'https://archive.org/metadata/{id}'
const download = 'https://archive.org/download/{id}'
const archiveItem = (more: object = {}) =>
  json(200, {
    created: 1,
    files: [
      { name: '{id}.mp4', format: 'h.264' },
      { name: 'day 1/{id} (final).mp4', format: 'h.264' },
    ],
    files_count: 2,
    metadata: { identifier: '{id}', title: 'A talk', uploader: '{owner}@example.org' },
    ...more,
  })
/** More than is read; the file may be in the part that is not. */
const longItem = json(200, {
  files: Array.from({ length: 2000 }, (_, index) => ({ name: `picture ${index}.jpg`, size: '1' })),
  metadata: { title: 'A talk' },
})
const node = (path: string) => redirect(302, `https://ia800000.us.archive.org/1/items/${path}`)
const archiveClient = 'jjjake/internetarchive: internetarchive/item.py'
const withFile = 'https://archive.org/download/{id}/day%201%2F{id}%20(final).mp4'
const withoutFile = 'https://archive.org/download/{id}/lost.mp4'
const unavailable = html(403, 'Item not available')

const archiveOrgAnswers: readonly HostAnswer[] = (
  [
    ['item', 'ok', 'ok', archiveItem(), html(200, 'Files'), archiveClient],
    ['empty', 'gone', 'gone', json(200, {}), missing, archiveClient],
    ['empty list', 'gone', 'gone', json(200, []), missing, archiveClient],
    [
      'dark',
      'removed',
      'removed',
      json(200, { created: 1, is_dark: true, metadata: { identifier: '{id}' } }),
      unavailable,
      `${archiveClient}, zach-morris/plugin.program.iagl#180`,
    ],
    ['file', 'ok', 'ok', archiveItem(), media(200), archiveClient, withFile],
    ['file missing', 'gone', 'gone', archiveItem(), missing, archiveClient, withoutFile],
    ['long', 'ok', 'ok', longItem, media(200), archiveClient, withFile],
    ['long, item', 'ok', 'ok', longItem, html(200, 'Files'), archiveClient],
    ['long, file missing', 'gone', 'gone', longItem, missing, archiveClient, withoutFile],
    ['error', 'refused', 'refused', json(200, { error: 'x' }), sorry, 'yt-dlp/yt-dlp#15280'],
    ['503', 'refused', 'refused', html(503, 'Busy'), html(503, 'Busy'), 'links.md: 5xx'],
  ] as const
).map(([name, verdict, witness, reply, second, documentedIn, source]) => ({
  name: `archive.org: ${name}`,
  kind: 'archive.org',
  ...(source && { source }),
  replies: {
    [metadata]: reply,
    [source ?? download]: second,
    // The download of a whole item is redirected to the server that has it.
    ...(name === 'item' && {
      [download]: node('{id}/'),
      'https://ia800000.us.archive.org/1/items/{id}/': second,
    }),
  },
  verdict,
  witness,
  documentedIn,
}))

// Files and streams

const file = 'https://{host}/{id}.mp4'
const stream = 'https://{host}/{id}/master.m3u8'
const http = 'RFC 9110'
const noSuchMethod = media(405)
const part = media(206, { 'content-range': 'bytes 0-1/1000' })
const accessDenied: Reply = {
  status: 403,
  headers: { 'content-type': 'application/xml' },
  body: '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
}
const playlist: Reply = {
  status: 206,
  headers: { 'content-type': 'application/vnd.apple.mpegurl' },
  body: '#E',
}

const fileAnswers: readonly HostAnswer[] = (
  [
    ['200', 'ok', { [file]: media(200) }, http],
    ['206 where HEAD is 405', 'ok', { [`HEAD ${file}`]: noSuchMethod, [file]: part }, http],
    ['206 where HEAD is 404', 'ok', { [`HEAD ${file}`]: missing, [file]: part }, http],
    [
      '206 where HEAD is 501',
      'ok',
      { [`HEAD ${file}`]: words(501, 'Not Implemented'), [file]: part },
      http,
    ],
    ['304', 'ok', { [file]: { status: 304 } }, http],
    ['HLS', 'ok', { [`HEAD ${stream}`]: noSuchMethod, [stream]: playlist }, http, stream],
    ['404', 'gone', { [file]: missing }, http],
    ['410', 'gone', { [file]: words(410, 'Gone') }, http],
    ['451', 'removed', { [file]: words(451, 'Unavailable For Legal Reasons') }, 'RFC 7725'],
    ['page with 200', 'odd', { [file]: html(200, 'Page not found') }, 'links.md'],
    [
      'page without a type',
      'odd',
      { [file]: { status: 200, body: '<html>Gone</html>' } },
      'links.md',
    ],
    ['416', 'odd', { [file]: words(416, 'Range Not Satisfiable') }, http],
    ['access denied', 'private', { [file]: accessDenied }, 'Amazon S3: error responses'],
    ['401', 'private', { [file]: words(401, 'Unauthorized') }, http],
    ['captcha with 403', 'refused', { [file]: blocked }, 'links.md: captcha'],
    ['429', 'refused', { [file]: sorry }, http],
    ['500', 'refused', { [file]: words(500, 'Error') }, http],
    [
      'moved to another host',
      'moved',
      {
        [file]: redirect(301, 'https://new.example.com/{id}.mp4'),
        'https://new.example.com/{id}.mp4': media(200),
      },
      http,
    ],
    [
      'at a mirror',
      'ok',
      {
        [file]: redirect(302, 'https://mirror.example.com/{id}.mp4'),
        'https://mirror.example.com/{id}.mp4': media(200),
      },
      http,
    ],
    [
      'moved within the host',
      'ok',
      {
        [file]: redirect(301, 'https://www.{host}/videos/{id}.mp4'),
        'https://www.{host}/videos/{id}.mp4': media(200),
      },
      http,
    ],
    [
      'soft 404',
      'odd',
      { [file]: redirect(302, 'https://{host}/'), 'https://{host}/': html(200, 'Home') },
      'links.md: 200 text/html',
    ],
    [
      'redirect to a missing home page',
      'odd',
      { [file]: redirect(301, 'https://lost.example.org/'), 'https://lost.example.org/': missing },
      http,
    ],
    ['redirect loop', 'odd', { [file]: redirect(302, file) }, http],
    ['redirect to http', 'odd', { [file]: redirect(302, 'http://{host}/{id}.mp4') }, 'outbound.ts'],
    [
      'redirect to a dead host',
      'odd',
      { [file]: redirect(301, 'https://dead.example.com/{id}.mp4') },
      http,
    ],
  ] as const
).map(([name, verdict, replies, documentedIn, source]) => ({
  name: `file: ${name}`,
  kind: 'file',
  ...(source && { source }),
  replies: replies as HostAnswer['replies'],
  verdict,
  witness: verdict,
  ...(verdict === 'moved' && { movedTo: 'https://new.example.com/{id}.mp4' }),
  ...(name === '429' && { retryAfterSeconds: 3600 }),
  documentedIn,
}))

// Pages

const page = 'https://{host}/talk/{id}'
const home = { 'https://{host}/': html(200, 'Home') }

const pageAnswers: readonly HostAnswer[] = (
  [
    ['200', 'ok', { [page]: html(200, 'A talk') }],
    ['200 where HEAD is 405', 'ok', { [`HEAD ${page}`]: noSuchMethod, [page]: playable }],
    ['404', 'gone', { [page]: missing }],
    ['410', 'gone', { [page]: words(410, 'Gone') }],
    ['403', 'refused', { [page]: blocked }],
    ['503', 'refused', { [page]: html(503, 'Busy') }],
    [
      'redirect to another site',
      'moved',
      {
        [page]: redirect(301, 'https://new.example.com/'),
        'https://new.example.com/': html(200, 'Home'),
      },
    ],
    [
      'redirect to its path at another host',
      'ok',
      {
        [page]: redirect(301, 'https://new.example.com/talk/{id}'),
        'https://new.example.com/talk/{id}': playable,
      },
    ],
    ['redirect to the home page', 'odd', { [page]: redirect(302, '/'), ...home }],
    [
      'redirect to a missing page',
      'gone',
      { [page]: redirect(301, '/old/{id}'), 'https://{host}/old/{id}': missing },
    ],
  ] as const
).map(([name, verdict, replies]) => ({
  name: `page: ${name}`,
  kind: 'page',
  replies: replies as HostAnswer['replies'],
  verdict,
  witness: verdict,
  ...(verdict === 'moved' && { movedTo: 'https://new.example.com/' }),
  documentedIn: http,
}))

export const hostAnswers: readonly HostAnswer[] = [
  ...youtubeAnswers,
  ...vimeoAnswers,
  ...peertubeAnswers,
  ...voctowebAnswers,
  ...archiveOrgAnswers,
  ...fileAnswers,
  ...pageAnswers,
]

/** Returns an answer by its name. */
export function answerNamed(name: string): HostAnswer {
  const answer = hostAnswers.find((one) => one.name === name)
  if (!answer) throw new Error(`There is no answer ${name}`)
  return answer
}

/** Returns all URLs that a look or the second witness asks about sources of a kind. */
export function questionsOf(kind: SourceKind): readonly string[] {
  const questions: Readonly<Record<SourceKind, readonly string[]>> = {
    youtube: [oembed, thumbnail],
    vimeo: [vimeoOembed, vimeoPlayer],
    peertube: [peertubeApi, peertubeOembed],
    voctoweb: [voctowebApi, voctowebPage],
    'archive.org': [metadata, download],
    file: [file],
    page: [page],
  }
  return questions[kind]
}
