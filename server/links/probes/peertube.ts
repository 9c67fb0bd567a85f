import type { Probe, ProbedSource } from './probe.ts'
import { askHost, details, isJsonObject, parseJson, textAt, urlAt, valueAt } from './reading.ts'

// PeerTube by the API of the instance.

const published = 1

/** Returns the source of a URL of a PeerTube instance, which its path gives away. */
export function peertubeSource(url: URL): ProbedSource | undefined {
  const path =
    /^\/(?:videos\/(?:watch|embed)|w)\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[1-9A-HJ-NP-Za-km-z]{22})\/?$/
  const [, id] = path.exec(url.pathname) ?? []
  if (id === undefined || url.protocol !== 'https:') return undefined
  return { kind: 'peertube', host: url.hostname, id, url: url.href }
}

const name = 'The API of PeerTube'

export const peertube: Probe = {
  look(ask, { host, id }) {
    const url = `https://${host}/api/v1/videos/${id}`
    const request = { url, headers: { accept: 'application/json' } }
    return askHost(ask, request, { name, isJson: true }, (answer) => {
      const { status } = answer
      const evidence = `${name} answers ${status}`
      const json = parseJson(answer)
      // Its errors are JSON too: anything else is of another server, such as a proxy.
      if (!isJsonObject(json)) return undefined
      if (status === 404) return { verdict: 'gone', evidence }
      if (status === 401) {
        const hasPassword = valueAt(json, 'code') === 'video_requires_password'
        return { verdict: 'private', evidence: hasPassword ? `${evidence}: password` : evidence }
      }
      // The instance no longer follows the one that has the video.
      const origin = urlAt(json, 'originUrl')
      if (status === 403 && valueAt(json, 'code') === 'does_not_respect_follow_constraints')
        return origin && { verdict: 'moved', evidence, movedTo: origin.href }
      if (status !== 200 || typeof json.uuid !== 'string') return undefined
      const account = textAt(json, 100, 'account', 'name')
      const accountHost = textAt(json, 100, 'account', 'host')
      const found = details({
        owner: account && `${account}@${accountHost ?? host}`,
        title: textAt(json, 500, 'name'),
        seconds: json.duration,
      })
      const state = valueAt(json, 'state', 'id')
      // The state is at the end, which may have been cut.
      if (state === published || (state === undefined && answer.isCut))
        return { verdict: 'ok', evidence, ...found }
      return { verdict: 'odd', evidence: `${name} says that it is not published`, ...found }
    })
  },

  witness(ask, { host, id }) {
    const page = encodeURIComponent(`https://${host}/videos/watch/${id}`)
    const request = {
      url: `https://${host}/services/oembed?format=json&url=${page}`,
      headers: { accept: 'application/json' },
    }
    return askHost(ask, request, { name: 'oEmbed', isJson: true }, (answer) => {
      const { status } = answer
      const evidence = `oEmbed answers ${status}`
      if (!isJsonObject(parseJson(answer))) return undefined
      if (status === 200) return { verdict: 'ok', evidence }
      if (status === 404) return { verdict: 'gone', evidence }
      return status === 403 ? { verdict: 'private', evidence } : undefined
    })
  },
}
