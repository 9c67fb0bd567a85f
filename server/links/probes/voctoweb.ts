import type { Probe, ProbedSource } from './probe.ts'
import { askHost, details, isJsonObject, parseJson, textAt, urlAt } from './reading.ts'

// Sites of voctoweb by their public API.

/** The hosts of the API, by the host of the site. */
const apis: ReadonlyMap<string, string> = new Map([['media.ccc.de', 'api.media.ccc.de']])

/** Returns the source of a talk at a site of voctoweb. */
export function voctowebSource(url: URL): ProbedSource | undefined {
  const host = apis.get(url.hostname.replace(/^www\./, ''))
  const [, slug] = /^\/v\/([\w.~%-]{1,300})\/?$/.exec(url.pathname) ?? []
  if (host === undefined || slug === undefined) return undefined
  return { kind: 'voctoweb', host, id: slug, url: url.href }
}

const name = 'The API of voctoweb'

export const voctoweb: Probe = {
  look(ask, { host, id }) {
    // The API takes the slug as well as the guid.
    const url = `https://${host}/public/events/${id}`
    const request = { url, headers: { accept: 'application/json' } }
    return askHost(ask, request, { name, isJson: true }, (answer) => {
      const { status } = answer
      const evidence = `${name} answers ${status}`
      const json = parseJson(answer)
      if (!isJsonObject(json)) return undefined
      if (status === 404) return { verdict: 'gone', evidence }
      if (status !== 200 || typeof json.guid !== 'string') return undefined
      const conference = urlAt(json, 'conference_url')?.pathname.split('/').at(-1)
      const found = details({
        owner: conference,
        title: textAt(json, 500, 'title'),
        seconds: json.duration,
      })
      const { recordings } = json
      const hasRecordings = Array.isArray(recordings) && recordings.length > 0
      // Recordings are at the end, which may have been cut.
      if (hasRecordings || (recordings === undefined && answer.isCut))
        return { verdict: 'ok', evidence, ...found }
      return { verdict: 'odd', evidence: `${name} has the talk, but no recording`, ...found }
    })
  },

  witness(ask, { host, id }) {
    const url = `https://${host.replace(/^api\./, '')}/v/${id}`
    return askHost(ask, { url, method: 'HEAD' }, { name: 'The page' }, ({ status }) => {
      const evidence = `The page answers ${status}`
      if (status === 200) return { verdict: 'ok', evidence }
      return status === 404 || status === 410 ? { verdict: 'gone', evidence } : undefined
    })
  },
}
