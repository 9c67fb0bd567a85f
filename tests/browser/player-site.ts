import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vite'
import { browserConfig, sharedConfig } from '../../scripts/build.ts'
import type { Source, Talk } from '../../web/data.ts'
import { loaderScript } from '../../web/loader.ts'
import { sourcePolicy } from '../../web/sources.ts'

// Serves a page with the player alone, with its real script, style and content security policy.

const web = resolve(import.meta.dirname, '../../web')

export interface PlayerSite {
  /** Returns the URL of the page of a talk with these sources. */
  page(
    sources: readonly Source[],
    options?: { at?: number; locale?: 'en' | 'es'; theme?: 'light' | 'dark' },
  ): string
  readonly files: string
  stop(): Promise<void>
}

/** Builds the player and serves its page on a loopback address. */
export async function startSite(): Promise<PlayerSite> {
  const folder = mkdtempSync(join(tmpdir(), 'player-'))
  const files = join(folder, 'client')
  const browsers = browserConfig(false)
  const input = { watch: join(web, 'islands/watch.ts'), player: join(web, 'styles/player.css') }
  await build({
    ...browsers,
    build: { ...browsers.build, outDir: files, emptyOutDir: false, rolldownOptions: { input } },
  })
  const { render } = await renderer(join(folder, 'server'))
  const manifest = JSON.parse(readFileSync(join(files, 'manifest.json'), 'utf8')) as Record<
    string,
    { file: string }
  >
  const script = manifest['islands/watch.ts']?.file ?? ''
  const style = manifest['styles/player.css']?.file ?? ''
  const loader = loaderScript(`/${script}`)

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin)
    if (pathname.startsWith('/assets/')) {
      const type = pathname.endsWith('.css') ? 'text/css' : 'text/javascript'
      return response
        .writeHead(200, { 'content-type': type })
        .end(readFileSync(join(files, pathname)))
    }
    if (pathname.startsWith('/picture/'))
      return response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(picture)
    if (!pathname.startsWith('/video/')) return response.writeHead(404).end()
    const sources = JSON.parse(searchParams.get('sources') ?? '[]') as Source[]
    const locale = searchParams.get('locale') === 'es' ? 'es' : 'en'
    const inlineStyle = `:root { color-scheme: ${searchParams.get('theme') ?? 'light'} }
      @media not (scripting: enabled) { .with-scripts { display: none !important } }
      body {
        margin: 0 auto; max-width: 64rem; padding: 1rem; font: 1rem/1.5 system-ui;
        background: light-dark(#fff, #151519); color: light-dark(#1b1b1f, #ececf1);
      }`
    const player = render(talkOf(sources), Number(searchParams.get('at') ?? 0), {
      base: '',
      origin,
      locale,
    })
    response
      .writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy(sources, loader, inlineStyle),
      })
      .end(
        `<!doctype html>
<html lang="${locale}">
<meta name="viewport" content="width=device-width">
<title>A talk</title>
<link rel="stylesheet" href="/${style}">
<style>${inlineStyle}</style>
<body>${player}<script>${loader}</script></body>
</html>`,
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    files,
    page(sources, options = {}) {
      const query = { sources: JSON.stringify(sources), ...(options as Record<string, string>) }
      return `${origin}/video/7/a-talk?${new URLSearchParams(query)}`
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true })
    },
  }
}

/** Returns the content security policy that the server sends. */
function policy(sources: readonly Source[], loader: string, style: string): string {
  const { frames } = sourcePolicy(sources)
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash('sha256', loader, 'base64')}' 'strict-dynamic'`,
    `style-src 'self' 'sha256-${hash('sha256', style, 'base64')}'`,
    "img-src 'self' data:",
    "media-src 'self' https: blob:",
    "connect-src 'self' https:",
    `frame-src ${frames.join(' ') || "'none'"}`,
    "worker-src blob: 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

interface ViewOptions {
  readonly base: string
  readonly origin: string
  readonly locale: 'en' | 'es'
}

async function renderer(
  outDir: string,
): Promise<{ render: (talk: Talk, at: number, view: ViewOptions) => string }> {
  const entry = '\0page'
  const code = `import { h } from 'preact'
    import { renderToString } from 'preact-render-to-string'
    import { Player } from ${JSON.stringify(join(web, 'parts/player.tsx'))}
    import { prepareView, ViewContext } from ${JSON.stringify(join(web, 'view.ts'))}
    export const render = (talk, at, view) =>
      renderToString(
        h(ViewContext.Provider, { value: prepareView(view) }, h(Player, { talk, at })),
      )`
  const plugin = {
    name: 'page',
    resolveId: (id: string) => (id === 'page' ? entry : undefined),
    load: (id: string) => (id === entry ? code : undefined),
  }
  await build({
    ...sharedConfig,
    plugins: [plugin],
    ssr: { noExternal: true },
    build: {
      outDir,
      emptyOutDir: false,
      ssr: true,
      minify: false,
      rolldownOptions: { input: 'page' },
    },
  })
  const [file = ''] = readdirSync(outDir).filter(
    (name) => name.endsWith('.js') || name.endsWith('.mjs'),
  )
  return import(pathToFileURL(join(outDir, file)).href)
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1280 720">
  <rect width="1280" height="720" fill="#2b4a6b"/>
  <circle cx="420" cy="330" r="180" fill="#d9a86c"/>
  <path d="M700 200h400v40H700zM700 280h340v40H700zM700 360h380v40H700z" fill="#fff"/>
</svg>`

function talkOf(sources: readonly Source[]): Talk {
  const named = { id: 1, slug: 'a', name: 'A' }
  const language = { name: 'English', slug: 'english', code: 'en' }
  return {
    id: 7,
    slug: 'a-talk',
    title: 'A talk about "quotes" <and> more',
    speakers: [named],
    category: named,
    language,
    recorded: null,
    seconds: 600,
    isLengthDoubtful: false,
    pictureVersion: '1',
    summary: '',
    description: '',
    tags: [],
    qualityNotes: '',
    copyrightText: '',
    sources,
    elsewhere: [],
    lost: [],
    downloads: [],
    links: [],
    added: '',
    updated: '',
  }
}
