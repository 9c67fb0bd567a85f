import type { Ask, Probe, ProbedSource, ProbeResult } from './probe.ts'
import { askHost, details, isJsonObject, isPage, parseJson, textAt, urlAt } from './reading.ts'

// YouTube by oEmbed, which its robots.txt allows and which needs no key. It takes URLs with
// `watch?v=` only. `youtube-api.ts` asks the Data API.

/** Returns the source of a URL of YouTube. */
export function youtubeSource(url: URL): ProbedSource | undefined {
  const id = videoId(url)
  if (id === undefined || !/^[\w-]{11}$/.test(id)) return undefined
  return { kind: 'youtube', host: 'www.youtube.com', id, url: url.href }
}

/** Tells whether a URL leads to YouTube: its other pages answer 200 for whatever is gone. */
export function isYoutube({ hostname }: URL): boolean {
  return /^([a-z]+\.)?(youtube(-nocookie)?\.com|youtu\.be)$/.test(hostname)
}

function videoId(url: URL): string | undefined {
  if (!isYoutube(url)) return undefined
  const [first = '', second = ''] = url.pathname.slice(1).split(/[/&]/)
  if (/^([a-z]+\.)?youtu\.be$/.test(url.hostname)) return first
  if (first === 'watch' && second === '') return url.searchParams.get('v') ?? undefined
  return /^(embed|shorts|live|v|e|watch)$/.test(first) ? second : undefined
}

export const youtube: Probe = {
  look: (ask, { id }) => lookByOembed(ask, id),

  // Removed videos keep their thumbnail sometimes; private ones have none.
  witness: (ask, { id }) =>
    askHost(
      ask,
      { url: `https://img.youtube.com/vi/${id}/0.jpg`, method: 'HEAD' },
      { name: 'The thumbnail' },
      ({ status }) => {
        if (status === 200) return { verdict: 'ok', evidence: 'The thumbnail is there' }
        if (status === 404) return { verdict: 'gone', evidence: 'The thumbnail answers 404' }
        return undefined
      },
    ),
}

const name = 'oEmbed'

/** Looks for a video without a key. */
export function lookByOembed(ask: Ask, id: string): Promise<ProbeResult> {
  const watch = encodeURIComponent(`https://www.youtube.com/watch?v=${id}`)
  const url = `https://www.youtube.com/oembed?format=json&url=${watch}`
  return askHost(
    ask,
    { url, headers: { accept: 'application/json' } },
    { name, isJson: true },
    (answer) => {
      const { status, body } = answer
      const evidence = `${name} answers ${status}`
      if (status === 200) {
        // YouTube once sent this instead of status 403.
        if (body.trim() === 'Forbidden')
          return { verdict: 'private', evidence: `${name} answers 200 Forbidden` }
        const json = parseJson(answer)
        if (!isJsonObject(json) || typeof json.title !== 'string') return undefined
        const owner = ownerOf(urlAt(json, 'author_url'))
        return { verdict: 'ok', evidence, ...details({ owner, title: textAt(json, 500, 'title') }) }
      }
      // What is meant for people is no answer about a video.
      if (isPage(answer)) return undefined
      if (status === 401) return { verdict: 'embed-off', evidence }
      if (status === 403) return { verdict: 'private', evidence }
      // In 2022 also 400, for videos that do not exist.
      if (status === 404 || status === 400) return { verdict: 'gone', evidence }
      return undefined
    },
  )
}

/** Returns the id of a channel, or its handle where the URL has no id. */
function ownerOf(url: URL | undefined): string | undefined {
  if (!url || !isYoutube(url)) return undefined
  const [, channel] = /^\/channel\/(UC[\w-]{22})$/.exec(url.pathname) ?? []
  return channel ?? decodedPath(url)
}

function decodedPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname.slice(1))
  } catch {
    return pathname.slice(1)
  }
}
