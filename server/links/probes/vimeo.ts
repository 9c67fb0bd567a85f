import type { Ask, Probe, ProbedSource, ProbeResult } from './probe.ts'
import { askHost, details, isJsonObject, isPage, parseJson, textAt, urlAt } from './reading.ts'

// Vimeo by oEmbed. Its 404 means that a video is gone, or that it may be embedded in some sites
// only: the page of the player knows which.

/** Returns the source of a URL of Vimeo. */
export function vimeoSource(url: URL): ProbedSource | undefined {
  if (!isVimeo(url)) return undefined
  const path =
    /^\/(?:video\/|channels\/[\w-]+\/|groups\/[\w-]+\/videos\/|(?:album|showcase)\/\d+\/video\/)?(\d{1,12})(?:\/([\da-f]{6,32}))?\/?$/
  const [, id, inPath] = path.exec(url.pathname) ?? []
  if (id === undefined) return undefined
  // The hash gives access to an unlisted video.
  const hash = inPath ?? url.searchParams.get('h') ?? ''
  const part = /^[\da-f]{6,32}$/.test(hash) ? { part: hash } : {}
  return { kind: 'vimeo', host: 'vimeo.com', id, url: url.href, ...part }
}

/** Tells whether a URL leads to Vimeo. */
export function isVimeo({ hostname }: URL): boolean {
  return /^(www\.|player\.)?vimeo\.com$/.test(hostname)
}

const name = 'oEmbed'

export const vimeo: Probe = {
  look(ask, source) {
    const { id, part } = source
    const page = `https://vimeo.com/${id}${part === undefined ? '' : `/${part}`}`
    const url = `https://vimeo.com/api/oembed.json?url=${encodeURIComponent(page)}`
    const request = { url, headers: { accept: 'application/json' } }
    return askHost(ask, request, { name, isJson: true }, (answer) => {
      const { status } = answer
      const evidence = `${name} answers ${status}`
      if (status === 404) return lookAtPlayer(ask, source)
      if (isPage(answer)) return undefined
      if (status === 403) return { verdict: 'embed-off', evidence }
      const json = status === 200 ? parseJson(answer) : undefined
      if (!isJsonObject(json)) return undefined
      const found = details({
        owner: urlAt(json, 'author_url')?.pathname.slice(1),
        title: textAt(json, 500, 'title'),
        seconds: json.duration,
      })
      return json.domain_status_code === 403
        ? { verdict: 'embed-off', evidence: `${name} answers domain_status_code 403`, ...found }
        : { verdict: 'ok', evidence, ...found }
    })
  },

  witness: (ask, source) => askPlayer(ask, source),
}

/** Asks the player about a video for which oEmbed answers 404. */
async function lookAtPlayer(ask: Ask, source: ProbedSource): Promise<ProbeResult> {
  const result = await askPlayer(ask, source)
  const evidence = `${name} answers 404. ${result.evidence}`
  // The player shows what oEmbed does not know: no verdict for readers follows from that.
  return { ...result, evidence, verdict: result.verdict === 'ok' ? 'odd' : result.verdict }
}

const player = 'The player'
const privacyNotice = 'Because of its privacy settings, this video cannot be played here'

function askPlayer(ask: Ask, { id, part }: ProbedSource): Promise<ProbeResult> {
  const search = part === undefined ? '' : `?h=${part}`
  const url = `https://player.vimeo.com/video/${id}${search}`
  return askHost(ask, { url, headers: { accept: 'text/html' } }, { name: player }, (answer) => {
    const { status, body } = answer
    const evidence = `${player} answers ${status}`
    if (status === 200) return { verdict: 'ok', evidence }
    if (status === 404 || status === 410) return { verdict: 'gone', evidence }
    if (status === 403 && body.includes(privacyNotice))
      return { verdict: 'embed-off', evidence: `${player} plays in other sites only` }
    return undefined
  })
}
