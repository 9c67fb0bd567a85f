// Entry point of the package: renders pages from data.

export { accentColours } from './colour.ts'
export * from './data.ts'
export { type DataLicence, licenceId, licenceNotice, parseDataLicence } from './data-licence.ts'
export {
  type BulkEditData,
  type OperationErrors,
  operationRows,
  parseOperation,
  type TalkSelection,
} from './desk/bulk-edit.tsx'
export type { EditorData, Neighbours } from './desk/editor.tsx'
export type { EntityList, PreviewedTalk, TalkPreview } from './desk/entities.tsx'
export {
  type EntityNames,
  type EntityPageData,
  mergeErrors,
  type SplitData,
} from './desk/entity.tsx'
export {
  type ProfileField,
  type ProfileValues,
  pictureFields,
  profileFields,
  removePicture,
} from './desk/entity-profile.tsx'
export type { FollowedSourceErrors, FollowedSourceValues } from './desk/followed-sources.tsx'
export type { ImportPageData } from './desk/import.tsx'
export {
  type ImportView,
  importViews,
  type TalkChange,
  type TalkRow,
} from './desk/import-talks.tsx'
export type { ImportFormData, ImportFormErrors } from './desk/imports.tsx'
export { type LinkFilter, type LinksData, linkQuery } from './desk/links.tsx'
export { invitationMail, signInMail } from './desk/mail.ts'
export type { MatchPageData } from './desk/match.tsx'
export type { MatchFormData } from './desk/matches.tsx'
export type { MergeChoice, MergeTalksData } from './desk/merge-talks.tsx'
export { deskPages, renderDeskPage } from './desk/pages.ts'
export { type FixableFinding, findingsQuery } from './desk/quality.tsx'
export type { ServerText } from './desk/server-text.ts'
export type { SuggestionPageData } from './desk/suggestions.tsx'
export {
  changedValues,
  parseDuration,
  type TalkField,
  type TalkValues,
  talkFields,
  talkValues,
  toText,
} from './desk/talk-values.ts'
export {
  type ListedTalk,
  type TalkList,
  type TalksData,
  talkColumns,
  talkListQuery,
} from './desk/talks.tsx'
export type { DeskView } from './desk/view.ts'
export type { WebhookErrors, WebhookValues } from './desk/webhooks.tsx'
export { embedCode, embedSize } from './embed-code.ts'
export { loaderScript } from './loader.ts'
export { markdownParts, plainHtml, renderMarkdownPart } from './markdown.ts'
export { chooseLocale, type Locale, locales } from './messages/messages.ts'
export { pages } from './pages.ts'
export { bannerStyle } from './parts/profile.tsx'
export * from './paths.ts'
export { renderPage } from './render.ts'
export * from './site.ts'
export { renderSiteText } from './site-markdown.ts'
export { findSources, sourcePolicy } from './sources.ts'
export { formatTimecode, parseTimecode } from './timecode.ts'
export { type Theme, themes, type View } from './view.ts'
