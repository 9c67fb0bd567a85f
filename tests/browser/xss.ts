import assert from 'node:assert/strict'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { openAssets } from '../../server/pages/assets.ts'
import { loaderScript } from '../../web/loader.ts'
import { startChromium, withoutPictures } from './chromium.ts'
import type { BrowserEnvironment } from './environment.ts'
import { type PlantedPayloads, plant, type XssTarget } from './xss-archive.ts'
import { findForeignContent } from './xss-dom.ts'
import { xssPayloads } from './xss-payloads.ts'

// No payload in a record or in a URL may run, with the content security policy of the page and
// without: escaping alone must be enough.

const tabs = 4

/** Tests every page, feed and file with payloads in records, and pages with payloads in URLs. */
export async function xssTests({
  archive,
  browser,
  test,
  everyPayload,
}: BrowserEnvironment): Promise<void> {
  // Loading pictures takes most of the time, and payloads show in the document anyway. Every tenth
  // talk is opened with pictures.
  const browserWithoutPictures = await startChromium(withoutPictures)
  try {
    await runTests({ archive, browser, test, everyPayload }, browserWithoutPictures)
  } finally {
    await browserWithoutPictures.close()
  }
}

async function runTests(
  { archive, browser, test, everyPayload }: BrowserEnvironment,
  browserWithoutPictures: Browser,
): Promise<void> {
  const chosen = xssPayloads.filter((_, index) => index % everyPayload === 0)
  let started: Promise<PlantedPayloads & { url: string }> | undefined
  const planted = () => {
    started ??= archive
      .empty('xss')
      .then(async ({ url, token }) => ({ url, ...(await plant(url, token, chosen)) }))
    return started
  }

  await test('xss: the API accepts nearly all of at least 300 payloads', async () => {
    assert.ok(
      xssPayloads.length >= 300 && new Set(xssPayloads).size === xssPayloads.length,
      String(xssPayloads.length),
    )
    const { count, refused } = await planted()
    if (refused.length > 0)
      console.log(`  ${refused.length} were refused, for example ${refused[0]?.slice(0, 200)}`)
    assert.ok(count >= 0.97 * chosen.length, refused.slice(0, 3).join('\n'))
  })

  for (const bypassCSP of [false, true])
    await test(`xss: no payload in a record runs, ${policyOf(bypassCSP)}`, async () => {
      const { url, targets, count } = await planted()
      // Feeds and files are opened once, without the protection of a policy.
      const opened = targets.filter(({ isPage }) => isPage || bypassCSP)
      const { problems, missing } = await openAll(browserWithoutPictures, url, opened, {
        bypassCSP,
      })
      console.log(
        `  ${count} payloads, ${opened.length} URLs opened, of which ${missing.length} are missing`,
      )
      assert.deepEqual(problems.slice(0, 5), [], `${problems.length} in all`)
    })

  await test(`xss: no payload runs on pages with pictures, ${policyOf(true)}`, async () => {
    const { url, targets } = await planted()
    const some = targets
      .filter(({ path }) => /^\/video\/\d+\/(?!embed)[^/]+$/.test(path))
      .filter((_, index) => index % 10 === 0)
    const { problems } = await openAll(browser, url, some, { bypassCSP: true })
    console.log(`  ${some.length} talks opened`)
    assert.deepEqual(problems.slice(0, 5), [], `${problems.length} in all`)
  })

  await test('xss: every kind of URL exists', async () => {
    const { url, targets } = await planted()
    const kinds = Map.groupBy(
      targets,
      ({ path }) =>
        path
          .split('?')[0]
          ?.replaceAll(/\d+/g, 'N')
          .replace(/\/N\/[^/]+/, '/N/x') ?? '',
    )
    const missing: string[] = []
    for (const [kind, [first]] of kinds) {
      const { status } = await fetch(url + first?.path, { headers: { accept: 'text/html,*/*' } })
      if (status === 404 && kind !== '/nowhere') missing.push(kind)
    }
    assert.deepEqual(missing, [])
  })

  for (const bypassCSP of [false, true])
    await test(`xss: no payload in a URL runs, ${policyOf(bypassCSP)}`, async () => {
      const { url, talk } = await planted()
      const some = xssPayloads.filter(
        (_, index) => index % (everyPayload === 1 ? 8 : 2 * everyPayload) === 0,
      )
      const targets = some
        .flatMap((payload) => pathsWith(talk, payload))
        .map((path) => ({ path, isPage: true }))
      const cookies = some.map((payload) => payload.replaceAll(/[^\x21-\x3a\x3c-\x7e]/g, ''))
      const { problems } = await openAll(browserWithoutPictures, url, targets, {
        bypassCSP,
        cookies,
      })
      console.log(`  ${some.length} payloads, ${targets.length} URLs opened`)
      assert.deepEqual(problems.slice(0, 5), [], `${problems.length} in all`)
    })
}

const policyOf = (bypassCSP: boolean) => `${bypassCSP ? 'without' : 'with'} the policy of the page`

/** Returns paths with a payload in the path or in the query. */
function pathsWith(talk: string, payload: string): string[] {
  const encoded = encodeURIComponent(payload)
  const segment = encodeURIComponent(payload.replaceAll('/', '∕'))
  const to = encodeURIComponent(`/search?q=${encoded}`)
  return [
    `${talk}?t=${encoded}`,
    `${talk}?${encoded}=${encoded}`,
    `/search?page=${encoded}`,
    `/search?ordering=${encoded}&category=${encoded}`,
    `/prefer?to=${encoded}&locale=${encoded}&theme=${encoded}`,
    `/prefer?to=${to}`,
    `/prefer?to=%2F${encoded}&locale=es`,
    `/video/${segment}`,
    `/video/${segment}/${segment}`,
    `/year/${segment}`,
    `/language/${segment}`,
    `/speaker/-/${segment}`,
    `/assets/${segment}`,
    `/${segment}`,
  ]
}

interface OpenOptions {
  readonly bypassCSP: boolean
  /** Values of the cookies that the server reads; each URL is opened with the next one. */
  readonly cookies?: readonly string[]
}

async function openAll(
  browser: Browser,
  url: string,
  targets: readonly XssTarget[],
  { bypassCSP, cookies }: OpenOptions,
): Promise<{ problems: string[]; missing: string[] }> {
  const problems: string[] = []
  const missing: string[] = []
  const context = await browser.newContext({
    bypassCSP,
    locale: 'en-GB',
    viewport: { width: 1000, height: 700 },
  })
  try {
    await watch(context, url, problems)
    const queue = [...targets.entries()].reverse()
    const worker = async () => {
      const page = await context.newPage()
      page.setDefaultNavigationTimeout(20_000)
      for (let next = queue.pop(); next; next = queue.pop()) {
        const [index, { path }] = next
        const value = cookies?.[index % cookies.length]
        if (value !== undefined)
          await page.setExtraHTTPHeaders({ cookie: `locale=${value}; theme=${value}` })
        const status = await openOne(page, url, path, problems)
        if (status === 404) missing.push(path)
        if (status >= 500) problems.push(`${status} ${path}`)
      }
      await page.close()
    }
    await Promise.all(Array.from({ length: tabs }, worker))
  } finally {
    await context.close()
  }
  return { problems, missing }
}

/** Records everything that a payload could do. */
async function watch(context: BrowserContext, url: string, problems: string[]): Promise<void> {
  await context.exposeBinding('ran', ({ frame }) => void problems.push(`it ran: ${frame.url()}`))
  await context.exposeBinding(
    'reportViolation',
    ({ frame }, violation: string) =>
      void problems.push(`violates the policy: ${violation} ${frame.url()}`),
  )
  await context.addInitScript(() => {
    const { reportViolation } = window as unknown as { reportViolation(violation: string): void }
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      reportViolation(`${violatedDirective} ${blockedURI}`),
    )
  })
  context.on('dialog', (dialog) => {
    problems.push(`a dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== url && !['data:', 'blob:'].includes(protocol))
      problems.push(`request to ${request.url()} on ${request.frame().url()}`)
  })
  context.on('page', (page) => {
    page.on('pageerror', (error) => problems.push(`an error: ${error.message} ${page.url()}`))
    page.on('popup', () => problems.push(`a window opened: ${page.url()}`))
  })
}

const loader = loaderScript(openAssets().script)

async function openOne(page: Page, url: string, path: string, problems: string[]): Promise<number> {
  try {
    const response = await page.goto(url + path, { waitUntil: 'domcontentloaded' })
    const status = response?.status() ?? 0
    const headers = response?.headers() ?? {}
    if (headers['x-content-type-options'] !== 'nosniff')
      problems.push(`sent without nosniff: ${path}`)
    for (const problem of await page.evaluate(findForeignContent, loader))
      problems.push(`${path} ${problem}`)
    if (new URL(page.url()).origin !== url) problems.push(`${path} redirected to ${page.url()}`)
    return status
  } catch (error) {
    // A download is not shown, so nothing in it runs.
    if (error instanceof Error && /Download is starting/.test(error.message)) return 200
    problems.push(`${path} ${error}`)
    return 0
  }
}
