import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type DefaultTreeAdapterTypes, parse } from 'parse5'
import { buildSite, slugOf } from '../../scripts/site.ts'
import { root } from '../support/harness.ts'

const scratch = mkdtempSync(join(tmpdir(), 'site-'))
test.after(() => rmSync(scratch, { recursive: true }))

/** Builds a site of a few files. */
function build(files: Record<string, string>): (page: string) => string {
  const folder = mkdtempSync(join(scratch, 'sources-'))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  buildSite(folder, join(folder, 'out'))
  return (page) => readFileSync(join(folder, 'out', page), 'utf8')
}

/** Returns all elements of a page. */
function elementsOf(html: string): DefaultTreeAdapterTypes.Element[] {
  const walk = (node: DefaultTreeAdapterTypes.Node): DefaultTreeAdapterTypes.Element[] => [
    ...('tagName' in node ? [node] : []),
    ...('childNodes' in node ? node.childNodes.flatMap(walk) : []),
  ]
  return walk(parse(html))
}

test('the site has every document, and all of its links lead somewhere', () => {
  const out = join(scratch, 'site')
  const pages = buildSite(root, out)
  const documents = globSync(['*.md', 'docs/**/*.md'], {
    cwd: root,
    exclude: ['docs/examples/**'],
  })
  assert.equal(pages.length, documents.length)
  assert.ok(pages.length > 60)
  const ids = new Map<string, Set<string>>()
  const links: [page: string, path: string, fragment: string][] = []
  for (const page of pages) {
    const elements = elementsOf(readFileSync(join(out, page), 'utf8'))
    const attribute = (element: DefaultTreeAdapterTypes.Element, key: string) =>
      element.attrs.find(({ name }) => name === key)?.value
    const own = elements.flatMap((element) => attribute(element, 'id') ?? [])
    assert.equal(new Set(own).size, own.length, `${page} has an id twice`)
    ids.set(page, new Set(own))
    assert.ok(!elements.some(({ tagName }) => tagName === 'script'), page)
    assert.equal(elements.filter(({ tagName }) => tagName === 'h1').length, 1, page)
    assert.equal(elements.filter((it) => attribute(it, 'aria-current')).length, 1, page)
    for (const element of elements) {
      const url = attribute(element, 'href') ?? attribute(element, 'src')
      if (url === undefined || /^(https?|mailto):/.test(url)) continue
      const { pathname, hash } = new URL(url, `https://site.example/${page}`)
      links.push([page, decodeURI(pathname).slice(1), hash.slice(1)])
    }
  }
  const files = new Set(globSync('**/*', { cwd: out }))
  for (const [page, path, fragment] of links) {
    assert.ok(files.has(path), `${page}: ${path}`)
    if (fragment !== '')
      assert.ok(ids.get(path)?.has(decodeURIComponent(fragment)), `${page}: ${path}#${fragment}`)
  }
  assert.ok(links.length > 1000)
})

test('broken links are found, with all of them', () => {
  assert.throws(
    () =>
      build({
        'README.md': '# A\n\n[1](docs/b.md#there) [2](docs/c.md) [3](#nowhere) ![4](d.png)',
        'docs/b.md': '# B\n\n## Here\n\n[5](../README.md) [6](../../outside.md) [7](#here)',
      }),
    ({ message }: Error) => {
      const found = message.split('\n').slice(1)
      assert.deepEqual(found, [
        'README.md: docs/b.html#there',
        'README.md: docs/c.md',
        'README.md: index.html#nowhere',
        'README.md: d.png',
        'docs/b.md: ../outside.md',
      ])
      return true
    },
  )
})

test('new files and folders of docs appear in the navigation', () => {
  const page = build({
    'README.md': '# A\n\n[docs](docs/install) [unit](deploy/a.service)',
    'deploy/a.service': '[Unit]',
    'docs/install/README.md': '# Install\n',
    'docs/install/container.md': '# With <containers> & more\n\n[back](../../README.md#a)',
    'docs/new-things/one.md': '# One\n\n## `a` b\n\n## `a` b\n',
  })
  const html = page('index.html')
  assert.match(html, /<h2>Install<\/h2><ul>\n<li><a href="docs\/install\/index.html">Install/)
  assert.match(html, /<h2>New things<\/h2><ul>\n<li><a href="docs\/new-things\/one.html">One/)
  assert.match(html, /<a href="docs\/install\/container.html">With &lt;containers&gt; &amp; more/)
  assert.match(html, /<a href="docs\/install\/index.html">docs/)
  assert.match(html, /<a href="deploy\/a.service.txt">unit/)
  assert.match(page('docs/install/container.html'), /<a href="..\/..\/index.html#a">back/)
  assert.match(page('docs/new-things/one.html'), /id="a-b"[\s\S]*id="a-b-1"/)
})

test('headings get the ids that GitHub gives them', () => {
  assert.equal(
    slugOf('What’s new: `talkshelf doctor` (and more)'),
    'whats-new-talkshelf-doctor-and-more',
  )
  assert.equal(slugOf('Zoë & Émile'), 'zoë--émile')
})
