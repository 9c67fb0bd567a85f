import type { Talk } from '../data.ts'
import { localeNames } from '../messages/messages.ts'
import { Player } from '../parts/player.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** The player alone, to embed in other sites. */
export function Embed({ talk, at }: { talk: Talk; at: number }) {
  const view = useView()
  const { href } = view
  return (
    <html lang={view.locale} dir={localeNames[view.locale].dir}>
      <head>
        <meta charset="utf-8" />
        <title>{talk.title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="canonical" href={view.origin + paths.talk(talk)} />
        <link rel="icon" href={href('/favicon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={href(view.assets.style)} />
        <script type="module" src={href(view.assets.script)} nonce={view.nonce} />
      </head>
      <body class="page-embed" data-base={view.base}>
        <main>
          <h1 class="embed-title">
            <a href={view.origin + paths.talk(talk)} target="_blank" rel="noopener" dir="auto">
              {talk.title}
            </a>
          </h1>
          <Player talk={talk} at={at} isFramed />
        </main>
      </body>
    </html>
  )
}
