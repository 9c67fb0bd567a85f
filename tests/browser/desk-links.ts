import assert from 'node:assert/strict'
import { proposeReplacement } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { call } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { assertAccessible } from './axe.ts'
import type { DeskSteps } from './sign-in.ts'
import { overflowing, widths } from './sizes.ts'

// Links in the desk: unhealthy sources, and copies in the inbox.

interface Archive {
  readonly url: string
  readonly databaseUrl: string
  readonly token: string
}

/** Creates a talk whose video is gone, and proposes a copy. Returns its title. */
async function makeLost({ url, databaseUrl, token }: Archive, name: string): Promise<string> {
  const title = `Lost ${name}`
  const host = `${name.replaceAll(' ', '-')}.example`
  const body = {
    title,
    category: 'Example Days 2026',
    language: 'English',
    state: 1,
    source_url: `https://${host}/${'a-very-long-name-of-a-file-'.repeat(6)}.mp4`,
  }
  const { json } = await call(url, 'POST', '/api/v2/video', { token, body })
  const { json: sources } = await call(url, 'GET', `/api/v2/video/${json.id}/sources`)
  const [{ id: source }] = sources.results
  await withDatabase(databaseUrl, (query) =>
    query(
      `update source
       set state = 'gone', evidence = 'status 404', last_check = now(),
           health = '{"looks": [{"at": 1767225600000, "verdict": "ok"},
                                {"at": 1769904000000, "verdict": "gone"}]}'
       where id = $1`,
      [source],
    ),
  )
  const pool = openPool({ url: databaseUrl, connections: 1, applicationName: 'browser tests' })
  try {
    const copy = `https://archive.org/details/copy-${json.id}`
    const evidence = `archive.org has the item copy-${json.id}`
    await proposeReplacement(pool, { source, url: copy, finder: 'archive.org', evidence })
  } finally {
    await pool.close()
  }
  return title
}

export async function linkTests(
  { test, inDesk, signIn }: DeskSteps,
  archive: Archive,
): Promise<void> {
  for (const javaScriptEnabled of [true, false]) {
    const variant = javaScriptEnabled ? 'with scripts' : 'without scripts'
    await test(`desk: decides about lost videos, ${variant}`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          const title = await makeLost(archive, variant)
          const host = `${variant.replaceAll(' ', '-')}.example`
          await signIn(watched, `Lina ${variant}`, 'editor')
          await open('/desk')
          await page.getByRole('heading', { name: 'Copies of videos' }).waitFor()
          if (javaScriptEnabled) await assertAccessible(page, 'copies in the inbox')

          await page.getByRole('link', { name: 'Links', exact: true }).click()
          await page.getByRole('heading', { name: 'Links', exact: true }).waitFor()
          await page.getByRole('link', { name: host, exact: true }).click()
          await page.getByText('status 404').waitFor()
          for (const summary of await page.locator('summary').all()) await summary.click()
          if (javaScriptEnabled) {
            await assertAccessible(page, 'links')
            for (const width of widths) {
              await page.setViewportSize({ width, height: Math.round(width * 0.7) })
              assert.deepEqual(await overflowing(page), [], `links at ${width}`)
            }
          }
          await page.getByRole('button', { name: /^Check now: / }).click()
          await page.getByText('as soon as the rate limit for its host allows').waitFor()
          await page.locator('summary', { hasText: 'Pin…' }).click()
          const form = page.locator('form[action$="/pin"]').last()
          await form.getByLabel('State').selectOption('private')
          await form.getByRole('button', { name: 'Pin', exact: true }).click()
          await page.getByText('The state is pinned.').waitFor()
          await page.locator('.mark', { hasText: 'Private' }).waitFor()
          await page.getByRole('button', { name: /^End the pin: / }).click()
          await page.getByText('The pin has ended.').waitFor()

          await page.getByRole('link', { name: title }).click()
          await page.getByRole('heading', { name: 'Where the video is' }).waitFor()
          if (javaScriptEnabled) await assertAccessible(page, 'the sources of a talk')
          await open('/desk')
          await page.getByRole('button', { name: `Accept the copy: ${title}` }).click()
          await page.getByText('The copy was accepted.').waitFor()
          assert.equal(await page.getByText(title, { exact: true }).count(), 0)
          const { json } = await call(
            archive.url,
            'GET',
            `/api/v2/video?q=${encodeURIComponent(`"${title}"`)}`,
          )
          assert.match(json.results[0].source_url, /^https:\/\/archive\.org\/details\/copy-/)
          // For the pages that are visited later.
          await makeLost(archive, `${variant} later`)
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))
  }
}
