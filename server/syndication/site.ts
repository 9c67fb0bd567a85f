/** The name and the URL of the archive. */
export interface SiteInfo {
  readonly name: string
  /** Returns the start of all URLs, without a slash at the end. */
  origin(): string
  /** The path that the site is mounted under: empty, or without a slash at the end. */
  readonly basePath: string
}
