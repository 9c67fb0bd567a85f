import type { Fact, Video } from '@talkshelf/contract'
import type { Link, Source } from './data.ts'
import { parseTimecode } from './timecode.ts'

// Where a talk can be watched. Addresses come from whoever wrote the record, and the player puts
// them into frames: so an address is parsed, the number of the video must look like one, and what
// the player is given is written anew from the two. Whatever is not known is a link.

export interface TalkSources {
  readonly sources: Source[]
  /** Files to be fetched, also those that can be played. */
  readonly downloads: Link[]
  readonly links: Link[]
}

const formats = ['mp4', 'webm', 'ogv', 'flv'] as const

export function findSources(record: Video, facts: readonly Fact[]): TalkSources {
  const original = recognise({ address: record.source_url })
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
  ]
  const found = [original ?? [], ...copies.map((copy) => recognise(copy) ?? [])].flat()
  const place = (it: Found) => (it === original ? -1 : rank(it))
  const sources = onlyOnce(found.filter((it) => it.host !== undefined)).sort(
    (a, b) => place(a) - place(b),
  )
  const related = facts.flatMap((fact) =>
    fact.kind === 'related' ? (linkOf(fact.url, fact.label) ?? []) : [],
  )
  return {
    sources: sources.map((it) => sourceOf(it, sources)),
    downloads: onlyOnce(found.filter((it) => it.isFile)).map(({ address, label, size }) => ({
      address,
      label,
      size: size ?? null,
    })),
    links: onlyOnce([
      ...found
        .filter((it) => it.host === undefined && !it.isFile)
        .map(({ address, label }) => ({ address, label })),
      ...related,
    ]),
  }
}

/** What the page must let in for these. */
export interface SourcePolicy {
  /** For frame-src. */
  readonly frames: string[]
  /** Whether a host brings a script of its own: only then 'strict-dynamic' is needed. */
  readonly isDynamic: boolean
  /** Whether files are loaded, for media-src and connect-src. */
  readonly hasMedia: boolean
}

export function sourcePolicy(sources: readonly Source[]): SourcePolicy {
  const framed = sources.filter(
    ({ host }) => host === 'youtube' || host === 'vimeo' || host === 'peertube',
  )
  return {
    frames: [...new Set(framed.map(({ src }) => new URL(src).origin))],
    isDynamic: sources.some(({ host }) => host === 'youtube'),
    hasMedia: framed.length < sources.length,
  }
}

interface Copy {
  readonly address: string | null
  readonly size?: number | null
  /** What the record says that it is. */
  readonly format?: (typeof formats)[number]
  /** Not for playing in place. */
  readonly isFile?: boolean
}

interface Found {
  readonly address: string
  readonly label: string
  readonly size?: number | null | undefined
  readonly isFile?: boolean
  /** None where it can't be played here. */
  readonly host?: Source['host']
  readonly src?: string
  /** Of a video: the same one can have many addresses. */
  readonly key?: string
}

function recognise({ address, size, format, isFile = false }: Copy): Found | undefined {
  const url = parse(address)
  if (!url) return undefined
  const label = labelOf(url)
  const link = { address: url.href, label }
  if (!isFile) {
    for (const host of hosts) {
      const found = isNamed(url) ? host(url) : undefined
      if (found) return { ...link, ...found }
    }
  }
  const file = fileOf(url)
  const ending = file && endingOf(file)
  const isMovie = ending !== undefined && playable.has(ending)
  if (isFile)
    return {
      address: file?.href ?? url.href,
      label: ending || format ? (ending ?? format ?? '').toUpperCase() : label,
      size,
      isFile,
    }
  if (!file || (!isMovie && !fetchable.has(ending ?? ''))) return link
  const download = { address: file.href, label: (ending ?? '').toUpperCase(), size, isFile: true }
  const src = isMovie ? secured(file) : undefined
  return src === undefined ? download : { ...download, host: 'file', src, key: src }
}

// Browsers drop control characters from a URL before they parse it, and no author writes one on purpose.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/

/** Only what a browser can be sent to, and nothing that looks like something else. */
function parse(address: string | null): URL | undefined {
  if (
    !address ||
    address.length > 4096 ||
    controlCharacters.test(address) ||
    !URL.canParse(address)
  )
    return undefined
  const url = new URL(address)
  const isPlain =
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === ''
  return isPlain ? url : undefined
}

/** Hosts in a public network have a name: numbers and single words lead into the reader's own. */
const isNamed = ({ hostname }: URL) =>
  /^(?=.{4,253}$)([a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?\.)+[a-z][a-z\d-]{0,61}[a-z\d]$/.test(hostname)

/**
 * Pages are served by https, and let nothing else in. Nearly all hosts have moved there; who has a
 * port of their own has not.
 */
function secured(url: URL): string | undefined {
  if (!isNamed(url) || (url.protocol === 'http:' && url.port !== '')) return undefined
  const moved = new URL(url)
  moved.protocol = 'https:'
  moved.hash = ''
  return moved.href
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
    const [first = '', second = ''] = pathname.slice(1).split(/[/&]/)
    const isWatch = first === 'watch' && second === ''
    const isKnown = /^(embed|shorts|live|v|e|watch)$/.test(first)
    const id = isShort ? first : isWatch ? searchParams.get('v') : isKnown ? second : undefined
    if (!id || !/^[\w-]{11}$/.test(id)) return undefined
    // Some recordings are a whole day: the address says where the talk begins.
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
    // Who has an unlisted video shows it to those who know this.
    const hash = inPath ?? searchParams.get('h') ?? ''
    const src = `https://player.vimeo.com/video/${id}${/^[\da-f]{6,32}$/.test(hash) ? `?h=${hash}` : ''}`
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
    const src = endingOf(url) === 'm3u8' ? secured(url) : undefined
    return src === undefined ? undefined : { host: 'hls', src, key: src, label: 'HLS' }
  },
]

/** What `<video>` plays in some browser. The others go on to the next source by themselves. */
const playable = new Set(['mp4', 'm4v', 'mov', 'webm', 'ogv', 'ogg', 'oga', 'opus', 'mp3', 'm4a'])
const fetchable = new Set(['mkv', 'flv', 'avi', 'wmv', 'mpg', 'mpeg', 'ts', 'flac', 'wav'])

const endingOf = ({ pathname }: URL) => /[^/]\.([a-z\d]{2,5})$/i.exec(pathname)?.[1]?.toLowerCase()

/** The file itself: archive.org shows a page at an address that ends like one. */
function fileOf(url: URL): URL | undefined {
  if (!/^(www\.)?archive\.org$/.test(url.hostname) || !url.pathname.startsWith('/details/'))
    return url
  return /^\/details\/[^/]+\/[^/]/.test(url.pathname)
    ? new URL(url.href.replace('/details/', '/download/'))
    : undefined
}

const labelOf = ({ hostname }: URL) => hostname.replace(/^www\./, '')

function linkOf(address: string, label: string | null): Link | undefined {
  const url = parse(address)
  return url && { address: url.href, label: label?.trim() || labelOf(url) }
}

const order = ['mp4', 'm4v', 'webm', 'ogv']

function rank({ host, label }: Found): number {
  if (host !== 'file') return host === 'hls' ? 1 : 0
  const at = order.indexOf(label.toLowerCase())
  return 2 + (at < 0 ? order.length : at)
}

/** Two that are called the same are told apart by where they are. */
function sourceOf(it: Found, all: readonly Found[]): Source {
  const { host = 'file', src = '', address } = it
  const isTwice =
    (host === 'file' || host === 'hls') &&
    all.some((other) => other !== it && other.label === it.label)
  return {
    host,
    src,
    address,
    label: isTwice ? `${it.label} (${new URL(src).hostname})` : it.label,
  }
}

function onlyOnce<T extends { readonly address: string; readonly key?: string }>(
  all: readonly T[],
): T[] {
  const seen = new Set<string>()
  return all.filter(({ key, address }) => !seen.has(key ?? address) && seen.add(key ?? address))
}
