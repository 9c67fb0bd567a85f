import { call } from '../support/harness.ts'

// An archive whose records are payloads, in every field that the API takes; and every address where
// they can be seen.

export interface XssTarget {
  readonly path: string
  /**
   * Pages are looked at with their policy and without. What is no page has no policy to speak of.
   */
  readonly isPage: boolean
}

export interface Planted {
  readonly places: XssTarget[]
  /** Payloads that are in the archive now. */
  readonly count: number
  readonly refused: string[]
  /** A talk among them. */
  readonly talk: string
}

type Send = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; json: { id: number; slug: string }; text: string }>

export async function plant(
  url: string,
  token: string,
  payloads: readonly string[],
): Promise<Planted> {
  const send: Send = (method, path, body) =>
    call(url, method, path, { token, ...(body && { body }) })
  const places: XssTarget[] = []
  const refused: string[] = []
  let talk = ''
  for (const [at, payload] of payloads.entries()) {
    const planted = await plantOne(url, send, payload, at)
    if (typeof planted === 'string') refused.push(`${payload}: ${planted}`)
    else {
      places.push(...planted.places)
      talk ||= planted.talk
    }
  }
  const count = payloads.length - refused.length
  return { places: [...places, ...shared(count)], count, refused, talk }
}

async function plantOne(
  url: string,
  send: Send,
  payload: string,
  at: number,
): Promise<string | { places: XssTarget[]; talk: string }> {
  const category = await send('POST', '/api/v2/category', {
    title: payload,
    description: payload,
    url: within('https://example.org/', payload),
  })
  // One that differs in case only is there.
  if (category.status !== 201 && category.status !== 409) return category.text
  const word = `zebra${at}`
  const video = await send('POST', '/api/v2/video', {
    title: payload,
    category: payload,
    language: 'English',
    speakers: [payload],
    tags: [payload],
    summary: payload,
    description: `${word} ${payload}\n\n${payload}\n\n${payload} ${word}`,
    quality_notes: payload,
    copyright_text: payload,
    embed: payload,
    whiteboard: payload,
    source_url: within('https://www.youtube.com/watch?v=dQw4w9WgXcQ&x=', payload),
    thumbnail_url: within('https://example.org/', payload),
    video_mp4_url: within('https://files.example/', payload, '.mp4'),
    video_webm_url: within('https://tube.example/w/', payload),
    video_ogv_url: within('https://files.example/?', payload),
    video_ogv_download_only: true,
    video_flv_url: within('https://files.example/#', payload),
    recorded: '2020-02-02',
    duration: 600,
    state: 1,
  })
  if (video.status !== 201) return video.text
  const { id, slug } = video.json
  const facts = [
    { kind: 'media', url: payload, type: payload.slice(0, 100), size: 5 },
    {
      kind: 'media',
      url: within('https://files.example/', payload, '.webm') ?? payload,
      type: 'webm',
      size: 5,
    },
    { kind: 'related', url: payload, label: payload },
    {
      kind: 'related',
      url: within('https://example.org/', payload) ?? 'https://example.org/',
      label: payload,
    },
    { kind: 'address', path: payload },
    {
      kind: 'said',
      source: payload.slice(0, 100),
      field: payload.slice(0, 100),
      value: { [payload]: payload },
    },
  ]
  const attached = await send('PUT', `/api/v2/video/${id}/facts`, { facts })
  if (attached.status !== 200) return attached.text

  const path = `/video/${id}/${slug}`
  const html = await (await fetch(url + path, { headers: { accept: 'text/html' } })).text()
  const linked = (kind: string) =>
    new RegExp(`href="(/${kind}/\\d+/[^"]+)"`).exec(html)?.[1] ?? `/${kind}/0/x`
  const entities = ['category', 'speaker', 'tag'].map(linked)
  for (const [index, kind] of ['category', 'speaker', 'tag'].entries())
    await send('PATCH', `/api/v2/${kind}/${entities[index]?.split('/').at(-1)}`, {
      aliases: [{ name: `${payload} too`.slice(0, 255), shown: true }],
    })

  const asked = encodeURIComponent(payload)
  const isPage = true
  return {
    talk: path,
    places: [
      ...[path, `/embed/${id}`, ...entities, `/search?q=${word}`, `/api/v2/video/${id}`].map(
        (path) => ({ path, isPage }),
      ),
      ...[
        `/search?q=${asked}`,
        `/search?year=${asked}`,
        `/nowhere?x=${asked}`,
        `/speaker?character=${asked}`,
      ].map((path) => ({
        path,
        isPage,
      })),
      ...[
        `/api/v2/video/${id}?format=json`,
        `/api/v2/video/${id}/facts?format=json`,
        `/api/v2/suggest?format=json&q=${asked}`,
        ...entities.map((it, at) => `${it}/${['rss', 'atom', 'json'][at]}`),
        `/search/${['rss', 'atom', 'json'][at % 3]}?q=${word}`,
        `/oembed?format=json&url=${encodeURIComponent(url + path)}`,
        `/oembed?format=xml&url=${encodeURIComponent(url + path)}`,
        `/picture/${id}/1280`,
      ].map((path) => ({ path, isPage: false })),
    ],
  }
}

/** The payload as a part of an address, where there is such an address. */
function within(begin: string, payload: string, end = ''): string | null {
  const address = begin + payload.replaceAll(/\s/g, '') + end
  return URL.canParse(address) && address.length < 2000 ? address : null
}

/** Where many are at once. */
function shared(count: number): XssTarget[] {
  const pages = (path: string, size: number) =>
    Array.from(
      { length: Math.ceil(count / size) },
      (_, at) => `${path}${path.includes('?') ? '&' : '?'}page=${at + 1}`,
    )
  return [
    ...['/', '/about', '/category', '/speaker', '/tag', '/year/2020', '/language/english'].map(
      (path) => ({ path, isPage: true }),
    ),
    ...[
      ...pages('/speaker', 100),
      ...pages('/tag', 100),
      ...pages('/search', 20),
      ...pages('/search?ordering=title', 20),
    ].map((path) => ({
      path,
      isPage: true,
    })),
    ...['/video', '/category', '/year/2020', '/language/english']
      .flatMap((path) => ['rss', 'atom', 'json'].map((form) => `${path}/${form}`))
      .concat(
        '/sitemap.xml',
        '/robots.txt',
        '/search/xml',
        '/api/v2/export.ndjson',
        '/api/v2/video?format=json',
        '/api/v2/category?format=json',
      )
      .map((path) => ({ path, isPage: false })),
  ]
}
