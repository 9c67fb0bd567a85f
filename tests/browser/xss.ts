import assert from 'node:assert/strict'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { startChromium } from './chromium.ts'
import type { BrowserEnvironment } from './stage.ts'
import { type Planted, plant, type XssTarget } from './xss-archive.ts'
import { foreignIn } from './xss-dom.ts'
import { xssPayloads } from './xss-payloads.ts'

// Nothing that somebody wrote into a record or an address may run, with the policy of the page and
// without: escaping alone must be enough.

const tabs = 4

export async function xssTests({
  archive,
  browser,
  test,
  everyPayload,
}: BrowserEnvironment): Promise<void> {
  // Pictures are most of the work of a page, and say nothing about texts: whatever a payload made
  // of them is seen in the page itself. One of ten is looked at with pictures.
  const blind = await startChromium('--blink-settings=imagesEnabled=false')
  try {
    await looking({ archive, browser, test, everyPayload }, blind)
  } finally {
    await blind.close()
  }
}

async function looking(
  { archive, browser, test, everyPayload }: BrowserEnvironment,
  blind: Browser,
): Promise<void> {
  const chosen = xssPayloads.filter((_, at) => at % everyPayload === 0)
  let begun: Promise<Planted & { url: string }> | undefined
  const planted = () => {
    begun ??= archive
      .empty()
      .then(async ({ url, token }) => ({ url, ...(await plant(url, token, chosen)) }))
    return begun
  }

  await test('xss: there are at least 300 payloads, and nearly all of them can be written', async () => {
    assert.ok(
      xssPayloads.length >= 300 && new Set(xssPayloads).size === xssPayloads.length,
      String(xssPayloads.length),
    )
    const { count, refused } = await planted()
    if (refused.length > 0)
      console.log(`  ${refused.length} were refused, such as ${refused[0]?.slice(0, 200)}`)
    assert.ok(count >= 0.97 * chosen.length, refused.slice(0, 3).join('\n'))
  })

  for (const bypassCSP of [false, true])
    await test(`xss: nothing runs that somebody wrote into a record, ${bypassCSP ? 'without' : 'with'} the policy of the page`, async () => {
      const { url, places, count } = await planted()
      // What is no page is looked at once, where nothing but itself protects it.
      const seen = places.filter(({ isPage }) => isPage || bypassCSP)
      const { wrong, missing } = await lookAt(blind, url, seen, { bypassCSP })
      console.log(
        `  ${count} payloads, ${seen.length} places looked at, of them ${missing.length} are not there`,
      )
      assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} in all`)
    })

  await test('xss: nothing runs on the pages of talks with their pictures, without the policy of the page', async () => {
    const { url, places } = await planted()
    const some = places
      .filter(({ path }) => /^\/video\/\d+\/(?!embed)[^/]+$/.test(path))
      .filter((_, at) => at % 10 === 0)
    const { wrong } = await lookAt(browser, url, some, { bypassCSP: true })
    console.log(`  ${some.length} talks looked at`)
    assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} in all`)
  })

  await test('xss: every kind of place is there to be looked at', async () => {
    const { url, places } = await planted()
    const kinds = Map.groupBy(
      places,
      ({ path }) =>
        path
          .split('?')[0]
          ?.replaceAll(/\d+/g, 'N')
          .replace(/\/N\/[^/]+/, '/N/x') ?? '',
    )
    const gone: string[] = []
    for (const [kind, [first]] of kinds) {
      const { status } = await fetch(url + first?.path, { headers: { accept: 'text/html,*/*' } })
      if (status === 404 && kind !== '/nowhere') gone.push(kind)
    }
    assert.deepEqual(gone, [])
  })

  for (const bypassCSP of [false, true])
    await test(`xss: nothing runs that stands in an address, ${bypassCSP ? 'without' : 'with'} the policy of the page`, async () => {
      const { url, talk } = await planted()
      const some = xssPayloads.filter(
        (_, at) => at % (everyPayload === 1 ? 8 : 2 * everyPayload) === 0,
      )
      const inAddress = (payload: string) => {
        const asked = encodeURIComponent(payload)
        const path = encodeURIComponent(payload.replaceAll('/', '∕'))
        const to = encodeURIComponent(`/search?q=${asked}`)
        return [
          ...[
            `${talk}?t=${asked}`,
            `${talk}?${asked}=${asked}`,
            `/search?page=${asked}`,
            `/search?ordering=${asked}&category=${asked}`,
          ],
          ...[
            `/prefer?to=${asked}&locale=${asked}&theme=${asked}`,
            `/prefer?to=${to}`,
            `/prefer?to=%2F${asked}&locale=es`,
          ],
          ...[
            `/video/${path}`,
            `/video/${path}/${path}`,
            `/year/${path}`,
            `/language/${path}`,
            `/speaker/-/${path}`,
            `/assets/${path}`,
            `/${path}`,
          ],
        ]
      }
      const places = some.flatMap(inAddress).map((path) => ({ path, isPage: true }))
      const cookies = some.map((it) => it.replaceAll(/[^\x21-\x3a\x3c-\x7e]/g, ''))
      const { wrong } = await lookAt(blind, url, places, { bypassCSP, cookies })
      console.log(`  ${some.length} payloads, ${places.length} addresses looked at`)
      assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} in all`)
    })
}

interface Looking {
  readonly bypassCSP: boolean
  /** Values of the cookies that we read, one after the other. */
  readonly cookies?: readonly string[]
}

async function lookAt(
  browser: Browser,
  url: string,
  places: readonly XssTarget[],
  { bypassCSP, cookies }: Looking,
): Promise<{ wrong: string[]; missing: string[] }> {
  const wrong: string[] = []
  const missing: string[] = []
  const context = await browser.newContext({
    bypassCSP,
    locale: 'en-GB',
    viewport: { width: 1000, height: 700 },
  })
  try {
    await watch(context, url, wrong)
    const left = [...places.entries()].reverse()
    const worker = async () => {
      const page = await context.newPage()
      page.setDefaultNavigationTimeout(20_000)
      for (let next = left.pop(); next; next = left.pop()) {
        const [at, { path }] = next
        const value = cookies?.[at % cookies.length]
        if (value !== undefined)
          await page.setExtraHTTPHeaders({ cookie: `locale=${value}; theme=${value}` })
        const status = await look(page, url, path, wrong)
        if (status === 404) missing.push(path)
        if (status >= 500) wrong.push(`${status} ${path}`)
      }
      await page.close()
    }
    await Promise.all(Array.from({ length: tabs }, worker))
  } finally {
    await context.close()
  }
  return { wrong, missing }
}

async function watch(context: BrowserContext, url: string, wrong: string[]): Promise<void> {
  await context.exposeBinding('ran', ({ frame }) => void wrong.push(`it ran: ${frame.url()}`))
  await context.exposeBinding(
    'broken',
    ({ frame }, what: string) => void wrong.push(`the policy was needed: ${what} ${frame.url()}`),
  )
  await context.addInitScript(() => {
    const { broken } = window as unknown as { broken(what: string): void }
    addEventListener('securitypolicyviolation', (it) =>
      broken(`${it.violatedDirective} ${it.blockedURI}`),
    )
  })
  context.on('dialog', (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  context.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.origin !== url && !['data:', 'blob:'].includes(asked.protocol))
      wrong.push(`asked ${request.url()} on ${request.frame().url()}`)
  })
  context.on('page', (page) => {
    page.on('pageerror', (error) => wrong.push(`an error: ${error.message} ${page.url()}`))
    page.on('popup', () => wrong.push(`a window opened: ${page.url()}`))
  })
}

async function look(page: Page, url: string, path: string, wrong: string[]): Promise<number> {
  try {
    const response = await page.goto(url + path, { waitUntil: 'domcontentloaded' })
    const status = response?.status() ?? 0
    const headers = response?.headers() ?? {}
    const nonce = /'nonce-([^']+)'/.exec(headers['content-security-policy'] ?? '')?.[1] ?? ''
    if (headers['x-content-type-options'] !== 'nosniff')
      wrong.push(`it may be taken for something else: ${path}`)
    for (const it of await page.evaluate(foreignIn, nonce)) wrong.push(`${path} ${it}`)
    if (new URL(page.url()).origin !== url) wrong.push(`${path} led to ${page.url()}`)
    return status
  } catch (error) {
    // What a browser saves instead of showing it runs nowhere.
    if (error instanceof Error && /Download is starting/.test(error.message)) return 200
    wrong.push(`${path} ${error}`)
    return 0
  }
}
