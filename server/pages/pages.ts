// Entry point of pages, for features with pages of their own.
export { talkIdIn, talkPage } from './talk.ts'
export { buildView, localPath, type PageSite, pageHeaders, parseCookies } from './view.ts'
