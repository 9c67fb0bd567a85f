import type { FollowedSources } from '../followed-sources/followed-sources.ts'
import type { ImportPlanner } from '../imports/imports.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Matches } from '../matches/matches.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { accountPages } from './account.ts'
import { auditPage } from './audit.ts'
import { bulkEditPages } from './bulk-edit.ts'
import { entityDeskPages } from './entities.ts'
import { followedSourcePages } from './followed-sources.ts'
import { historyPages } from './history.ts'
import { importPages } from './imports.ts'
import { inboxPage } from './inbox.ts'
import { linkPages } from './links.ts'
import { matchPages } from './matches.ts'
import { mergeTalksPages } from './merge-talks.ts'
import { type DeskSite, openDesk } from './mount.ts'
import { nameChangePages } from './name-changes.ts'
import { openidPages } from './openid.ts'
import { peoplePages } from './people.ts'
import { previewPages } from './preview.ts'
import { qualityPages } from './quality.ts'
import { signInPages } from './sign-in.ts'
import { speakerLinkPages } from './speaker-links.ts'
import { suggestionPages } from './suggestions.ts'
import { talkPages } from './talk.ts'
import { talkListPage } from './talks.ts'
import { tokenPages } from './tokens.ts'
import { webhookPages } from './webhooks.ts'

/** Mounts the pages for people who sign in. */
export function deskRoutes(
  deskSite: DeskSite,
  markdown: Markdown,
  pictures: Pictures,
  imports: {
    readonly planner: ImportPlanner
    readonly runner: JobRunner
    readonly matches: Matches
  },
  { renames, nameChanges }: { readonly renames: JobRunner; readonly nameChanges: JobRunner },
  webhooks: Webhooks,
  sources: {
    readonly followedSources: FollowedSources
    /** Undefined if this process checks no links. */
    readonly linkChecks: Pick<JobRunner, 'wake'> | undefined
  },
): void {
  const { pool, site, mailer, provider, forget } = deskSite
  const desk = openDesk(deskSite)
  signInPages(desk, pool, site, mailer, provider?.name)
  openidPages(desk, pool, site, provider)
  accountPages(desk, pool, site.name, provider?.name)
  talkListPage(desk, pool)
  bulkEditPages(desk, pool, imports.planner)
  talkPages(desk, pool, forget, markdown)
  previewPages(desk, pool, markdown, site, pictures)
  peoplePages(desk, pool, site, mailer)
  tokenPages(desk, pool)
  webhookPages(desk, pool, webhooks)
  auditPage(desk, pool)
  historyPages(desk, pool, forget)
  mergeTalksPages(desk, pool, forget)
  qualityPages(desk, pool, forget)
  importPages(desk, pool, imports.planner, imports.runner)
  matchPages(desk, pool, imports.matches, imports.planner)
  followedSourcePages(desk, sources.followedSources)
  linkPages(desk, pool, sources.linkChecks, forget)
  inboxPage(desk, pool)
  suggestionPages(desk, pool, forget)
  entityDeskPages({ desk, pool, forget, jobRunner: renames, pictures, site })
  nameChangePages(desk, pool, nameChanges)
  speakerLinkPages(desk, pool, site)
}
