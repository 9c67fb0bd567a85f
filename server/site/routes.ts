import { Problem } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import { assetPolicy } from '../platform/http/edge-policy.ts'
import { picturePolicy } from '../platform/http/headers.ts'
import type { MountPage } from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import type { Site, SiteFile } from './site.ts'

// Mounts the pictures and colours of the operator, and the web manifest.

const forEverSeconds = 31_536_000
const daySeconds = 86_400

interface NamedSite {
  readonly name: string
  readonly basePath: string
  readonly content: Site
}

/** Mounts the files of the operator below /site, and the web manifest. */
export function siteRoutes(mountPage: MountPage, { name, basePath, content }: NamedSite): void {
  const send = ({ body, type }: SiteFile, seconds: number) => ({
    body,
    headers: {
      'content-type': type,
      'content-security-policy': picturePolicy,
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': `public, max-age=${seconds}${seconds === forEverSeconds ? ', immutable' : ''}`,
    },
    edge: () => assetPolicy(seconds),
  })
  const options = { cost: requestCosts.read }
  mountPage(
    paths.siteFile(':name'),
    ({ params }) => {
      const file = content.files.get(params.name ?? '')
      if (!file) throw new Problem('not-found', 'This URL does not exist')
      return send(file, forEverSeconds)
    },
    options,
  )
  const manifest = Buffer.from(JSON.stringify(webManifest(name, basePath, content)))
  mountPage(
    paths.webManifest,
    () => send({ body: manifest, type: 'application/manifest+json' }, daySeconds),
    options,
  )
}

function webManifest(name: string, basePath: string, { settings, icon }: Site) {
  const svgIcon = { type: 'image/svg+xml', sizes: 'any' }
  return {
    name,
    short_name: settings.short_name ?? name,
    start_url: `${basePath}/`,
    scope: `${basePath}/`,
    display: 'browser',
    icons: icon
      ? [
          ...(icon.svg ? [{ src: basePath + paths.siteFile(icon.name), ...svgIcon }] : []),
          ...icon.large.map(({ name, side }) => ({
            src: basePath + paths.siteFile(name),
            type: 'image/png',
            sizes: `${side}x${side}`,
          })),
        ]
      : [{ src: `${basePath}/favicon.svg`, ...svgIcon }],
    ...(settings.accent && { theme_color: settings.accent }),
    background_color: '#fbfaf7',
  }
}
