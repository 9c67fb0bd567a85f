import type { DataLicence } from './data-licence.ts'

// What pages show of the archive itself, as its operator has set it.

/** Pages with the operator's own text. "about" is part of the page with the statistics. */
export const sitePages = ['about', 'contact', 'imprint', 'privacy'] as const
export type SitePage = (typeof sitePages)[number]

/** The operator's text of a page in one language. */
export interface SiteText {
  /** The first heading, if the text begins with one. */
  readonly title?: string | undefined
  readonly html: string
  readonly lang: string
}

export interface SiteLogo {
  /** Paths relative to the base path. */
  readonly light: string
  readonly dark?: string | undefined
  readonly width: number
  readonly height: number
  /** Whether the logo has the name of the archive, so that it is not written next to it. */
  readonly hasName: boolean
}

export interface SiteView {
  readonly name: string
  /** The URL of the archive that this one is a copy of. */
  readonly source?: string | undefined
  /** The licence of the data. */
  readonly licence?: DataLicence | undefined
  /** Pages that exist, besides the one with the statistics. */
  readonly pages: readonly SitePage[]
  /** Where readers reach the operator: a path with the base path, or a URL. */
  readonly contact?: string | undefined
  readonly operator?: { readonly name: string; readonly url?: string | undefined } | undefined
  /** The first line of the home page. */
  readonly tagline?: string | undefined
  readonly logo?: SiteLogo | undefined
  /** Paths relative to the base path. */
  readonly icon: { readonly path: string; readonly type: string }
  /** A style sheet with the colours of the archive. */
  readonly style?: string | undefined
}
