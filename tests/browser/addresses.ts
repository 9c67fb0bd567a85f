import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import { at, type BrowserEnvironment, examples, onPage, pageKinds } from './stage.ts'

// Addresses of today and of before: where they lead, and with which status.

const maxLinks = 300

export async function addressTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  const found = await examples(archive)
  const ask = (path: string) =>
    fetch(archive.url + path, { redirect: 'manual', headers: { accept: 'text/html' } })

  const moved: [string, string][] = [
    [`/video/${found.talk.id}`, found.path],
    [`/video/${found.talk.id}/wrong-slug`, found.path],
    [`/video/${found.talk.id}/wrong-slug?t=90`, `${found.path}?t=90`],
    [found.category.replace(/[^/]+$/, 'wrong'), found.category],
    [found.category.replace(/\/[^/]+$/, ''), found.category],
    [found.speaker.replace(/\/\d+\//, '/-/'), found.speaker],
    [found.tag.replace(/\/\d+\//, '/-/'), found.tag],
    ['/stats', '/about'],
    ['/video', '/search'],
  ]
  for (const [from, to] of moved)
    await test(`${from.replaceAll(/\d+/g, 'N')} leads to its address of today, for good`, async () => {
      assert.equal((await ask(from)).status, 301)
      assert.equal((await ask(from)).headers.get('location'), to)
      await onPage(stage, async ({ page, open }) => {
        assert.equal(await open(from), 200)
        assert.equal(at(page), to)
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
  await test('what is not there is a page of status 404, with a search', async () => {
    await onPage(stage, async ({ page, open }) => {
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

  await test(`links of the main pages lead somewhere: ${maxLinks} of them`, async () => {
    await onPage(stage, async ({ page, open }) => {
      const links = new Set<string>()
      for (const path of Object.values(await pageKinds(archive))) {
        await open(path)
        const all = await page.evaluate(() =>
          [
            ...document.querySelectorAll<HTMLAnchorElement | HTMLLinkElement>(
              'a[href]:not([href^="#"]), link[href]',
            ),
          ].map((it) => it.href.split('#')[0] ?? ''),
        )
        for (const it of all) if (it.startsWith(`${archive.url}/`)) links.add(it)
      }
      // Some of each kind, and not the first page's alone.
      const byKind = Map.groupBy(links, (it) => new URL(it).pathname.split('/')[1] ?? '')
      const share = Math.ceil(maxLinks / byKind.size)
      const some = [...byKind.values()].flatMap((all) => all.slice(0, share))
      const rest = [...links].filter((it) => !some.includes(it))
      const bad: string[] = []
      const asked = [...some, ...rest].slice(0, maxLinks)
      for (let begin = 0; begin < asked.length; begin += 4)
        await Promise.all(
          asked.slice(begin, begin + 4).map(async (link) => {
            // The whole archive as one file: it is there, and nobody has to wait for all of it.
            const method = link.includes('/export.') ? 'HEAD' : 'GET'
            const { status, body } = await fetch(link, {
              method,
              headers: { accept: 'text/html,*/*' },
            })
            await body?.cancel()
            if (status >= 400) bad.push(`${status} ${link.replace(archive.url, '')}`)
          }),
        )
      assert.ok(asked.length >= (archive.isReal ? maxLinks : 50), `only ${asked.length} links`)
      assert.deepEqual(bad, [])
    })
  })
}
