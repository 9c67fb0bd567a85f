import { About } from './pages/about.tsx'
import { AtRisk } from './pages/at-risk.tsx'
import { Collection } from './pages/collection.tsx'
import { Directory } from './pages/directory.tsx'
import { Embed, EmbedProblem } from './pages/embed.tsx'
import { Events } from './pages/events.tsx'
import { Follow } from './pages/follow.tsx'
import { Home } from './pages/home.tsx'
import { MyTalks } from './pages/my-talks.tsx'
import { ProblemPage } from './pages/problem.tsx'
import { SchedulePage } from './pages/schedule.tsx'
import { Search } from './pages/search.tsx'
import { SiteTextPage } from './pages/site-page.tsx'
import { SpeakerLinkPage, SpeakerLinkTalk } from './pages/speaker-link.tsx'
import { FollowedSuggestion, SameSuggestion, Suggest } from './pages/suggest.tsx'
import { TalkPage } from './pages/talk.tsx'

/** The component of each page, for `renderPage`. */
export const pages = {
  home: Home,
  search: Search,
  talk: TalkPage,
  embed: Embed,
  embedProblem: EmbedProblem,
  collection: Collection,
  events: Events,
  schedule: SchedulePage,
  directory: Directory,
  follow: Follow,
  about: About,
  atRisk: AtRisk,
  siteText: SiteTextPage,
  myTalks: MyTalks,
  suggest: Suggest,
  sameSuggestion: SameSuggestion,
  followedSuggestion: FollowedSuggestion,
  speakerLink: SpeakerLinkPage,
  speakerLinkTalk: SpeakerLinkTalk,
  problem: ProblemPage,
}
