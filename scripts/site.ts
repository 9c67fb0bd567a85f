// Usage: npm run site -- [--out dist/site]
//
// Renders README.md and docs/ as a static site, without scripts. New files appear in the navigation
// by themselves. Fails if a link or image inside the site leads nowhere.

import { cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import MarkdownIt from 'markdown-it'

const repository = join(import.meta.dirname, '..')

/** Markdown files outside docs/ that are pages. Those that do not exist are left out. */
const rootPages = [
  'README.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'SUPPORT.md',
  'GOVERNANCE.md',
  'CODE_OF_CONDUCT.md',
]

/** Order of the groups of the navigation. A folder of docs/ that is not here comes last. */
const groupOrder = ['Start', 'Install', 'Guides', 'Project', 'Decisions']

interface Page {
  /** Path in the repository, such as docs/operations.md. */
  source: string
  /** Path in the site, such as docs/operations.html. */
  target: string
  title: string
  group: string
  html: string
  ids: ReadonlySet<string>
  sections: readonly { id: string; title: string }[]
  /** Paths in the site of files and pages that it refers to, with a fragment. */
  links: readonly string[]
}

/** Writes the site of a repository to a folder. Throws if links are broken, with all of them. */
export function buildSite(root: string, out: string): readonly string[] {
  const sources = findSources(root)
  const assets = new Map<string, string>()
  const pages = sources.map((source) => renderPage(root, source, sources, assets))
  const broken = findBroken(pages, assets)
  if (broken.length > 0) throw new Error(`Broken links:\n${broken.join('\n')}`)
  rmSync(out, { recursive: true, force: true })
  const write = (target: string, text: string) => {
    mkdirSync(dirname(join(out, target)), { recursive: true })
    writeFileSync(join(out, target), text)
  }
  write('site.css', readFileSync(join(import.meta.dirname, 'site.css'), 'utf8'))
  // GitHub Pages leaves out some names otherwise.
  write('.nojekyll', '')
  for (const page of pages) write(page.target, layOut(page, pages))
  for (const [target, source] of assets) {
    mkdirSync(dirname(join(out, target)), { recursive: true })
    cpSync(join(root, source), join(out, target))
  }
  return pages.map(({ target }) => target)
}

function findSources(root: string): string[] {
  // The examples are texts of an archive, with links to its pages.
  const docs = globSync('docs/**/*.md', { cwd: root, exclude: ['docs/examples/**'] }).sort()
  const existing = new Set(globSync('*.md', { cwd: root }))
  return [...rootPages.filter((file) => existing.has(file)), ...docs]
}

/** Returns the path of a page in the site. A README is the index of its folder. */
function targetOf(source: string): string {
  return source.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html')
}

function groupOf(source: string): string {
  if (source === 'README.md') return 'Start'
  if (!source.startsWith('docs/')) return 'Project'
  const [, folder = '', file] = source.split('/')
  if (file === undefined) return folder === 'releasing.md' ? 'Project' : 'Guides'
  return (folder[0]?.toUpperCase() ?? '') + folder.slice(1).replaceAll('-', ' ')
}

function renderPage(
  root: string,
  source: string,
  sources: readonly string[],
  assets: Map<string, string>,
): Page {
  const markdown = new MarkdownIt({ html: false, linkify: false })
  const text = readFileSync(join(root, source), 'utf8').replaceAll(/^<!--.*-->$/gm, '')
  const env = {}
  const tokens = markdown.parse(text, env)
  const target = targetOf(source)
  const ids = new Map<string, number>()
  const sections: { id: string; title: string }[] = []
  const links: string[] = []
  let title = source
  let pictures = 0

  /** Returns the URL of a link of this page in the site, and notes what it leads to. */
  const rewrite = (href: string): string => {
    if (/^[a-z][a-z\d+.-]*:/i.test(href)) return href
    const [path = '', fragment = ''] = href.split('#')
    const hash = fragment === '' ? '' : `#${fragment}`
    const file = path === '' ? source : posix.join(posix.dirname(source), decodeURI(path))
    const destination = findDestination(root, file.replace(/\/$/, ''), sources, assets)
    links.push(destination + hash)
    if (path === '') return hash
    return posix.relative(posix.dirname(target), destination) + hash
  }

  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const plain = (tokens[index + 1]?.children ?? []).map(({ content }) => content).join('')
      const slug = slugOf(plain)
      const count = ids.get(slug) ?? 0
      ids.set(slug, count + 1)
      const id = count === 0 ? slug : `${slug}-${count}`
      token.attrSet('id', id)
      if (token.tag === 'h1') title = plain
      if (token.tag === 'h2') sections.push({ id, title: plain })
    }
    for (const child of token.children ?? []) {
      if (child.type === 'link_open')
        child.attrSet('href', rewrite(String(child.attrGet('href') ?? '')))
      if (child.type !== 'image') continue
      child.attrSet('src', rewrite(String(child.attrGet('src') ?? '')))
      // The first picture is seen at once.
      if (pictures > 0) child.attrSet('loading', 'lazy')
      pictures++
    }
  }
  // Boxes that scroll can be reached by keyboard.
  const html = markdown.renderer
    .render(tokens, markdown.options, env)
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
  const found = [...html.matchAll(/<h\d id="([^"]*)"/g)].map(([, id = '']) => id)
  return {
    source,
    target,
    title,
    group: groupOf(source),
    html,
    ids: new Set(found),
    sections,
    links,
  }
}

/**
 * Returns the path in the site of a file of the repository: its page, the index of its folder, or
 * a copy of the file. A path without any of them is returned as it is, and found to be broken.
 */
function findDestination(
  root: string,
  file: string,
  sources: readonly string[],
  assets: Map<string, string>,
): string {
  if (sources.includes(file)) return targetOf(file)
  const index = posix.join(file, 'README.md')
  if (sources.includes(index)) return targetOf(index)
  const isInside = !file.startsWith('..')
  const stats = isInside ? statSync(join(root, file), { throwIfNoEntry: false }) : undefined
  // A folder without an index: its first page, next to which the navigation lists the others.
  const first = sources.find((source) => source.startsWith(`${file}/`))
  if (stats?.isDirectory() && first) return targetOf(first)
  if (!stats?.isFile()) return file
  // Sources are shown as text.
  const isText = /\.(ts|tsx|sql|service|yaml|yml|vcl|conf|sh)$/.test(file) || !/\.\w+$/.test(file)
  const target = isText ? `${file}.txt` : file
  assets.set(target, file)
  return target
}

/** Returns the id that GitHub gives to a heading. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function findBroken(pages: readonly Page[], assets: ReadonlyMap<string, string>): string[] {
  const targets = new Map(pages.map((page) => [page.target, page]))
  return pages.flatMap(({ source, links }) =>
    links
      .filter((link) => {
        const [path = '', fragment] = link.split('#')
        const page = targets.get(path)
        if (!page) return !assets.has(path)
        return fragment !== undefined && !page.ids.has(decodeURIComponent(fragment))
      })
      .map((link) => `${source}: ${link}`),
  )
}

function layOut(page: Page, pages: readonly Page[]): string {
  const { target, title, html, sections } = page
  const to = (path: string) => posix.relative(posix.dirname(target), path)
  const sectionList = sections
    .map(({ id, title }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(title)}</a></li>`)
    .join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'">
<title>${target === 'index.html' ? 'Talkshelf' : `${escapeHtml(title)} – Talkshelf`}</title>
<link rel="stylesheet" href="${to('site.css')}">
</head>
<body>
<a class="skip" href="#site-content">Skip to content</a>
<header><a class="name" href="${to('index.html')}">Talkshelf</a><a href="#site-pages">All pages</a></header>
<div class="layout">
<main id="site-content"><article>
${html}</article>
<footer>Apache-2.0. Made from <code>${escapeHtml(page.source)}</code>.</footer>
</main>
<nav class="pages" id="site-pages" aria-label="Pages">
${navigation(page, pages, to)}
</nav>
${sections.length > 1 ? `<nav class="sections" aria-label="On this page"><h2>On this page</h2><ul>\n${sectionList}\n</ul></nav>` : ''}
</div>
</body>
</html>
`
}

function navigation(current: Page, pages: readonly Page[], to: (path: string) => string): string {
  const rank = (group: string) =>
    (groupOrder.indexOf(group) + groupOrder.length + 1) % (groupOrder.length + 1)
  const groups = [...Map.groupBy(pages, ({ group }) => group)].sort(([a], [b]) => rank(a) - rank(b))
  return groups
    .map(([group, members]) => {
      const isIndex = ({ target }: Page) => target.endsWith('index.html')
      const items = members
        .toSorted((a, b) => Number(isIndex(b)) - Number(isIndex(a)))
        .map((page) => {
          const here = page === current ? ' aria-current="page"' : ''
          const name = page.source === 'README.md' ? 'Overview' : page.title
          return `<li><a href="${to(page.target)}"${here}>${escapeHtml(name)}</a></li>`
        })
      const list = `<ul>\n${items.join('\n')}\n</ul>`
      if (members.length <= 12) return `<h2>${escapeHtml(group)}</h2>${list}`
      const open = group === current.group ? ' open' : ''
      return `<details${open}><summary>${escapeHtml(group)}</summary>${list}</details>`
    })
    .join('\n')
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string', default: 'dist/site' } } })
  const pages = buildSite(repository, resolve(values.out))
  console.log(`${pages.length} pages in ${values.out}`)
}
