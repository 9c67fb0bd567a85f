import { call } from '../support/harness.ts'

// An archive whose records are payloads, in every field that the API accepts; and every URL where
// they are shown.

export interface XssTarget {
  readonly path: string
  /** Pages are tested with their content security policy and without. */
  readonly isPage: boolean
}

export interface PlantedPayloads {
  readonly targets: XssTarget[]
  /** How many payloads are in the archive. */
  readonly count: number
  readonly refused: string[]
  /** The path of one of the talks. */
  readonly talk: string
}

type Send = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; json: { id: number; slug: string }; text: string }>

/** Writes a category, a talk and facts for each payload, and returns where they are shown. */
export async function plant(
  url: string,
  token: string,
  payloads: readonly string[],
): Promise<PlantedPayloads> {
  const send: Send = (method, path, body) =>
    call(url, method, path, { token, ...(body && { body }) })
  const targets: XssTarget[] = []
  const refused: string[] = []
  let talk = ''
  for (const [index, payload] of payloads.entries()) {
    const planted = await plantOne(url, send, payload, index)
    if (typeof planted === 'string') refused.push(`${payload}: ${planted}`)
    else {
      targets.push(...planted.targets)
      talk ||= planted.talk
    }
  }
  const count = payloads.length - refused.length
  return { targets: [...targets, ...sharedTargets(count)], count, refused, talk }
}

/** Returns the text of the answer if the API refuses the payload. */
async function plantOne(
  url: string,
  send: Send,
  payload: string,
  index: number,
): Promise<string | { targets: XssTarget[]; talk: string }> {
  const category = await send('POST', '/api/v2/category', {
    title: payload,
    description: payload,
    url: urlWith('https://example.org/', payload),
    ...eventProfileOf(payload),
  })
  // 409: there is a category that differs in case only.
  if (category.status !== 201 && category.status !== 409) return category.text
  const word = `zebra${index}`
  const video = await send('POST', '/api/v2/video', videoOf(payload, word))
  if (video.status !== 201) return video.text
  const { id, slug } = video.json
  const attached = await send('PUT', `/api/v2/video/${id}/facts`, { facts: factsOf(payload) })
  if (attached.status !== 200) return attached.text

  const path = `/video/${id}/${slug}`
  const html = await (await fetch(url + path, { headers: { accept: 'text/html' } })).text()
  const linked = (kind: string) =>
    new RegExp(`href="(/${kind}/\\d+/[^"]+)"`).exec(html)?.[1] ?? `/${kind}/0/x`
  const kinds = ['category', 'speaker', 'tag']
  const entities = kinds.map(linked)
  for (const [index, kind] of kinds.entries())
    await send('PATCH', `/api/v2/${kind}/${entities[index]?.split('/').at(-1)}`, {
      aliases: [{ name: `${payload} too`.slice(0, 255), shown: true }],
      ...(kind === 'speaker' && speakerProfileOf(payload)),
    })
  return { talk: path, targets: targetsOf({ url, id, path, entities, payload, word, index }) }
}

function videoOf(payload: string, word: string): object {
  return {
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
    source_url: urlWith('https://www.youtube.com/watch?v=dQw4w9WgXcQ&x=', payload),
    thumbnail_url: urlWith('https://example.org/', payload),
    video_mp4_url: urlWith('https://files.example/', payload, '.mp4'),
    video_webm_url: urlWith('https://tube.example/w/', payload),
    video_ogv_url: urlWith('https://files.example/?', payload),
    video_ogv_download_only: true,
    video_flv_url: urlWith('https://files.example/#', payload),
    recorded: '2020-02-02',
    duration: 600,
    state: 1,
  }
}

function eventProfileOf(payload: string): object {
  return {
    city: shortened(payload, 100),
    series: shortened(payload, 255),
    colour: '#123456',
    logo_url: urlWith('https://example.org/', payload),
    links: linksOf(payload),
  }
}

function speakerProfileOf(payload: string): object {
  return {
    description: payload,
    pronouns: shortened(payload, 50),
    picture_url: urlWith('https://example.org/', payload),
    links: linksOf(payload),
  }
}

const shortened = (payload: string, length: number) =>
  payload.trim().slice(0, length).toWellFormed().trim() || null

function linksOf(payload: string): object[] {
  const urls = [urlWith('https://example.org/', payload), urlWith('https://example.org/#', payload)]
  return urls.flatMap((url) => (url ? [{ kind: 'other', url }] : []))
}

function factsOf(payload: string): object[] {
  return [
    { kind: 'media', url: payload, type: payload.slice(0, 100), size: 5 },
    {
      kind: 'media',
      url: urlWith('https://files.example/', payload, '.webm') ?? payload,
      type: 'webm',
      size: 5,
    },
    { kind: 'related', url: payload, label: payload },
    {
      kind: 'related',
      url: urlWith('https://example.org/', payload) ?? 'https://example.org/',
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
}

interface PlantedTalk {
  readonly url: string
  readonly id: number
  readonly path: string
  /** The paths of its category, its speaker and its tag. */
  readonly entities: readonly string[]
  readonly payload: string
  /** A word that no other talk has. */
  readonly word: string
  readonly index: number
}

function targetsOf({ url, id, path, entities, payload, word, index }: PlantedTalk): XssTarget[] {
  const encoded = encodeURIComponent(payload)
  const talkUrl = encodeURIComponent(url + path)
  const feeds = ['rss', 'atom', 'json']
  const pages = [
    path,
    `/embed/${id}`,
    ...entities,
    `/search?q=${word}`,
    `/api/v2/video/${id}`,
    `/search?q=${encoded}`,
    `/search?year=${encoded}`,
    `/nowhere?x=${encoded}`,
    `/speaker?character=${encoded}`,
  ]
  const others = [
    `/api/v2/video/${id}?format=json`,
    `/api/v2/video/${id}/facts?format=json`,
    `/api/v2/suggest?format=json&q=${encoded}`,
    ...entities.map((entity, number) => `${entity}/${feeds[number]}`),
    `/search/${feeds[index % 3]}?q=${word}`,
    `/oembed?format=json&url=${talkUrl}`,
    `/oembed?format=xml&url=${talkUrl}`,
    `/picture/${id}/1280`,
  ]
  return [
    ...pages.map((path) => ({ path, isPage: true })),
    ...others.map((path) => ({ path, isPage: false })),
  ]
}

/** Returns a URL that contains the payload, or null if that is not a URL. */
function urlWith(begin: string, payload: string, end = ''): string | null {
  const url = begin + payload.replaceAll(/\s/g, '') + end
  return URL.canParse(url) && url.length < 2000 ? url : null
}

/** Returns pages, feeds and files that show many payloads at once. */
function sharedTargets(count: number): XssTarget[] {
  const pagesOf = (path: string, size: number) =>
    Array.from(
      { length: Math.ceil(count / size) },
      (_, index) => `${path}${path.includes('?') ? '&' : '?'}page=${index + 1}`,
    )
  const pages = [
    '/',
    '/about',
    '/category',
    '/speaker',
    '/tag',
    '/year/2020',
    '/language/english',
    ...pagesOf('/speaker', 100),
    ...pagesOf('/tag', 100),
    ...pagesOf('/search', 20),
    ...pagesOf('/search?ordering=title', 20),
  ]
  const others = [
    ...['/video', '/category', '/year/2020', '/language/english'].flatMap((path) =>
      ['rss', 'atom', 'json'].map((format) => `${path}/${format}`),
    ),
    '/sitemap.xml',
    '/robots.txt',
    '/search/xml',
    '/api/v2/export.ndjson',
    '/api/v2/video?format=json',
    '/api/v2/category?format=json',
  ]
  return [
    ...pages.map((path) => ({ path, isPage: true })),
    ...others.map((path) => ({ path, isPage: false })),
  ]
}
