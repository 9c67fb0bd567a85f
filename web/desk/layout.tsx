import type { ComponentChildren } from 'preact'
import { localeNames } from '../messages/messages.ts'
import { ShelfIcon } from '../parts/icons.tsx'
import { Loader } from '../parts/loader.tsx'
import { Brand, SiteLinks } from '../parts/site-links.tsx'
import { deskPaths, paths } from '../paths.ts'
import { Form } from './form.tsx'
import { useDesk } from './view.ts'

interface Props {
  readonly title: string
  /** The URL of another site, to which the browser goes at once. */
  readonly refreshTo?: string
  /** The page that browsers without scripts load again every few seconds. */
  readonly refresh?: string | undefined
  readonly children: ComponentChildren
}

/** The layout of every page of the desk. */
export function DeskLayout({ title, refreshTo, refresh, children }: Props) {
  const view = useDesk()
  const { words, href, done } = view
  const notice = done && Object.hasOwn(words.done, done) ? words.done[done] : undefined
  return (
    <html
      lang={view.locale}
      dir={localeNames[view.locale].dir}
      data-theme={view.theme === 'auto' ? undefined : view.theme}
    >
      <head>
        <meta charset="utf-8" />
        <title>{`${title} · ${view.site.name}`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={view.theme === 'auto' ? 'light dark' : view.theme} />
        {refreshTo !== undefined && <meta http-equiv="refresh" content={`0; url=${refreshTo}`} />}
        <meta name="robots" content="noindex, nofollow" />
        {refresh !== undefined && (
          <noscript>
            <meta http-equiv="refresh" content={`3; url=${href(refresh)}`} />
          </noscript>
        )}
        <Loader src={href(view.assets.script)} />
        {/* The address of this page may be a sign-in link. */}
        <link rel="stylesheet" href={href(view.assets.style)} referrerpolicy="no-referrer" />
        <SiteLinks view={view} isPrivate />
      </head>
      <body data-copied={words.copied} data-new={words.newName} data-base={href('')}>
        <a class="skip" href="#content">
          {words.skip}
        </a>
        <DeskHeader />
        <main id="content" tabindex={-1}>
          {notice !== undefined && (
            <p class="notice" role="status">
              {notice}
            </p>
          )}
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  )
}

function DeskHeader() {
  const view = useDesk()
  const { words, href, person, address } = view
  const isAdmin = person?.role === 'admin'
  const isEditor = isAdmin || person?.role === 'editor'
  const mayEdit = person && (isEditor || person.events.length > 0)
  const menu = [
    [deskPaths.home, words.desk],
    ...(mayEdit
      ? [
          [deskPaths.talks, words.talks],
          [deskPaths.newTalk, words.newTalk],
        ]
      : []),
    ...(isEditor
      ? [
          [deskPaths.speakers, words.entities.titles.speaker],
          [deskPaths.tags, words.entities.titles.tag],
          [deskPaths.events, words.entities.titles.category],
          [deskPaths.quality, words.quality.title],
          [deskPaths.links, words.links.title],
          [deskPaths.imports, words.imports.title],
          [deskPaths.matches, words.matches.title],
        ]
      : []),
    ...(isAdmin
      ? [
          [deskPaths.people, words.people],
          [deskPaths.tokens, words.tokens],
          [deskPaths.webhooks, words.webhooks.title],
          [deskPaths.audit, words.audit],
        ]
      : []),
    [deskPaths.account, words.account],
  ] as const
  return (
    <header class="desk-header">
      <a class="brand" href={href(paths.home)} title={words.backToArchive}>
        <Brand view={view} fallback={<ShelfIcon />} />
      </a>
      {person && (
        <nav aria-label={words.deskMenu}>
          {menu.map(([path, name]) => (
            <a
              key={path}
              href={href(path as string)}
              aria-current={address.split('?')[0] === path ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
      )}
      {person && (
        <Form action={deskPaths.signOut} class="sign-out">
          <span>{words.signedInAs(person.name)}</span>
          <button type="submit" class="quiet">
            {words.signOut}
          </button>
        </Form>
      )}
    </header>
  )
}
