import type { ProbeAnswer } from '../../platform/net/probe.ts'
import type { Ask, Probe, ProbedSource, ProbeResult } from './probe.ts'
import { askHost, isDoubtfulHead, isHome, isHtmlType, isPage, plainHost } from './reading.ts'

// Files and HLS streams: HEAD, and where that is no answer, the first bytes.

const extensions =
  /[^/]\.(m3u8|mp4|m4v|mov|webm|ogv|ogg|oga|opus|mp3|m4a|mkv|flv|avi|wmv|mpg|mpeg|ts|flac|wav)$/i

/** Returns the source of a URL whose path is that of a media file. */
export function fileSource(url: URL): ProbedSource | undefined {
  if (!extensions.test(url.pathname)) return undefined
  return { kind: 'file', host: url.hostname, id: url.href, url: url.href }
}

const name = 'The file'
const question = { name, mayMove: true }
const permanent = [301, 308]

export const file: Probe = {
  look: (ask, { url }) =>
    askHost(ask, { url, method: 'HEAD' }, question, (answer) => {
      const type = answer.headers['content-type']
      const isDoubtful = isDoubtfulHead(answer) || type === undefined || isHtmlType(type)
      return isDoubtful ? askForBytes(ask, url) : readFile(answer, url)
    }),

  witness: (ask, { url }) => askForBytes(ask, url),
}

function askForBytes(ask: Ask, url: string): Promise<ProbeResult> {
  return askHost(ask, { url, headers: { range: 'bytes=0-1' } }, question, (answer) =>
    readFile(answer, url),
  )
}

function readFile(answer: ProbeAnswer, url: string): ProbeResult | undefined {
  const { status, headers, finalUrl, redirects } = answer
  const evidence = `${name} answers ${status}`
  if (isHome(new URL(finalUrl)))
    return { verdict: 'odd', evidence: `${name} redirects to the home page` }
  if (status === 404 || status === 410) return { verdict: 'gone', evidence }
  if (status === 451) return { verdict: 'removed', evidence }
  // Storage services answer so for files that are not public. A captcha is a page.
  if (status === 401 || status === 403)
    return isPage(answer) ? undefined : { verdict: 'private', evidence }
  if (status !== 200 && status !== 206 && status !== 304) return undefined
  if (status !== 304 && (isHtmlType(headers['content-type']) || isPage(answer)))
    return { verdict: 'odd', evidence: `${name} is a page` }
  // Mirrors are temporary redirects.
  const isElsewhere = plainHost(new URL(finalUrl)) !== plainHost(new URL(url))
  if (isElsewhere && redirects.every((redirect) => permanent.includes(redirect.status)))
    return { verdict: 'moved', evidence: `${name} is at another host`, movedTo: finalUrl }
  return { verdict: 'ok', evidence }
}
