import type { FollowData } from '../data.ts'
import { PageLayout } from '../parts/page.tsx'
import { type FeedFormat, paths } from '../paths.ts'
import { useView } from '../view.ts'

/** Explains the feeds of a page, and offers their addresses. */
export function Follow({ kind, name, code, page }: FollowData) {
  const view = useView()
  const { words, href } = view
  const subjects = {
    home: () => view.site.name,
    events: () => words.events,
    search: () => (name ? words.resultsFor(name) : words.allTalks),
    ...words.titles,
  }
  const subject = subjects[kind](code ? view.language(code, name) : name)
  return (
    <PageLayout name="follow" title={words.followTitle(subject)} feed={page}>
      <header class="collection-head">
        <h1>{words.followTitle(subject)}</h1>
        <p>{kind === 'events' ? words.followEvents : words.followTalks}</p>
        <p>{words.followHow}</p>
      </header>
      <ul class="plain feed-choices">
        {choices.map((format) => (
          <li key={format}>
            <h2>{feedNames[format]}</h2>
            <p>{words.feedUses[format]}</p>
            <p class="feed-address">
              <a id={`feed-${format}`} href={href(paths.feed(page, format))}>
                {view.origin + paths.feed(page, format)}
              </a>
            </p>
            <button type="button" class="button with-scripts" data-copy-text={`feed-${format}`}>
              {words.copyAddress} <span class="unseen">{feedNames[format]}</span>
            </button>
          </li>
        ))}
      </ul>
      <p>
        <a href={href(page)}>{words.back}</a>
      </p>
    </PageLayout>
  )
}

/** The most useful one first. */
const choices: readonly FeedFormat[] = ['atom', 'rss', 'json']

const feedNames: Record<FeedFormat, string> = { atom: 'Atom', rss: 'RSS', json: 'JSON Feed' }
