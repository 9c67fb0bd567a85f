/** What the archive is called, and where it is. */
export interface SiteInfo {
  readonly name: string
  /** Where addresses start, without a slash at the end. */
  origin(): string
  /** The path that it is mounted under; empty or without a slash at its end. */
  readonly basePath: string
}
