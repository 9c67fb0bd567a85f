import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import { type BrowserEnvironment, examples, onPage, pageKinds, pathOf } from './environment.ts'

// Redirects of former URLs, pages of status 404, and the links of the main pages.

const maxLinks = 300

/** Tests redirects, missing pages and links. */
export async function addressTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)
  const get = (path: string) =>
    fetch(archive.url + path, { redirect: 'manual', headers: { accept: 'text/html' } })

  const moved: [string, string][] = [
    [`/video/${example.talk.id}`, example.path],
    [`/video/${example.talk.id}/wrong-slug`, example.path],
    [`/video/${example.talk.id}/wrong-slug?t=90`, `${example.path}?t=90`],
    [example.category.replace(/[^/]+$/, 'wrong'), example.category],
    [example.category.replace(/\/[^/]+$/, ''), example.category],
    [example.speaker.replace(/\/\d+\//, '/-/'), example.speaker],
    [example.tag.replace(/\/\d+\//, '/-/'), example.tag],
    ['/stats', '/about'],
    ['/video', '/search'],
  ]
  for (const [from, to] of moved)
    await test(`${from.replaceAll(/\d+/g, 'N')} redirects permanently to its URL`, async () => {
      assert.equal((await get(from)).status, 301)
      assert.equal((await get(from)).headers.get('location'), to)
      await onPage(environment, async ({ page, open }) => {
        assert.equal(await open(from), 200)
        assert.equal(pathOf(page), to)
      })
    })

  const missing = [
    '/nowhere',
    '/video/999999999',
    '/video/0/x',
    '/video/x/y',
    '/category/999999/x',
    '/speaker/-/nobody-at-all',
    '/tag/x',
    '/year/0000',
    '/year/1800',
    '/language/klingon',
    '/assets/none.js',
    '/speaker?page=0',
  ]
  await test('a missing page has status 404 and a search field', async () => {
    await onPage(environment, async ({ page, open }) => {
      for (const path of missing) {
        assert.equal(await open(path), 404, path)
        assert.equal(await page.locator('h1').textContent(), en.problemTitles[404], path)
        assert.ok(await page.locator('.problem input[type=search]').isVisible())
        assert.equal(
          await page.locator('meta[name=robots]').getAttribute('content'),
          'noindex, follow',
        )
      }
    })
  })

  await test(`${maxLinks} links of the main pages work`, async () => {
    await onPage(environment, async ({ page, open }) => {
      const links = new Set<string>()
      for (const path of Object.values(await pageKinds(archive))) {
        await open(path)
        const targets = await page.evaluate(() =>
          [
            ...document.querySelectorAll<HTMLAnchorElement | HTMLLinkElement>(
              'a[href]:not([href^="#"]), link[href]',
            ),
          ].map(({ href }) => href.split('#')[0] ?? ''),
        )
        for (const link of targets) if (link.startsWith(`${archive.url}/`)) links.add(link)
      }
      // Some of each kind, not only those of the first page.
      const byKind = Map.groupBy(links, (link) => new URL(link).pathname.split('/')[1] ?? '')
      const share = Math.ceil(maxLinks / byKind.size)
      const some = [...byKind.values()].flatMap((all) => all.slice(0, share))
      const rest = [...links].filter((link) => !some.includes(link))
      const broken: string[] = []
      const checked = [...some, ...rest].slice(0, maxLinks)
      for (let begin = 0; begin < checked.length; begin += 4)
        await Promise.all(
          checked.slice(begin, begin + 4).map(async (link) => {
            // An export is the whole archive: its headers are enough.
            const method = link.includes('/export.') ? 'HEAD' : 'GET'
            const { status, body } = await fetch(link, {
              method,
              headers: { accept: 'text/html,*/*' },
            })
            await body?.cancel()
            if (status >= 400) broken.push(`${status} ${link.replace(archive.url, '')}`)
          }),
        )
      assert.ok(checked.length >= (archive.isReal ? maxLinks : 50), `only ${checked.length} links`)
      assert.deepEqual(broken, [])
    })
  })
}
