import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { en } from '../../web/messages/en.ts'
import { es } from '../../web/messages/es.ts'
import { type Locale, localeNames, locales, messages } from '../../web/messages/messages.ts'
import { until } from '../support/until.ts'
import {
  type BrowserEnvironment,
  examples,
  jsonResponse,
  onPage,
  pageKinds,
  pathOf,
} from './environment.ts'

// The language and the colours that a reader prefers.

/** Reads whether the background of a page is light. */
async function isLight(page: Page): Promise<boolean> {
  const brightness = await page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
    if (!canvas) return 0
    canvas.fillStyle = getComputedStyle(document.body).backgroundColor
    canvas.fillRect(0, 0, 1, 1)
    const [red = 0, green = 0, blue = 0] = canvas.getImageData(0, 0, 1, 1).data
    return (red + green + blue) / 3
  })
  return brightness > 128
}

/** Returns the English texts that are different in a language, apart from very short ones. */
function englishTexts(locale: Locale): string[] {
  const translated: Readonly<Record<string, unknown>> = { ...messages[locale] }
  return Object.entries(en).flatMap(([key, message]) =>
    typeof message === 'string' && message.length > 4 && translated[key] !== message ? message : [],
  )
}

/** Tests the switches of language and colours, and the preferences of the browser. */
export async function preferenceTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)
  const record = await jsonResponse(`${archive.url}/api/v2/video/${example.talk.id}`)
  const inSpanish = { locale: 'es-MX' }

  await test('texts, dates and numbers are in the language of the browser', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open(example.path)
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

  for (const locale of locales.filter((it) => it !== 'en')) {
    const { name } = localeNames[locale]

    await test(`pages in ${name} have no English text of the interface`, async () => {
      await onPage(
        environment,
        async ({ page, open }) => {
          for (const path of Object.values(await pageKinds(archive))) {
            await open(path)
            assert.equal(await page.locator('html').getAttribute('lang'), locale, path)
            // biome-ignore lint/performance/useDomNodeTextContent: only visible text, line by line
            const text = await page.locator('body').innerText()
            const lines = new Set(text.split('\n').map((line) => line.trim()))
            for (const message of englishTexts(locale))
              assert.ok(!lines.has(message), `${path}: ${message}`)
          }
        },
        { locale },
      )
    })

    await test(`the switch to ${name} keeps the page and applies to all pages`, async () => {
      await onPage(environment, async ({ page, open }) => {
        await open('/search?q=python&language=english')
        await page.getByRole('button', { name }).click()
        await page.waitForFunction((lang) => document.documentElement.lang === lang, locale)
        assert.equal(pathOf(page), '/search?q=python&language=english')
        assert.equal(await page.getByRole('button', { name }).getAttribute('aria-pressed'), 'true')
        await open(example.path)
        assert.equal(await page.locator('html').getAttribute('lang'), locale)
        const cookies = await page.context().cookies()
        assert.deepEqual(
          cookies.map(({ name, value, httpOnly, sameSite }) => {
            return { name, value, httpOnly, sameSite }
          }),
          [{ name: 'locale', value: locale, httpOnly: true, sameSite: 'Lax' }],
        )
        await page.getByRole('button', { name: 'English' }).click()
        await page.waitForFunction(() => document.documentElement.lang === 'en')
      })
    })
  }

  await test('dialogs are in the language of the page', async () => {
    await onPage(
      environment,
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

  await test('the colours follow the system, and the switch overrides it', async () => {
    for (const colorScheme of ['light', 'dark'] as const)
      await onPage(
        environment,
        async ({ page, open }) => {
          await open('/about')
          assert.equal(await isLight(page), colorScheme === 'light')
          for (const [name, expectsLight] of [
            [en.themes.dark, false],
            [en.themes.light, true],
          ] as const) {
            await page.getByRole('button', { name, exact: true }).click()
            await page.waitForFunction(
              (theme) => document.documentElement.dataset.theme === theme,
              expectsLight ? 'light' : 'dark',
            )
            assert.equal(await isLight(page), expectsLight)
            assert.equal(pathOf(page), '/about')
            await open('/')
            assert.equal(await isLight(page), expectsLight, 'on another page')
            await open('/about')
          }
          await page.getByRole('button', { name: en.themes.auto, exact: true }).click()
          await page.waitForFunction(() => document.documentElement.dataset.theme === undefined)
          assert.equal(await isLight(page), colorScheme === 'light')
        },
        { colorScheme },
      )
  })

  await test('readers are back at the form after they choose colours', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/about')
      await page.getByRole('button', { name: en.themes.dark, exact: true }).click()
      await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark')
      const form = page.locator('.prefer')
      await until('the form is in view', () =>
        form.evaluate((it) => it.getBoundingClientRect().bottom <= innerHeight + 1),
      )
    })
  })

  await test('the chosen colours are marked with forced colours', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open('/about')
        const borderOf = (name: string) =>
          page
            .getByRole('button', { name, exact: true })
            .evaluate((button) => getComputedStyle(button).borderWidth)
        assert.equal(await borderOf(en.themes.auto), '3px')
        assert.equal(await borderOf(en.themes.dark), '1px')
      },
      { forcedColors: 'active' },
    )
  })

  await test('nothing moves if the reader prefers reduced motion', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        for (const path of ['/', '/search?q=python', example.path]) {
          await open(path)
          await page.locator('main a').first().hover()
          const moving = await page.evaluate(() => {
            const isLong = (durations: string) =>
              durations.split(',').some((duration) => Number.parseFloat(duration) > 0.01)
            return [...document.querySelectorAll('*')].flatMap((element) => {
              const { transitionDuration, animationDuration, animationName, scrollBehavior } =
                getComputedStyle(element)
              const moves =
                isLong(transitionDuration) ||
                (animationName !== 'none' && isLong(animationDuration)) ||
                scrollBehavior === 'smooth'
              return moves ? [element.outerHTML.slice(0, 100)] : []
            })
          })
          assert.deepEqual(moving.slice(0, 3), [])
        }
      },
      { reducedMotion: 'reduce' },
    )
  })
}
