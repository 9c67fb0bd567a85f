import { createClient } from '@talkshelf/client'
import { followChanges } from '@talkshelf/client/follow'
import { type FeedPage, FeedPage as PageSchema, validationErrors } from '@talkshelf/contract'
import { boundedFetch } from './bounded-fetch.ts'
import { type MirrorFolder, openMirrorFolder } from './folder.ts'

// Keeps a copy of the public data of another archive: reads its change feed, and stores each page
// together with its cursor. The copy is compared with the digest of the feed whenever it has all
// entries.

export interface MirrorOptions {
  /** The URL of the archive. */
  readonly source: string
  readonly folder: string
  /** Ends when the copy is complete, instead of waiting for changes. */
  readonly isOnce: boolean
  readonly signal?: AbortSignal
  say(line: string): void
}

/** The source answers with something that is not a change feed. */
export class MirrorError extends Error {
  override readonly name = 'MirrorError'
}

/** Keeps a folder up to date with an archive until the signal aborts, or once. */
export async function mirror(options: MirrorOptions): Promise<void> {
  const folder = await openMirrorFolder(options.folder, options.source)
  const { cursor } = folder
  options.say(
    cursor === undefined
      ? `Copying ${options.source} to ${options.folder}`
      : `Continuing the copy of ${options.source} in ${options.folder}, ${folder.size()} files`,
  )
  try {
    if (cursor === undefined || !folder.isExact()) await copyAll(folder, options)
    // Each copy of everything may be outdated by another restore, but not again and again.
    for (let attempt = 1; !(await follow(folder, options)); attempt++) {
      if (attempt === maxAttempts)
        throw new MirrorError(`${options.source} and the digest of its feed differ every time.`)
      await copyAll(folder, options)
    }
  } finally {
    await folder.close()
  }
}

const maxAttempts = 3

/**
 * Applies the changes after the cursor of the folder. Returns false if the copy has to be compared
 * with the whole archive: it was restored from a backup, or the digest of the copy is wrong.
 */
async function follow(
  folder: MirrorFolder,
  { source, signal, isOnce, say }: MirrorOptions,
): Promise<boolean> {
  const { cursor: since = '0' } = folder
  const pages = followChanges(clientFor(source), {
    since,
    include: 'record',
    limit: pageSize,
    ...(isOnce && { wait: 0 }),
    ...(signal && { signal }),
    onRetry: (error) => say(`${describe(error)}. Trying again`),
  })
  try {
    for await (const page of pages) {
      await folder.apply(checkedPage(page, source))
      if (page.more) continue
      if (!folder.isExact()) {
        say('The copy differs from the archive. Reading the whole archive again')
        return false
      }
      say(`Up to date: ${folder.size()} files, entry ${page.cursor.split('.')[0]} of the feed`)
    }
    return true
  } catch (error) {
    if (!isOtherHistory(error)) throw error
    say('The archive was restored from a backup. Reading the whole archive again')
    return false
  }
}

/** Reads the newest entry of everything, and removes what is in none. */
async function copyAll(folder: MirrorFolder, options: MirrorOptions): Promise<void> {
  const { source, signal, say } = options
  const seen = new Set<string>()
  let shownMs = performance.now()
  const pages = followChanges(clientFor(source), {
    since: '0',
    include: 'record',
    compact: 'true',
    limit: pageSize,
    wait: 0,
    ...(signal && { signal }),
    onRetry: (error) => say(`${describe(error)}. Trying again`),
  })
  let last: FeedPage | undefined
  for await (const page of pages) {
    // Without the cursor: a copy that is interrupted here starts again.
    await folder.write(checkedPage(page, source).results)
    for (const { kind, id } of page.results) seen.add(`${kind}:${id}`)
    last = page
    if (performance.now() - shownMs > 5000) {
      say(`${seen.size} records, speakers, tags and events copied`)
      shownMs = performance.now()
    }
  }
  if (signal?.aborted || !last) return
  await folder.removeOthers(seen)
  await folder.apply({ ...last, results: [] })
  say(`Copied ${folder.size()} files`)
}

const pageSize = 100

const clientFor = (source: string) => createClient({ baseUrl: source, fetch: boundedFetch })

/** Returns the page. Throws if the source sent something else. */
function checkedPage(page: FeedPage, source: string): FeedPage {
  const [error] = validationErrors(PageSchema, page)
  if (!error) return page
  throw new MirrorError(
    `${source} does not answer as an archive of this version: ${error.pointer} ${error.detail}`,
  )
}

const describe = (error: unknown) => (error instanceof Error ? error.message : String(error))

const isOtherHistory = (error: unknown) => error instanceof Error && error.name === 'other-history'
