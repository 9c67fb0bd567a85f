import type { ComponentChild } from 'preact'
import { paths } from '../paths.ts'
import type { useView } from '../view.ts'

/** The colours and the icon of the archive. Follows the style sheet of the page. */
export function SiteLinks({ view, isPrivate }: { view: SiteLinksView; isPrivate?: boolean }) {
  const { site, href } = view
  const referrerpolicy = isPrivate ? 'no-referrer' : undefined
  return (
    <>
      {site.style && (
        <link rel="stylesheet" href={href(site.style)} referrerpolicy={referrerpolicy} />
      )}
      <link
        rel="icon"
        href={href(site.icon.path)}
        type={site.icon.type}
        referrerpolicy={referrerpolicy}
      />
      {!isPrivate && <link rel="manifest" href={href(paths.webManifest)} />}
    </>
  )
}

type SiteLinksView = Pick<ReturnType<typeof useView>, 'site' | 'href'>

/** The logo and the name of the archive, as the content of a link to its home page. */
export function Brand({ view, fallback }: { view: BrandView; fallback: ComponentChild }) {
  const { site, theme, href } = view
  const { logo } = site
  if (!logo)
    return (
      <>
        {fallback}
        <span>{site.name}</span>
      </>
    )
  const { light, dark, width, height, hasName } = logo
  const image = (
    <img
      class="logo"
      src={href(theme === 'dark' && dark ? dark : light)}
      alt={hasName ? site.name : ''}
      width={width}
      height={height}
    />
  )
  return (
    <>
      {theme === 'auto' && dark ? (
        <picture>
          <source srcset={href(dark)} media="(prefers-color-scheme: dark)" />
          {image}
        </picture>
      ) : (
        image
      )}
      {!hasName && <span>{site.name}</span>}
    </>
  )
}

type BrandView = Pick<ReturnType<typeof useView>, 'site' | 'href' | 'theme'>
