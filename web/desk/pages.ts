import { type ComponentType, h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { Account } from './account.tsx'
import { Audit } from './audit.tsx'
import { BulkEditPage } from './bulk-edit.tsx'
import { Editor, MergeEdit, NewTalk, TakedownPage } from './editor.tsx'
import { Entities, MergeEntities } from './entities.tsx'
import { EntityPage, RenameEntity, SplitSpeaker, UnmergeEntity } from './entity.tsx'
import { FollowedSourcePage, FollowedSources } from './followed-sources.tsx'
import { History, RevertRefused } from './history.tsx'
import { DeskHome } from './home.tsx'
import { ImportPage } from './import.tsx'
import { Imports } from './imports.tsx'
import { Links } from './links.tsx'
import { MatchPage } from './match.tsx'
import { Matches } from './matches.tsx'
import { MergeTalks, OtherTalk } from './merge-talks.tsx'
import { NameChangePage, SpeakerName } from './name-change.tsx'
import { OpenidRefused, OpenidStart } from './openid.tsx'
import { LinkCreated, People, PersonPage } from './people.tsx'
import { Findings, Quality } from './quality.tsx'
import { Confirm, Forbidden, LinkPage, LinkRefused, MailSent, SignIn } from './sign-in.tsx'
import { SpeakerLinks } from './speaker-links.tsx'
import { SuggestionPage } from './suggestions.tsx'
import { Talks } from './talks.tsx'
import { Tokens } from './tokens.tsx'
import { DeskContext, type DeskView, prepareDeskView } from './view.ts'
import { WebhookPage, Webhooks } from './webhooks.tsx'

/** The component of each page of the desk, for `renderDeskPage`. */
export const deskPages = {
  home: DeskHome,
  suggestion: SuggestionPage,
  signIn: SignIn,
  mailSent: MailSent,
  link: LinkPage,
  linkRefused: LinkRefused,
  openidStart: OpenidStart,
  openidRefused: OpenidRefused,
  confirm: Confirm,
  forbidden: Forbidden,
  account: Account,
  talks: Talks,
  bulkEdit: BulkEditPage,
  editor: Editor,
  mergeEdit: MergeEdit,
  links: Links,
  quality: Quality,
  findings: Findings,
  mergeTalks: MergeTalks,
  otherTalk: OtherTalk,
  newTalk: NewTalk,
  takedown: TakedownPage,
  people: People,
  person: PersonPage,
  linkCreated: LinkCreated,
  tokens: Tokens,
  webhooks: Webhooks,
  webhook: WebhookPage,
  audit: Audit,
  history: History,
  revertRefused: RevertRefused,
  imports: Imports,
  import: ImportPage,
  matches: Matches,
  match: MatchPage,
  followedSources: FollowedSources,
  followedSource: FollowedSourcePage,
  entities: Entities,
  mergeEntities: MergeEntities,
  entity: EntityPage,
  renameEntity: RenameEntity,
  unmergeEntity: UnmergeEntity,
  splitSpeaker: SplitSpeaker,
  speakerName: SpeakerName,
  nameChange: NameChangePage,
  speakerLinks: SpeakerLinks,
}

/** Renders one of `deskPages` as a complete HTML document. */
export function renderDeskPage<Data extends object>(
  page: ComponentType<Data>,
  data: Data,
  view: DeskView,
): string {
  const root = h(DeskContext.Provider, { value: prepareDeskView(view), children: h(page, data) })
  return `<!doctype html>${renderToString(root)}`
}
