import { OutboundError } from '../../platform/net/outbound.ts'
import type { ProbeAnswer } from '../../platform/net/probe.ts'
import { fileNames } from './archive-org.ts'
import type { Ask } from './probe.ts'
import { isJsonObject, isPage, parseJson, urlAt, valueAt } from './reading.ts'

// Copies at archive.org of videos and files that are away. Each finder sends one request.

export interface Replacement {
  readonly url: string
  /** Says for people where it is from. */
  readonly evidence: string
}

// All finders throw an OutboundError if archive.org does not answer, or refuses: that is not the
// same as having no copy.

const videoFile = /\.(mp4|m4v|webm|mkv|ogv|flv|avi|mov)$/i

/** Finds the item that archivists make of a video at YouTube; its name is that of a convention. */
export async function findItem(ask: Ask, youtubeId: string): Promise<Replacement | undefined> {
  const item = `youtube-${youtubeId}`
  const answer = await ask({
    url: `https://archive.org/metadata/${item}`,
    headers: { accept: 'application/json' },
  })
  const json = readJson(answer)
  const isThere = isJsonObject(json) && json.is_dark !== true
  if (!isThere || !fileNames(json)?.some((name) => videoFile.test(name))) return undefined
  return {
    url: `https://archive.org/details/${item}`,
    evidence: `archive.org has the item ${item}`,
  }
}

/** Finds the copy of a video at YouTube in the Wayback Machine, which has a URL for each. */
export async function findWaybackVideo(
  ask: Ask,
  youtubeId: string,
): Promise<Replacement | undefined> {
  const url = `https://web.archive.org/web/2oe_/http://wayback-fakeurl.archive.org/yt/${youtubeId}`
  // The redirect says enough: its target is the video itself.
  const answer = await ask({ url, method: 'HEAD', maxRedirects: 0 })
  const { status, headers } = answer
  if (status === 429 || status >= 500) throw refusal(status)
  if (status === 200 && /^video\//i.test(headers['content-type'] ?? ''))
    return { url, evidence: waybackEvidence(undefined) }
  const target = status >= 300 && status < 400 ? URL.parse(headers.location ?? '', url) : null
  // It redirects to /sry if there is none, or if it is down.
  const [, time] = /^\/web\/(\d{4,14})[a-z_]*\/./.exec(target?.pathname ?? '') ?? []
  if (target?.hostname !== 'web.archive.org' || time === undefined) return undefined
  return { url, evidence: waybackEvidence(time) }
}

/** Finds a copy of a file in the Wayback Machine. */
export async function findWaybackFile(ask: Ask, fileUrl: string): Promise<Replacement | undefined> {
  const answer = await ask({
    url: `https://archive.org/wayback/available?url=${encodeURIComponent(fileUrl)}`,
    headers: { accept: 'application/json' },
  })
  const closest = valueAt(readJson(answer), 'archived_snapshots', 'closest')
  // Captures of errors count there as well.
  if (valueAt(closest, 'available') !== true || `${valueAt(closest, 'status')}` !== '200')
    return undefined
  const url = urlAt(closest, 'url')
  const [, time] = /^\/web\/(\d{4,14})[a-z_]*\/./.exec(url?.pathname ?? '') ?? []
  if (url?.hostname !== 'web.archive.org' || time === undefined) return undefined
  url.protocol = 'https:'
  return { url: url.href, evidence: waybackEvidence(time) }
}

function waybackEvidence(time: string | undefined): string {
  const day = time?.replace(/^(\d{4})(\d\d)?(\d\d)?.*$/, (_, ...parts) =>
    parts.slice(0, 3).filter(Boolean).join('-'),
  )
  return `The Wayback Machine has a copy${day === undefined ? '' : ` of ${day}`}`
}

/** Parses JSON, whatever its type is called: the Wayback Machine calls it HTML at times. */
function readJson(answer: ProbeAnswer): unknown {
  const { status } = answer
  const json = parseJson(answer)
  if (status === 429 || status >= 500 || isPage(answer)) throw refusal(status)
  return status === 200 ? json : undefined
}

function refusal(status: number): OutboundError {
  return new OutboundError('unreachable', `archive.org does not answer (status ${status})`)
}
