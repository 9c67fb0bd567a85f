import type { SourceKind } from '@talkshelf/contract'
import { archiveOrg, archiveOrgSource } from './archive-org.ts'
import { file, fileSource } from './file.ts'
import { page, pageSource } from './page.ts'
import { peertube, peertubeSource } from './peertube.ts'
import type { Ask, Probe, ProbedSource, ProbeResult } from './probe.ts'
import { parseUrl } from './reading.ts'
import { isVimeo, vimeo, vimeoSource } from './vimeo.ts'
import { voctoweb, voctowebSource } from './voctoweb.ts'
import { isYoutube, youtube, youtubeSource } from './youtube.ts'

// The kinds of sources, and how each is asked.

export { type Ask, HostRefused, type ProbedSource, type ProbeResult } from './probe.ts'
export { isRefusal, waitOf } from './reading.ts'
export { lookAtMany, maxIdsOfCall } from './youtube-api.ts'

const probes: Readonly<Record<SourceKind, Probe>> = {
  youtube,
  vimeo,
  peertube,
  voctoweb,
  'archive.org': archiveOrg,
  file,
  page,
}

const recognizers = [
  youtubeSource,
  vimeoSource,
  archiveOrgSource,
  peertubeSource,
  voctowebSource,
  fileSource,
]

/**
 * Tells what the URL of a source is and whom to ask about it. Returns undefined if nobody can be
 * asked: for URLs with another port or a password, and for pages of YouTube and Vimeo that are no
 * videos, because these hosts answer 200 for whatever is gone.
 */
export function identify(address: string): ProbedSource | undefined {
  const url = parseUrl(address)
  if (url?.port !== '') return undefined
  url.hash = ''
  for (const recognize of recognizers) {
    const source = recognize(url)
    if (source) return source
  }
  return isYoutube(url) || isVimeo(url) ? undefined : pageSource(url)
}

/**
 * Asks whether a source is there, with one request, or two where the first answer is ambiguous.
 * Rejects only with errors of `ask` other than OutboundError.
 */
export function look(ask: Ask, source: ProbedSource): Promise<ProbeResult> {
  return probes[source.kind].look(ask, source)
}

/** Asks a second, independent question about a source: `ok`, an away verdict, or undecided. */
export function witness(ask: Ask, source: ProbedSource): Promise<ProbeResult> {
  return probes[source.kind].witness(ask, source)
}
