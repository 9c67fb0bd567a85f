import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import { es } from '../../web/messages/es.ts'
import { at, type BrowserEnvironment, examples, jsonResponse, onPage } from './stage.ts'

// The language and the colours that a reader prefers.

export async function preferenceTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  const found = await examples(archive)
  const record = await jsonResponse(`${archive.url}/api/v2/video/${found.talk.id}`)
  const inSpanish = { locale: 'es-MX' }

  await test('a browser that prefers Spanish gets Spanish: words, days, numbers and names of languages', async () => {
    await onPage(
      stage,
      async ({ page, open }) => {
        await open(found.path)
        assert.equal(await page.locator('html').getAttribute('lang'), 'es')
        const day = new Intl.DateTimeFormat('es', { dateStyle: 'long', timeZone: 'UTC' }).format(
          new Date(`${record.recorded}T00:00:00Z`),
        )
        assert.equal(await page.locator('.talk-where time').textContent(), day)
        assert.match(day, / de /)
        if (record.language === 'English')
          assert.ok((await page.locator('.details').textContent())?.includes('inglés'))
        await open('/')
        const totals = await page.locator('.totals').textContent()
        const { count } = await jsonResponse(`${archive.url}/api/v2/video?page_size=1`)
        assert.ok(
          totals?.includes(es.talks(count, new Intl.NumberFormat('es').format(count))),
          totals ?? '',
        )
        assert.ok((await page.locator('.browse').textContent())?.includes('inglés'))
        assert.equal(await page.locator('h1').textContent(), es.tagline)
      },
      inSpanish,
    )
  })

  await test('in Spanish, pages have no English words of ours left', async () => {
    await onPage(
      stage,
      async ({ page, open }) => {
        for (const path of [
          '/',
          '/search?q=python',
          found.path,
          '/category',
          '/speaker',
          '/about',
          '/nowhere',
          '/search?year=next',
        ]) {
          await open(path)
          // biome-ignore lint/performance/useDomNodeTextContent: what can be seen, line by line, is what is asked for
          const text = await page.locator('body').innerText()
          const lines = new Set(text.split('\n').map((line) => line.trim()))
          for (const [name, word] of Object.entries(en)) {
            const same = (es as unknown as Record<string, unknown>)[name] === word
            if (typeof word === 'string' && word.length > 4 && !same)
              assert.ok(!lines.has(word), `${path}: ${word}`)
          }
        }
      },
      inSpanish,
    )
  })

  await test('the switch of languages holds, wherever the reader goes, and leads back to the same page', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/search?q=python&language=english')
      await page.getByRole('button', { name: 'Español' }).click()
      await page.waitForFunction(() => document.documentElement.lang === 'es')
      assert.equal(at(page), '/search?q=python&language=english')
      assert.equal(
        await page.getByRole('button', { name: 'Español' }).getAttribute('aria-pressed'),
        'true',
      )
      await open(found.path)
      assert.equal(await page.locator('html').getAttribute('lang'), 'es')
      const cookies = await page.context().cookies()
      assert.deepEqual(
        cookies.map(({ name, value, httpOnly, sameSite }) => ({ name, value, httpOnly, sameSite })),
        [{ name: 'locale', value: 'es', httpOnly: true, sameSite: 'Lax' }],
      )
      await page.getByRole('button', { name: 'English' }).click()
      await page.waitForFunction(() => document.documentElement.lang === 'en')
    })
  })

  await test('scripts speak the language of the page', async () => {
    await onPage(
      stage,
      async ({ page, open }) => {
        await open('/about')
        await page.keyboard.press('?')
        assert.equal(await page.locator('dialog.keys h2').textContent(), es.keysTitle)
        await page.keyboard.press('Escape')
        await page.locator('dialog.keys').waitFor({ state: 'detached' })
        await page.keyboard.press('/')
        assert.equal(await page.locator('dialog.launcher').getAttribute('aria-label'), es.launcher)
      },
      inSpanish,
    )
  })

  await test('the colours follow the system, and the switch holds against it', async () => {
    const light = async (page: import('playwright-core').Page) => {
      const colour = await page.evaluate(() => {
        const canvas = document
          .createElement('canvas')
          .getContext('2d', { willReadFrequently: true })
        if (!canvas) return 0
        canvas.fillStyle = getComputedStyle(document.body).backgroundColor
        canvas.fillRect(0, 0, 1, 1)
        return (
          [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)].reduce((sum, it) => sum + it, 0) / 3
        )
      })
      return colour > 128
    }
    for (const colorScheme of ['light', 'dark'] as const)
      await onPage(
        stage,
        async ({ page, open }) => {
          await open('/about')
          assert.equal(await light(page), colorScheme === 'light')
          for (const [name, isLight] of [
            [en.themes.dark, false],
            [en.themes.light, true],
          ] as const) {
            await page.getByRole('button', { name, exact: true }).click()
            await page.waitForFunction(
              (theme) => document.documentElement.dataset.theme === theme,
              isLight ? 'light' : 'dark',
            )
            assert.equal(await light(page), isLight)
            assert.equal(at(page), '/about')
            await open('/')
            assert.equal(await light(page), isLight, 'on another page')
            await open('/about')
          }
          await page.getByRole('button', { name: en.themes.auto, exact: true }).click()
          await page.waitForFunction(() => document.documentElement.dataset.theme === undefined)
          assert.equal(await light(page), colorScheme === 'light')
        },
        { colorScheme },
      )
  })

  await test('who wants less motion gets none', async () => {
    await onPage(
      stage,
      async ({ page, open }) => {
        for (const path of ['/', '/search?q=python', found.path]) {
          await open(path)
          await page.locator('main a').first().hover()
          const moving = await page.evaluate(() => {
            const long = (text: string) =>
              text.split(',').some((it) => Number.parseFloat(it) > 0.01)
            return [...document.querySelectorAll('*')].flatMap((it) => {
              const { transitionDuration, animationDuration, animationName, scrollBehavior } =
                getComputedStyle(it)
              const moves =
                long(transitionDuration) ||
                (animationName !== 'none' && long(animationDuration)) ||
                scrollBehavior === 'smooth'
              return moves ? [it.outerHTML.slice(0, 100)] : []
            })
          })
          assert.deepEqual(moving.slice(0, 3), [])
        }
      },
      { reducedMotion: 'reduce' },
    )
  })
}
