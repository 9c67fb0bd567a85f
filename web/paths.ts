// Where everything is, below the address of the archive. The addresses of talks, categories and
// speakers are those of the archive before this one: links of 2012 still lead somewhere.

/** What has a page with talks. */
export type EntityPageKind = 'category' | 'speaker' | 'tag'

export interface Linked {
  readonly id: number
  readonly slug: string
}

/** What a search can be narrowed by; the names are those of the API. */
export const searchKeys = [
  'q',
  'category',
  'speaker',
  'tag',
  'language',
  'year',
  'duration',
  'ordering',
  'page',
] as const
export type SearchKey = (typeof searchKeys)[number]
export type SearchState = Partial<Record<SearchKey, string>>

export const feedFormats = ['rss', 'atom', 'json'] as const
export type FeedFormat = (typeof feedFormats)[number]

export const pictureWidths = [320, 640, 1280] as const
export type PictureWidth = (typeof pictureWidths)[number]

export const paths = {
  home: '/',
  about: '/about',
  openSearch: '/search/xml',
  talk: ({ id, slug }: Linked) => `/video/${id}/${slug}`,
  embed: (id: number) => `/embed/${id}`,
  record: (id: number) => `/api/v2/video/${id}?format=json`,
  list: (kind: EntityPageKind) => `/${kind}`,
  entity: (kind: EntityPageKind, { id, slug }: Linked) => `/${kind}/${id}/${slug}`,
  language: (slug: string) => `/language/${slug}`,
  year: (year: number | string) => `/year/${year}`,
  search: (state: SearchState = {}) => `/search${query(state)}`,
  /** The feed of a page with talks. `/video` stands for the whole catalogue. */
  feed: (page: string, form: FeedFormat) => {
    const [path = '', asked = ''] = page.split('?')
    return `${path === '/' ? '/video' : path}/${form}${asked && `?${asked}`}`
  },
  /** With a version it may be kept for ever. */
  picture: (id: number, width: PictureWidth, version?: string) =>
    `/picture/${id}/${width}${version ? `?v=${version}` : ''}`,
  /** For other sites that show a link to a talk: always a JPEG. */
  preview: (id: number, version: string) => `/picture/${id}/preview?v=${version}`,
  /** Sets what a reader prefers, and leads back. */
  prefer: '/prefer',
  oEmbed: '/oembed',
} as const

/** In one order, and without what is empty: one search has one address. */
function query(state: SearchState): string {
  const given = searchKeys.flatMap((key) => (state[key] ? [[key, state[key]]] : []))
  return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
}
