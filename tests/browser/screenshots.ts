// npm run screenshots -- FOLDER [--url http://...] [--talks file] [--only public|desk]
//
// Writes screenshots of the main pages on a phone and on a desktop, in light and dark, small enough
// for the documentation. They show the archive at --url, or one that is started for them with the
// talks of --talks: by default the real ones if they are available, else the examples of the demo.
// Screenshots of the desk always show the examples of the demo, and those of what is at risk
// invented talks, in archives that are started for them, so there are none with --url.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import { openBrowserArchive } from './archive.ts'
import { fillAtRisk } from './at-risk-archive.ts'
import { startChromium } from './chromium.ts'
import { takeDeskScreenshots } from './desk-screenshots.ts'
import { examples } from './environment.ts'

const maxBytes = 120_000
const sizes = { phone: { width: 390, height: 844 }, desktop: { width: 1440, height: 900 } }

const { values, positionals } = parseArgs({
  options: { url: { type: 'string' }, talks: { type: 'string' }, only: { type: 'string' } },
  allowPositionals: true,
})
const [folder = ''] = positionals
if (folder === '') {
  console.error('Give a folder: npm run screenshots -- FOLDER')
  process.exit(2)
}
mkdirSync(folder, { recursive: true })

const archive = openBrowserArchive(values.only === 'desk' ? { url: '' } : values)
try {
  const browser = await startChromium()
  try {
    if (values.only !== 'desk') await takePublicScreenshots(browser)
    if (values.url !== undefined)
      console.log('No screenshots of the desk and of what is at risk: they need their own archives')
    else {
      if (values.only !== 'public') await takeDeskScreenshots(archive, browser, save)
      if (values.only !== 'desk') await takeAtRiskScreenshots(browser)
    }
  } finally {
    await browser.close()
  }
} finally {
  await archive.stop()
}

async function takePublicScreenshots(browser: Browser): Promise<void> {
  await archive.ready
  const { path, category } = await examples(archive)
  const pages = {
    home: '/',
    search: '/search?q=machine+learning',
    talk: path,
    event: category,
    events: '/category',
    about: '/about',
  }
  for (const [size, viewport] of Object.entries(sizes))
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({
        viewport,
        colorScheme,
        locale: 'en-GB',
        isMobile: size === 'phone',
        hasTouch: size === 'phone',
      })
      const page = await context.newPage()
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(archive.url + path, { waitUntil: 'networkidle' })
        await save(page, `${name}-${size}-${colorScheme}`)
      }
      await context.close()
    }
}

/** Shows what is at risk with invented talks, because no host was asked about the real ones. */
async function takeAtRiskScreenshots(browser: Browser): Promise<void> {
  const own = await archive.empty('at-risk')
  await fillAtRisk(own)
  for (const [size, viewport] of Object.entries(sizes))
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport, colorScheme, locale: 'en-GB' })
      await page.goto(`${own.url}/at-risk`, { waitUntil: 'networkidle' })
      await save(page, `at-risk-${size}-${colorScheme}`)
      await page.close()
    }
}

/** Saves a screenshot of a page as it is. */
async function save(page: Page, name: string): Promise<void> {
  const file = join(folder, `${name}.webp`)
  const bytes = await compress(await page.screenshot())
  writeFileSync(file, bytes)
  console.log(`${String(bytes.length).padStart(7)}  ${file}`)
}

/** Compresses a screenshot with the best quality within the limit. */
async function compress(png: Buffer): Promise<Buffer> {
  for (const quality of [90, 80, 70, 55, 40, 25]) {
    const bytes = await sharp(png).webp({ quality, effort: 5 }).toBuffer()
    if (bytes.length <= maxBytes) return bytes
  }
  throw new Error(`A screenshot has more than ${maxBytes} bytes`)
}
