import type { EntityPageKind, Linked, SearchState } from './paths.ts'

// What pages are made of. The server fills it in; no page asks for anything by itself.

export interface NamedLink extends Linked {
  readonly name: string
}

export interface LanguageOf {
  /** As records show it, in English. */
  readonly name: string
  readonly slug: string
  /** BCP 47. */
  readonly code: string
}

/** A talk as lists show it. */
export interface Card extends Linked {
  readonly title: string
  readonly speakers: readonly NamedLink[]
  readonly category: NamedLink
  readonly language: LanguageOf
  /** YYYY-MM-DD */
  readonly recorded: string | null
  readonly seconds: number | null
  /** Changes with what the picture is made of. */
  readonly pictureVersion: string
}

export interface TextPart {
  readonly text: string
  readonly hit?: true
}

export interface FoundCard extends Card {
  /** The title in pieces, where words of a search are in it. */
  readonly titlePieces?: readonly TextPart[]
  readonly excerpt?: readonly TextPart[]
}

export interface CountedValue {
  readonly value: string
  readonly name: string
  /** Of a language. */
  readonly code?: string
  readonly talks: number
}

export interface EventSummary extends NamedLink {
  readonly talks: number
  /** The days of its first and last talk, or those that it says itself. */
  readonly first: string | null
  readonly last: string | null
}

export interface PagerData {
  /** From 1. */
  readonly page: number
  readonly pages: number
  /** False where there are more than could be counted. */
  readonly isExact: boolean
}

export interface Totals {
  readonly talks: number
  readonly events: number
  readonly speakers: number
  readonly languages: number
  readonly seconds: number
}

export interface HomeData {
  readonly totals: Totals
  readonly newest: readonly Card[]
  /** The newest events, each with some of its talks. */
  readonly events: readonly (EventSummary & { readonly cards: readonly Card[] })[]
  readonly years: readonly CountedValue[]
  readonly languages: readonly (LanguageOf & { readonly talks: number })[]
  readonly tags: readonly (NamedLink & { readonly talks: number })[]
}

export type FacetKind = 'category' | 'language' | 'year' | 'speaker' | 'tag' | 'duration'

export interface SearchData {
  readonly state: SearchState
  readonly cards: readonly FoundCard[]
  readonly count: number
  readonly isExact: boolean
  readonly pager: PagerData
  readonly corrected: readonly { readonly from: string; readonly to: string }[]
  /** No talk has all the words. */
  readonly isLoose: boolean
  readonly facets: Readonly<Record<FacetKind, readonly CountedValue[]>> | undefined
}

/** Where a talk can be watched. */
export interface Source {
  readonly host: 'youtube' | 'vimeo' | 'peertube' | 'hls' | 'file'
  /** What the player is given: an address that was checked. */
  readonly src: string
  /** Where a reader goes to see it there. */
  readonly address: string
  /** The name of the host, or the format of the file. */
  readonly label: string
}

/** A copy that can be fetched, or a page about the talk. */
export interface Link {
  readonly address: string
  readonly label: string
  /** Bytes. */
  readonly size?: number | null
}

export interface Talk extends Card {
  readonly summary: string
  readonly description: string
  readonly tags: readonly NamedLink[]
  readonly qualityNotes: string
  readonly copyrightText: string
  readonly sources: readonly Source[]
  readonly downloads: readonly Link[]
  readonly links: readonly Link[]
  /** Moments of the record, ISO 8601 in UTC. */
  readonly added: string
  readonly updated: string
}

export interface TalkData {
  readonly talk: Talk
  /** The texts of the talk as HTML, rendered from Markdown. */
  readonly texts: readonly string[]
  /** The same talk at other events. */
  readonly also: readonly Card[]
  readonly bySpeakers: readonly Card[]
  readonly atEvent: readonly Card[]
  readonly similar: readonly Card[]
  /** Where to start, in seconds. */
  readonly at: number
}

/** A page of talks that have something in common. */
export interface CollectionData {
  readonly kind: EntityPageKind | 'language' | 'year'
  readonly name: string
  /** Of a language. */
  readonly code?: string
  readonly path: string
  /** Of a category, speaker or tag. */
  readonly entity?: Linked
  /** What narrows a search to these talks. */
  readonly state: SearchState
  readonly about?: {
    readonly description: string
    /** The description as HTML, rendered from Markdown. */
    readonly html: string
    readonly url: string | null
    readonly first: string | null
    readonly last: string | null
  }
  readonly aliases: readonly string[]
  readonly count: number
  readonly isExact: boolean
  readonly cards: readonly Card[]
  readonly pager: PagerData
  readonly facets: Partial<Readonly<Record<FacetKind, readonly CountedValue[]>>>
}

export interface EventsData {
  /** The newest first. */
  readonly years: readonly {
    readonly year: string | null
    readonly events: readonly EventSummary[]
  }[]
  readonly count: number
}

/** All speakers or tags, by name. */
export interface DirectoryData {
  readonly kind: 'speaker' | 'tag'
  readonly names: readonly (NamedLink & { readonly talks: number })[]
  readonly common: readonly (NamedLink & { readonly talks: number })[]
  readonly count: number
  /** The letter that the list begins at. */
  readonly character: string
  readonly pager: PagerData
}

export interface AboutData {
  readonly totals: Totals
  readonly byYear: readonly { readonly year: number; readonly talks: number }[]
  readonly byLanguage: readonly (LanguageOf & { readonly talks: number })[]
  /** By month, YYYY-MM. */
  readonly added: readonly { readonly month: string; readonly talks: number }[]
  /** How many talks have each of these. */
  readonly having: Readonly<
    Record<
      'speakers' | 'description' | 'duration' | 'recorded' | 'tags' | 'licence' | 'source',
      number
    >
  >
  readonly hosts: readonly { readonly host: string; readonly talks: number }[]
}

export interface ProblemData {
  readonly status: number
  readonly problem: string
  readonly detail: string
  readonly requestId: string
}
