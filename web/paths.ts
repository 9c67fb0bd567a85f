import type { SitePage } from './site.ts'

// Paths of all pages, relative to the base path. Those of talks, categories and speakers are the
// same as in the previous archive, so that links from 2012 still work.

/** Entities that have a page with their talks. */
export type EntityPageKind = 'category' | 'speaker' | 'tag'

export interface Linked {
  readonly id: number
  readonly slug: string
}

/** Search parameters, with the same names as in the API. */
export const searchKeys = [
  'q',
  'category',
  'speaker',
  'tag',
  'language',
  'year',
  'duration',
  'spelling',
  'ordering',
  'page',
] as const
export type SearchKey = (typeof searchKeys)[number]
export type SearchState = Partial<Record<SearchKey, string>>

export const feedFormats = ['rss', 'atom', 'json'] as const
export type FeedFormat = (typeof feedFormats)[number]

export const pictureWidths = [320, 640, 1280] as const
export type PictureWidth = (typeof pictureWidths)[number]

/** The logo of an event or the picture of a speaker. */
export interface ProfilePicture {
  readonly kind: 'category' | 'speaker'
  readonly id: number
  /** Changes with the content of the picture. */
  readonly version: string
}

export const paths = {
  home: '/',
  /** Years, tags and languages on the home page. */
  browse: '/#browse',
  about: '/about',
  /** Talks whose recordings could be lost, and a table of all talks. */
  atRisk: '/at-risk',
  atRiskCsv: '/at-risk.csv',
  /** A page with a text of the operator. */
  sitePage: (page: SitePage) => `/${page}`,
  /** A picture or style sheet of the operator. */
  siteFile: (name: string) => `/site/${name}`,
  webManifest: '/site.webmanifest',
  /** The talks that the browser remembers. */
  myTalks: '/my-talks',
  openSearch: '/search/xml',
  talk: ({ id, slug }: Linked) => `/video/${id}/${slug}`,
  embed: (id: number) => `/embed/${id}`,
  /** The forms that suggest a correction of a talk, and a talk that is missing. */
  suggest: (talk: Linked) => `${paths.talk(talk)}/suggest`,
  suggestMissing: '/suggest',
  /** The outcome of a suggestion, for its author. */
  suggestion: (id: number | string, secret: string) => `/suggestion/${id}/${secret}`,
  replyToSuggestion: (id: number | string, secret: string) => `/suggestion/${id}/${secret}/reply`,
  removeSuggestionName: (id: number | string, secret: string) =>
    `/suggestion/${id}/${secret}/remove-name`,
  withdrawSuggestion: (id: number | string, secret: string) =>
    `/suggestion/${id}/${secret}/withdraw`,
  /** The talks of a speaker who has a link. */
  speakerLink: (secret: string) => `/confirm/${secret}`,
  speakerLinkTalk: (secret: string, id: number | string) => `/confirm/${secret}/talk/${id}`,
  record: (id: number) => `/api/v2/video/${id}?format=json`,
  list: (kind: EntityPageKind) => `/${kind}`,
  entity: (kind: EntityPageKind, { id, slug }: Linked) => `/${kind}/${id}/${slug}`,
  language: (slug: string) => `/language/${slug}`,
  year: (year: number | string) => `/year/${year}`,
  search: (state: SearchState = {}) => `/search${query(state)}`,
  /** The feed of a page with talks. The feed of the home page is below `/video`. */
  feed: (page: string, form: FeedFormat) => below(page, form),
  /** The schedule of an event, and the same as an iCalendar file. */
  schedule: (page: string) => below(page, 'schedule'),
  calendar: (page: string) => below(page, 'schedule.ics'),
  /** The page that offers the feeds of another page. */
  follow: (page: string) => below(page, 'follow'),
  /** With a version it can be cached for ever. */
  picture: (id: number, width: PictureWidth, version?: string) =>
    `/picture/${id}/${width}${version ? `?v=${version}` : ''}`,
  /** The same, but a generated cover has no title. */
  untitledPicture: (id: number, width: PictureWidth, version: string) =>
    `/picture/${id}/${width}-untitled?v=${version}`,
  /** Preview image for other sites, always a JPEG. */
  preview: (id: number, version: string) => `/picture/${id}/preview?v=${version}`,
  profilePicture: ({ kind, id, version }: ProfilePicture) => `/picture/${kind}/${id}?v=${version}`,
  /** A picture that an editor uploaded, by the SHA-256 of its content. */
  uploadedPicture: (hash: string) => `/picture/uploaded/${hash}.webp`,
  /** Stores preferences in cookies and redirects back. */
  prefer: '/prefer',
  oEmbed: '/oembed',
} as const

/** Pages for people who sign in. */
export const deskPaths = {
  home: '/desk',
  signIn: '/desk/sign-in',
  /** Asks for a sign-in link by mail, and shows the code of that link. */
  mailLink: '/desk/sign-in/mail',
  /** The page of a link that signs a person in. */
  link: (secret: string) => `/desk/link/${secret}`,
  linkCode: (secret: string) => `/desk/link/${secret}/code`,
  /** Forms that start a sign-in with an OpenID Connect provider, and the page that ends it. */
  openid: '/desk/openid',
  openidLink: (secret: string) => `/desk/link/${secret}/openid`,
  openidConfirm: '/desk/confirm/openid',
  openidConnect: '/desk/account/connect',
  openidCallback: '/desk/openid/callback',
  removeIdentity: '/desk/account/remove-identity',
  /** Asks for a passkey before a dangerous action. */
  confirm: '/desk/confirm',
  signOut: '/desk/sign-out',
  account: '/desk/account',
  addPasskey: '/desk/account/add-passkey',
  removePasskey: '/desk/account/remove-passkey',
  endSession: '/desk/account/end-session',
  endOtherSessions: '/desk/account/end-other-sessions',
  talks: '/desk/talks',
  bulkEdit: '/desk/edit',
  newTalk: '/desk/talk/new',
  talk: (id: number | string) => `/desk/talk/${id}`,
  /** The answer to questions about fields that both the editor and others changed. */
  talkMerge: (id: number | string) => `/desk/talk/${id}/merge`,
  /** Keeps what the editor has typed, and returns errors and previews. */
  talkPreview: (id: number | string) => `/desk/talk/${id}/preview`,
  talkPicture: (id: number | string) => `/desk/talk/${id}/picture`,
  talkCopy: (id: number | string) => `/desk/talk/${id}/copy`,
  /** Compares two records of the same talk and merges them. */
  mergeTalks: (id: number | string) => `/desk/talk/${id}/same`,
  unmerge: (id: number | string) => `/desk/talk/${id}/unmerge`,
  quality: '/desk/quality',
  qualityRule: (rule: number | string) => `/desk/quality/${rule}`,
  fixFindings: (rule: number | string) => `/desk/quality/${rule}/fix`,
  links: '/desk/links',
  checkSource: (id: number | string) => `/desk/links/${id}/check`,
  pinSource: (id: number | string) => `/desk/links/${id}/pin`,
  /** Decides for all sources of a host. */
  pinHost: '/desk/links/pin-host',
  acceptReplacement: (id: number | string) => `/desk/replacement/${id}/accept`,
  refuseReplacement: (id: number | string) => `/desk/replacement/${id}/refuse`,
  discardCopy: (id: number | string) => `/desk/talk/${id}/discard-copy`,
  cancelPublication: (id: number | string) => `/desk/talk/${id}/cancel-publication`,
  takedown: (id: number | string) => `/desk/talk/${id}/takedown`,
  people: '/desk/people',
  person: (id: number | string) => `/desk/people/${id}`,
  personLink: (id: number | string) => `/desk/people/${id}/link`,
  personEvents: (id: number | string) => `/desk/people/${id}/events`,
  personSessions: (id: number | string) => `/desk/people/${id}/end-sessions`,
  personDisabled: (id: number | string) => `/desk/people/${id}/disabled`,
  tokens: '/desk/tokens',
  revokeToken: '/desk/tokens/revoke',
  webhooks: '/desk/webhooks',
  webhook: (id: number | string) => `/desk/webhooks/${id}`,
  pingWebhook: (id: number | string) => `/desk/webhooks/${id}/ping`,
  webhookSecret: (id: number | string) => `/desk/webhooks/${id}/secret`,
  replayWebhook: (id: number | string) => `/desk/webhooks/${id}/replay`,
  enableWebhook: (id: number | string) => `/desk/webhooks/${id}/enable`,
  disableWebhook: (id: number | string) => `/desk/webhooks/${id}/disable`,
  deleteWebhook: (id: number | string) => `/desk/webhooks/${id}/delete`,
  suggestion: (id: number | string) => `/desk/suggestion/${id}`,
  acceptSuggestion: (id: number | string) => `/desk/suggestion/${id}/accept`,
  declineSuggestion: (id: number | string) => `/desk/suggestion/${id}/decline`,
  /** Undoes the decision about a suggestion. */
  reopenSuggestion: (id: number | string) => `/desk/suggestion/${id}/reopen`,
  audit: '/desk/audit',
  talkHistory: (id: number | string) => `/desk/talk/${id}/history`,
  revert: (id: number | string) => `/desk/talk/${id}/revert`,
  imports: '/desk/import',
  importPage: (id: number | string) => `/desk/import/${id}`,
  /** The refused rows of an import as CSV. */
  importRefused: (id: number | string) => `/desk/import/${id}/refused`,
  importDecide: (id: number | string) => `/desk/import/${id}/decide`,
  importDecideAll: (id: number | string) => `/desk/import/${id}/decide-all`,
  /** Answers that all talks are the records that they resemble. */
  importAcceptMatches: (id: number | string) => `/desk/import/${id}/same`,
  importApply: (id: number | string) => `/desk/import/${id}/apply`,
  importStop: (id: number | string) => `/desk/import/${id}/stop`,
  importUndo: (id: number | string) => `/desk/import/${id}/undo`,
  importRedo: (id: number | string) => `/desk/import/${id}/redo`,
  importDiscard: (id: number | string) => `/desk/import/${id}/discard`,
  matches: '/desk/match',
  match: (id: number | string) => `/desk/match/${id}`,
  matchDecide: (id: number | string) => `/desk/match/${id}/decide`,
  matchUndo: (id: number | string) => `/desk/match/${id}/undo`,
  matchPlan: (id: number | string) => `/desk/match/${id}/plan`,
  matchDiscard: (id: number | string) => `/desk/match/${id}/discard`,
  followedSources: '/desk/followed-sources',
  followedSource: (id: number | string) => `/desk/followed-sources/${id}`,
  fetchFollowedSource: (id: number | string) => `/desk/followed-sources/${id}/fetch`,
  pauseFollowedSource: (id: number | string) => `/desk/followed-sources/${id}/pause`,
  resumeFollowedSource: (id: number | string) => `/desk/followed-sources/${id}/resume`,
  deleteFollowedSource: (id: number | string) => `/desk/followed-sources/${id}/delete`,
  speakers: '/desk/speakers',
  mergeSpeakers: '/desk/speakers/merge',
  speaker: (slug: string) => `/desk/speaker/${slug}`,
  speakerProfile: (slug: string) => `/desk/speaker/${slug}/profile`,
  speakerPicture: (slug: string) => `/desk/speaker/${slug}/picture`,
  splitSpeaker: (slug: string) => `/desk/speaker/${slug}/split`,
  /** Changes a name for good. */
  speakerName: (slug: string) => `/desk/speaker/${slug}/name`,
  speakerLinks: (slug: string) => `/desk/speaker/${slug}/links`,
  closeSpeakerRequest: (id: number | string) => `/desk/speaker-request/${id}/close`,
  nameChange: (id: number | string) => `/desk/name-change/${id}`,
  /** Undoes a merge. The slug is that of the speaker who was merged. */
  unmergeSpeaker: (slug: string) => `/desk/speaker/${slug}/unmerge`,
  tags: '/desk/tags',
  mergeTags: '/desk/tags/merge',
  tag: (slug: string) => `/desk/tag/${slug}`,
  unmergeTag: (slug: string) => `/desk/tag/${slug}/unmerge`,
  events: '/desk/events',
  mergeEvents: '/desk/events/merge',
  event: (slug: string) => `/desk/event/${slug}`,
  eventProfile: (slug: string) => `/desk/event/${slug}/profile`,
  eventPicture: (slug: string) => `/desk/event/${slug}/picture`,
  unmergeEvent: (slug: string) => `/desk/event/${slug}/unmerge`,
} as const

/** The pages of speakers, tags and events by kind. */
export const deskEntityPaths = {
  speaker: {
    list: deskPaths.speakers,
    merge: deskPaths.mergeSpeakers,
    page: deskPaths.speaker,
    unmerge: deskPaths.unmergeSpeaker,
    profile: deskPaths.speakerProfile,
    picture: deskPaths.speakerPicture,
  },
  tag: {
    list: deskPaths.tags,
    merge: deskPaths.mergeTags,
    page: deskPaths.tag,
    unmerge: deskPaths.unmergeTag,
    profile: undefined,
    picture: undefined,
  },
  category: {
    list: deskPaths.events,
    merge: deskPaths.mergeEvents,
    page: deskPaths.event,
    unmerge: deskPaths.unmergeEvent,
    profile: deskPaths.eventProfile,
    picture: deskPaths.eventPicture,
  },
} as const

/**
 * Pages that every archive has and search engines should index. The sitemap lists them, and tests
 * visit each in every language.
 */
export const indexedPaths: readonly string[] = [
  paths.home,
  paths.about,
  paths.atRisk,
  paths.list('category'),
  paths.list('speaker'),
  paths.list('tag'),
]

/** Returns the path of a resource that belongs to a page. */
function below(page: string, name: string): string {
  const [path = '', search = ''] = page.split('?')
  return `${path === '/' ? '/video' : path}/${name}${search && `?${search}`}`
}

/** Builds the query in a fixed order and without empty values: each search has one URL. */
function query(state: SearchState): string {
  const params = searchKeys.flatMap((key) => (state[key] ? [[key, state[key]]] : []))
  return params.length > 0 ? `?${new URLSearchParams(params)}` : ''
}
