import type { ComponentChildren } from 'preact'
import type { Talk } from '../data.ts'
import { localeNames } from '../messages/messages.ts'
import { Loader } from '../parts/loader.tsx'
import { Player } from '../parts/player.tsx'
import { SiteLinks } from '../parts/site-links.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'
import { messageStatus } from './problem.tsx'

/** The player alone, to embed in other sites. */
export function Embed({ talk, at }: { talk: Talk; at: number }) {
  const { origin } = useView()
  const address = origin + paths.talk(talk)
  return (
    <FramedPage title={talk.title} canonical={address} hasScript>
      <h1 class="embed-title">
        <a href={address} target="_blank" rel="noopener" dir="auto">
          {talk.title}
        </a>
      </h1>
      <Player talk={talk} at={at} isFramed />
    </FramedPage>
  )
}

/** What other sites show in place of a talk that does not exist or cannot be shown. */
export function EmbedProblem({ status }: { status: number }) {
  const { words, origin, site } = useView()
  const known = messageStatus(status, words)
  const text = known === 404 || known === 410 ? words.noTalk[known] : words.problemTitles[known]
  return (
    <FramedPage title={text}>
      <div class="player-failure">
        <h1>{text}</h1>
        <p>
          <a class="player-link" href={origin + paths.home} target="_blank" rel="noopener">
            {site.name}
          </a>
        </p>
      </div>
    </FramedPage>
  )
}

interface FramedPageProps {
  readonly title: string
  readonly canonical?: string
  readonly hasScript?: boolean
  readonly children: ComponentChildren
}

function FramedPage({ title, canonical, hasScript = false, children }: FramedPageProps) {
  const view = useView()
  const { href } = view
  return (
    <html lang={view.locale} dir={localeNames[view.locale].dir}>
      <head>
        <meta charset="utf-8" />
        <title>{title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        {canonical && <link rel="canonical" href={canonical} />}
        {hasScript && <Loader src={href(view.assets.script)} />}
        <link rel="stylesheet" href={href(view.assets.style)} />
        <SiteLinks view={view} />
      </head>
      <body class="page-embed" data-base={view.base}>
        <main>{children}</main>
      </body>
    </html>
  )
}
