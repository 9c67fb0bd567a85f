import { awayStates, type Fact, limitedStates, type Video } from '@talkshelf/contract'
import type { Link, LostSource, Source, SourceStatus, TalkPart } from './data.ts'
import { parseTimecode } from './timecode.ts'

// Finds where a talk can be watched. URLs in records are untrusted, and the player loads them in
// frames: a URL is therefore parsed, the video id is validated, and the URL for the player is built
// from these parts. A URL of an unknown host becomes a link.

export interface TalkSources {
  readonly sources: Source[]
  /** Recordings that play only at their host. */
  readonly elsewhere: Link[]
  /** Files to download, including those that can be played. */
  readonly downloads: Link[]
  readonly links: Link[]
  readonly lost: LostSource[]
}

const formats = ['mp4', 'webm', 'ogv', 'flv'] as const

/**
 * Finds the sources, downloads and links of a talk in its record and facts. `origin` is the base
 * URL of the archive: its own files are played even without https. `statuses` has what is known
 * against sources, by their URL in the record or fact. Those of which nothing is known come first,
 * and those that are away are only in `lost`.
 */
export function findSources(
  record: Video,
  facts: readonly Fact[],
  origin: string | undefined = undefined,
  statuses: ReadonlyMap<string, SourceStatus> = new Map(),
): TalkSources {
  const find = (copy: Copy): Found[] => {
    const media = recognise(copy, origin)
    const status = statuses.get(copy.address ?? '')
    return media ? [{ ...media, ...(status && { status }) }] : []
  }
  const [original] = find({ address: record.source_url })
  const copies: Copy[] = [
    ...formats.map((format) => ({
      address: record[`video_${format}_url`],
      size: record[`video_${format}_length`],
      format,
      isFile: record[`video_${format}_download_only`],
    })),
    ...facts.flatMap((fact) =>
      fact.kind === 'media' ? [{ address: fact.url, size: fact.size }] : [],
    ),
    ...facts.flatMap((fact) => (fact.kind === 'part' ? [{ address: fact.url }] : [])),
  ]
  const parts = findParts(facts, origin)
  const all = [original ?? [], ...copies.map(find)].flat()
  const left = all.filter((media) => !isAway(media)).sort((a, b) => healthRank(a) - healthRank(b))
  const rankOf = (media: Found) => (media === original ? -1 : rank(media))
  const sources = uniqueByKey(left.filter(playsHere)).sort(
    (a, b) => healthRank(a) - healthRank(b) || rankOf(a) - rankOf(b),
  )
  const related = facts.flatMap((fact) =>
    fact.kind === 'related' ? (relatedLink(fact.url, fact.label) ?? []) : [],
  )
  return {
    sources: sources.map((media) => sourceOf(media, sources, parts.get(media.key ?? ''))),
    elsewhere: uniqueByKey(
      left.filter((media) => media.host !== undefined && !playsHere(media)),
    ).map(linkOf),
    downloads: uniqueByKey(left.filter(({ isFile }) => isFile)).map((media) => ({
      ...linkOf(media),
      size: media.size ?? null,
    })),
    links: uniqueByKey([
      ...left.filter(({ host, isFile }) => host === undefined && !isFile).map(linkOf),
      ...related,
    ]),
    lost: uniqueByKey(all.filter(isAway)).map(({ address, label, host, isFile, status }) => ({
      address,
      label: isFile || host === 'hls' ? `${labelOf(new URL(address))} (${label})` : label,
      status,
    })),
  }
}

type Lost = Found & { readonly status: SourceStatus }

const isAway = (media: Found): media is Lost =>
  (awayStates as readonly (string | undefined)[]).includes(media.status?.state)

const playsHere = ({ host, status }: Found) => host !== undefined && status?.state !== 'embed-off'

/** Ranks what is limited, and then what cannot be reached, after the others. */
function healthRank({ status }: Found): number {
  if (status === undefined) return 0
  return (limitedStates as readonly string[]).includes(status.state) ? 1 : 2
}

const linkOf = ({ address, label, status }: Found): Link => ({
  address,
  label,
  ...(status && { status }),
})

/** What the content security policy of the page must allow. */
export interface SourcePolicy {
  /** For frame-src. */
  readonly frames: string[]
  /** Whether media files are loaded, for media-src and connect-src. */
  readonly hasMedia: boolean
}

/** Returns what the content security policy must allow for the sources. */
export function sourcePolicy(sources: readonly Source[]): SourcePolicy {
  const framed = sources.filter(
    ({ host }) => host === 'youtube' || host === 'vimeo' || host === 'peertube',
  )
  return {
    frames: [...new Set(framed.map(({ src }) => new URL(src).origin))],
    hasMedia: framed.length < sources.length,
  }
}

interface Copy {
  readonly address: string | null
  readonly size?: number | null
  /** Format according to the record. */
  readonly format?: (typeof formats)[number]
  /** Whether it is for download only. */
  readonly isFile?: boolean
}

interface Found {
  readonly address: string
  readonly label: string
  readonly size?: number | null | undefined
  readonly isFile?: boolean
  /** Undefined if it cannot be played here. */
  readonly host?: Source['host']
  readonly src?: string
  /** Identifies the video: the same one can have several URLs. */
  readonly key?: string
  readonly status?: SourceStatus
}

function recognise(
  { address, size, format, isFile = false }: Copy,
  origin: string | undefined,
): Found | undefined {
  const url = parse(address)
  if (!url) return undefined
  const label = labelOf(url)
  const link = { address: url.href, label }
  if (!isFile) {
    for (const host of hosts) {
      const match = hasPublicName(url) ? host(url) : undefined
      if (match) return { ...link, ...match }
    }
  }
  const file = fileOf(url)
  const extension = file && extensionOf(file)
  const isPlayable = extension !== undefined && playable.has(extension)
  if (isFile)
    return {
      address: file?.href ?? url.href,
      label: (extension ?? format)?.toUpperCase() ?? label,
      size,
      isFile,
    }
  if (!file || (!isPlayable && !downloadable.has(extension ?? ''))) return link
  const fileLabel = (extension ?? '').toUpperCase()
  const download = { address: file.href, label: fileLabel, size, isFile: true }
  const src = isPlayable ? (ownPath(file, origin) ?? httpsUrl(file)) : undefined
  return src === undefined ? download : { ...download, host: 'file', src, key: src }
}

// Browsers drop control characters from a URL before parsing it; no author writes them on purpose.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/

/** Parses an http or https URL. Rejects URLs that can be mistaken for another one. */
function parse(address: string | null): URL | undefined {
  if (
    !address ||
    address.length > 4096 ||
    controlCharacters.test(address) ||
    !URL.canParse(address)
  )
    return undefined
  const url = new URL(address)
  const isSafe =
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === ''
  return isSafe ? url : undefined
}

/** Tells whether a host has a public name. IP addresses and single words may be local hosts. */
const hasPublicName = ({ hostname }: URL) =>
  /^(?=.{4,253}$)([a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?\.)+[a-z][a-z\d-]{0,61}[a-z\d]$/.test(hostname)

/**
 * Returns the URL with https, because pages load nothing else. Nearly all hosts support it, except
 * those on a port of their own.
 */
function httpsUrl(url: URL): string | undefined {
  if (!hasPublicName(url) || (url.protocol === 'http:' && url.port !== '')) return undefined
  const secure = new URL(url)
  secure.protocol = 'https:'
  secure.hash = ''
  return secure.href
}

/** Returns the path of a file of the archive itself. Readers may use another name of the server. */
function ownPath(url: URL, origin: string | undefined): string | undefined {
  const isOwn = origin !== undefined && url.origin === new URL(origin).origin
  // Two slashes would be the start of another host.
  return isOwn && !url.pathname.startsWith('//') ? url.pathname + url.search : undefined
}

type Host = (url: URL) => Pick<Found, 'host' | 'src' | 'key' | 'label'> | undefined

const hosts: Host[] = [
  function youtube({ hostname, pathname, searchParams, port }) {
    const isShort = /^(www\.)?youtu\.be$/.test(hostname)
    if (
      (!isShort && !/^(www\.|m\.|music\.)?(youtube|youtube-nocookie)\.com$/.test(hostname)) ||
      port !== ''
    )
      return undefined
    const id = isShort ? pathname.slice(1).split(/[/&]/)[0] : youtubeId(pathname, searchParams)
    if (!id || !/^[\w-]{11}$/.test(id)) return undefined
    // A recording may be of a whole day: the URL then has the start of the talk.
    const start = parseTimecode(searchParams.get('t') ?? searchParams.get('start'))
    const src = `https://www.youtube-nocookie.com/embed/${id}${start > 0 ? `?start=${start}` : ''}`
    return { host: 'youtube', src, key: `youtube ${id}`, label: 'YouTube' }
  },

  function vimeo({ hostname, pathname, searchParams, port }) {
    if (!/^(www\.|player\.)?vimeo\.com$/.test(hostname) || port !== '') return undefined
    const [, id, inPath] =
      /^\/(?:video\/|channels\/[\w-]+\/|groups\/[\w-]+\/videos\/|(?:album|showcase)\/\d+\/video\/)?(\d{1,12})(?:\/([\da-f]{6,32}))?\/?$/.exec(
        pathname,
      ) ?? []
    if (id === undefined) return undefined
    // The hash gives access to an unlisted video.
    const hash = inPath ?? searchParams.get('h') ?? ''
    const search = /^[\da-f]{6,32}$/.test(hash) ? `?h=${hash}` : ''
    const src = `https://player.vimeo.com/video/${id}${search}`
    return { host: 'vimeo', src, key: `vimeo ${id}`, label: 'Vimeo' }
  },

  function peertube({ protocol, origin, hostname, pathname }) {
    const id =
      /^\/(?:videos\/(?:watch|embed)|w)\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[1-9A-HJ-NP-Za-km-z]{22})\/?$/.exec(
        pathname,
      )?.[1]
    if (id === undefined || protocol !== 'https:') return undefined
    return {
      host: 'peertube',
      src: `${origin}/videos/embed/${id}`,
      key: `${origin} ${id}`,
      label: hostname,
    }
  },

  function hls(url) {
    const src = extensionOf(url) === 'm3u8' ? httpsUrl(url) : undefined
    return src === undefined ? undefined : { host: 'hls', src, key: src, label: 'HLS' }
  },
]

/** Returns the video id of a URL of youtube.com, not validated. */
function youtubeId(pathname: string, searchParams: URLSearchParams): string | null | undefined {
  const [first = '', second = ''] = pathname.slice(1).split(/[/&]/)
  if (first === 'watch' && second === '') return searchParams.get('v')
  return /^(embed|shorts|live|v|e|watch)$/.test(first) ? second : undefined
}

/** Formats that some browsers play in `<video>`. In others, the player tries the next source. */
const playable = new Set(['mp4', 'm4v', 'mov', 'webm', 'ogv', 'ogg', 'oga', 'opus', 'mp3', 'm4a'])
const downloadable = new Set(['mkv', 'flv', 'avi', 'wmv', 'mpg', 'mpeg', 'ts', 'flac', 'wav'])

const extensionOf = ({ pathname }: URL) =>
  /[^/]\.([a-z\d]{2,5})$/i.exec(pathname)?.[1]?.toLowerCase()

/** Returns the URL of the file itself: archive.org has pages whose URLs look like files. */
function fileOf(url: URL): URL | undefined {
  if (!/^(www\.)?archive\.org$/.test(url.hostname) || !url.pathname.startsWith('/details/'))
    return url
  return /^\/details\/[^/]+\/[^/]/.test(url.pathname)
    ? new URL(url.href.replace('/details/', '/download/'))
    : undefined
}

const labelOf = ({ hostname }: URL) => hostname.replace(/^www\./, '')

/** Returns a link to a page about the talk. */
function relatedLink(address: string, label: string | null): Link | undefined {
  const url = parse(address)
  return url && { address: url.href, label: label?.trim() || labelOf(url), isRelated: true }
}

const preferredFormats = ['mp4', 'm4v', 'webm', 'ogv']

function rank({ host, label }: Found): number {
  if (host !== 'file') return host === 'hls' ? 1 : 0
  const index = preferredFormats.indexOf(label.toLowerCase())
  return 2 + (index < 0 ? preferredFormats.length : index)
}

/** Finds where the talk is in recordings that hold several, by their key. */
function findParts(
  facts: readonly Fact[],
  origin: string | undefined,
): ReadonlyMap<string, TalkPart> {
  return new Map(
    // Of several parts of one recording, the first counts.
    facts.toReversed().flatMap((fact) => {
      if (fact.kind !== 'part') return []
      const { url, start, end } = fact
      const found = recognise({ address: url }, origin)
      if (found?.key === undefined) return []
      const part = {
        recording: found.address,
        start,
        end: end !== null && end > start ? end : null,
      }
      return [[found.key, part]]
    }),
  )
}

/** Returns the URL of a recording that starts with the talk. */
function addressAt(address: string, host: Source['host'], { start, end }: TalkPart): string {
  const url = new URL(address)
  if (host === 'youtube') url.searchParams.set('t', `${start}s`)
  else if (host === 'peertube') url.searchParams.set('start', `${start}s`)
  else if (host === 'vimeo') url.hash = `t=${start}s`
  else url.hash = end === null ? `t=${start}` : `t=${start},${end}`
  return url.href
}

/** Adds the host name to a label that another source has as well. */
function sourceOf(media: Found, all: readonly Found[], part: TalkPart | undefined): Source {
  const { host = 'file', src = '', address, label, status } = media
  const isAmbiguous =
    (host === 'file' || host === 'hls') &&
    all.some((other) => other !== media && other.label === label)
  return {
    host,
    src,
    address: part ? addressAt(address, host, part) : address,
    label: isAmbiguous ? `${label} (${new URL(address).hostname})` : label,
    ...(part && { part }),
    ...(status && { status }),
  }
}

function uniqueByKey<T extends { readonly address: string; readonly key?: string }>(
  all: readonly T[],
): T[] {
  const seen = new Set<string>()
  return all.filter(({ key, address }) => !seen.has(key ?? address) && seen.add(key ?? address))
}
