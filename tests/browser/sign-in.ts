import assert from 'node:assert/strict'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { runCommand } from '../support/harness.ts'
import type { BrowserEnvironment, WatchedPage } from './environment.ts'

/** What the tests of the desk use. */
export interface DeskSteps {
  readonly test: BrowserEnvironment['test']
  inDesk(
    run: (watched: WatchedPage) => Promise<void>,
    options?: BrowserContextOptions,
  ): Promise<void>
  signIn(watched: WatchedPage, name: string, role: string): Promise<void>
}

/** An archive in which people can sign in. Passkeys need a host name in its URL. */
export interface DeskArchive {
  readonly url: string
  readonly databaseUrl: string
}

/** Invites a person with the command. Returns the path of the link, and the code. */
export async function invitePerson(
  { url, databaseUrl }: DeskArchive,
  name: string,
  role: string,
): Promise<{ path: string; code: string }> {
  const { stdout, stderr, code } = await runCommand(['person', 'invite', name, '--role', role], {
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: url,
  })
  assert.equal(code, 0, stderr)
  return {
    path: new URL(stdout.trim()).pathname,
    code: /passkey: (\d{6})/.exec(stderr)?.[1] ?? '',
  }
}

/** Invites a person and signs in with the code of the invitation, on a page in English. */
export async function signInWithCode(
  page: Page,
  archive: DeskArchive,
  name: string,
  role: string,
): Promise<void> {
  const { path, code } = await invitePerson(archive, name, role)
  await page.goto(archive.url + path)
  await page.getByText('Sign in without a passkey').click()
  await page.getByLabel('Code').fill(code)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL('**/desk')
}
