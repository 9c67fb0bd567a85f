import type { ComponentChildren } from 'preact'
import { localeNames } from '../messages/messages.ts'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'
import { Footer } from './footer.tsx'
import { Header } from './header.tsx'
import { Loader } from './loader.tsx'
import { SiteLinks } from './site-links.tsx'

interface Props {
  readonly title: string
  readonly description?: string
  /** Canonical path of the page. Without it, the page is not indexed. */
  readonly canonical?: string
  /** The address of the page is for one person: it is neither indexed nor sent to other pages. */
  readonly isPrivate?: boolean
  /** Path of the page whose feeds are linked. */
  readonly feed?: string
  /** Open Graph data for link previews. */
  readonly preview?: {
    readonly type: 'website' | 'video.other' | 'profile'
    readonly picture?: string
  }
  /** CSS of this page only. */
  readonly style?: string | undefined
  /** Serialized JSON-LD blocks. */
  readonly jsonLd?: readonly string[] | undefined
  /** Path of the oEmbed document. */
  readonly oEmbed?: string
  /** A link before the content that skips to a part of it. */
  readonly skipTo?: { readonly id: string; readonly text: string }
  readonly name: string
  readonly children: ComponentChildren
}

/** The layout of every page. */
export function PageLayout(props: Props) {
  const view = useView()
  const { words } = view
  return (
    <html
      lang={view.locale}
      dir={localeNames[view.locale].dir}
      data-theme={view.theme === 'auto' ? undefined : view.theme}
    >
      <Head {...props} />
      <body
        class={`page-${props.name}`}
        data-base={view.base}
        data-words={JSON.stringify(forIslands(words))}
      >
        <a class="skip" href="#content">
          {words.skip}
        </a>
        {props.skipTo && (
          <a class="skip" href={`#${props.skipTo.id}`}>
            {props.skipTo.text}
          </a>
        )}
        <Header isSearch={props.name === 'home' || props.name === 'search'} />
        <main id="content" tabindex={-1}>
          {props.children}
        </main>
        <Footer />
      </body>
    </html>
  )
}

function Head(props: Props) {
  const view = useView()
  const { href } = view
  const title =
    props.title === view.site.name ? view.site.name : `${props.title} · ${view.site.name}`
  return (
    <head>
      <meta charset="utf-8" />
      <title>{title}</title>
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content={view.theme === 'auto' ? 'light dark' : view.theme} />
      <Loader src={href(view.assets.script)} />
      <link
        rel="stylesheet"
        href={href(view.assets.style)}
        referrerpolicy={props.isPrivate ? 'no-referrer' : undefined}
      />
      <SiteLinks view={view} isPrivate={props.isPrivate ?? false} />
      {props.style && <style>{props.style}</style>}
      <link
        rel="search"
        type="application/opensearchdescription+xml"
        title={view.site.name}
        href={href(paths.openSearch)}
      />
      {props.description && <meta name="description" content={props.description} />}
      {props.canonical === undefined ? (
        <meta name="robots" content={props.isPrivate ? 'noindex, nofollow' : 'noindex, follow'} />
      ) : (
        <link rel="canonical" href={(view.site.source ?? view.origin) + props.canonical} />
      )}
      <Feeds page={props.feed} title={title} />
      {props.oEmbed && (
        <link
          rel="alternate"
          type="application/json+oembed"
          href={href(props.oEmbed)}
          title={props.title}
        />
      )}
      <Preview {...props} />
      {props.jsonLd?.map((text) => (
        <script key={text} type="application/ld+json" dangerouslySetInnerHTML={{ __html: text }} />
      ))}
    </head>
  )
}

type Words = ReturnType<typeof useView>['words']

/** Picks the messages that scripts need, in the language of the page. */
function forIslands(words: Words) {
  return {
    suggestions: words.suggestions,
    scrollBack: words.scrollBack,
    scrollForward: words.scrollForward,
    launcher: words.launcher,
    launcherEmpty: words.launcherEmpty,
    launcherHint: words.launcherHint,
    keysTitle: words.keysTitle,
    keyOpen: words.keyOpen,
    keyHelp: words.keyHelp,
    keyClose: words.keyClose,
    close: words.close,
    copied: words.copied,
    keyPlay: words.keyPlay,
    keyBack: words.keyBack,
    keyMute: words.keyMute,
    keyFull: words.keyFull,
    keySpeed: words.keySpeed,
    keyCopy: words.keyCopy,
    keyEdit: words.keyEdit,
    events: words.events,
    speakers: words.speakers,
    tags: words.tags,
    talks: words.talksLabel,
  }
}

function Feeds({ page, title }: { page: string | undefined; title: string }) {
  const { href } = useView()
  if (page === undefined) return null
  return (
    <>
      <link
        rel="alternate"
        type="application/atom+xml"
        title={`${title} (Atom)`}
        href={href(paths.feed(page, 'atom'))}
      />
      <link
        rel="alternate"
        type="application/rss+xml"
        title={`${title} (RSS)`}
        href={href(paths.feed(page, 'rss'))}
      />
      <link
        rel="alternate"
        type="application/feed+json"
        title={`${title} (JSON)`}
        href={href(paths.feed(page, 'json'))}
      />
    </>
  )
}

function Preview({ title, description, canonical, preview }: Props) {
  const view = useView()
  if (!preview || canonical === undefined) return null
  return (
    <>
      <meta property="og:site_name" content={view.site.name} />
      <meta property="og:type" content={preview.type} />
      <meta property="og:title" content={title} />
      <meta property="og:url" content={view.origin + canonical} />
      {description && <meta property="og:description" content={description} />}
      {preview.picture && (
        <>
          <meta property="og:image" content={view.origin + preview.picture} />
          <meta property="og:image:width" content="1200" />
          <meta property="og:image:height" content="630" />
        </>
      )}
      <meta name="twitter:card" content={preview.picture ? 'summary_large_image' : 'summary'} />
    </>
  )
}
