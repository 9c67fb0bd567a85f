import { About } from './pages/about.tsx'
import { Collection } from './pages/collection.tsx'
import { Directory } from './pages/directory.tsx'
import { Embed, EmbedProblem } from './pages/embed.tsx'
import { Events } from './pages/events.tsx'
import { Follow } from './pages/follow.tsx'
import { Home } from './pages/home.tsx'
import { MyTalks } from './pages/my-talks.tsx'
import { ProblemPage } from './pages/problem.tsx'
import { Search } from './pages/search.tsx'
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
  directory: Directory,
  follow: Follow,
  about: About,
  myTalks: MyTalks,
  problem: ProblemPage,
}
