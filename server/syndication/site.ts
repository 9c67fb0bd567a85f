import type { DataLicence } from '@talkshelf/web'
import type { Site } from '../site/site.ts'

/** The name and the URL of the archive. */
export interface SiteInfo {
  readonly name: string
  /** Returns the start of all URLs, without a slash at the end. */
  origin(): string
  /** The path that the site is mounted under: empty, or without a slash at the end. */
  readonly basePath: string
  /** The licence of the data. */
  readonly licence?: DataLicence | undefined
  /** What the operator has set. */
  readonly content?: Pick<Site, 'pages' | 'icon'>
}
