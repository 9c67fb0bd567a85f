import type {
  LinkKind,
  RecordingStatus,
  SuggestedField,
  SuggestionKind,
  SuggestionState,
  UnavailableState,
} from '@talkshelf/contract'
import type { EntityPageKind, Linked, ProfilePicture, SearchKey, SearchState } from './paths.ts'

// The data of the pages, provided by the server. Pages load nothing themselves.

export interface NamedLink extends Linked {
  readonly name: string
}

export interface LanguageOf {
  /** English name, as in records. */
  readonly name: string
  readonly slug: string
  /** BCP 47 code. */
  readonly code: string
}

/** A talk in a list. */
export interface Card extends Linked {
  readonly title: string
  readonly speakers: readonly NamedLink[]
  readonly category: NamedLink
  readonly language: LanguageOf
  /** YYYY-MM-DD */
  readonly recorded: string | null
  readonly seconds: number | null
  /** Whether the length is probably a mistake. */
  readonly isLengthDoubtful: boolean
  /** Changes with the content of the picture. */
  readonly pictureVersion: string
}

export interface TextPart {
  readonly text: string
  readonly hit?: true
}

export interface FoundCard extends Card {
  /** The title in pieces, if it matches the search. */
  readonly titlePieces?: readonly TextPart[]
  readonly excerpt?: readonly TextPart[]
}

export interface CountedValue {
  readonly value: string
  readonly name: string
  /** BCP 47 code, only for languages. */
  readonly code?: string
  readonly talks: number
}

export interface EventSummary extends NamedLink {
  readonly talks: number
  /** Dates of the event, or of its first and last talk. */
  readonly first: string | null
  readonly last: string | null
}

export interface PagerData {
  /** Page number, from 1. */
  readonly page: number
  readonly pages: number
  /** False if the number of pages is an estimate. */
  readonly isExact: boolean
}

export interface Totals {
  readonly talks: number
  readonly events: number
  readonly speakers: number
  readonly languages: number
  readonly seconds: number
}

/** Talks that were added together: by one import, or one by one on the same day. */
export interface AdditionData {
  /** YYYY-MM-DD */
  readonly day: string
  readonly talks: number
  readonly events: number
  /** Some of the talks. */
  readonly cards: readonly Card[]
}

export interface HomeData {
  readonly totals: Totals
  readonly additions: readonly AdditionData[]
  /** The newest events, each with some of its talks. */
  readonly events: readonly (EventSummary & { readonly cards: readonly Card[] })[]
  readonly years: readonly CountedValue[]
  readonly languages: readonly (LanguageOf & { readonly talks: number })[]
  readonly tags: readonly (NamedLink & { readonly talks: number })[]
}

export type FacetKind = 'category' | 'language' | 'year' | 'speaker' | 'tag' | 'duration'

export interface SearchData {
  readonly state: SearchState
  /** The speakers, events and tags that the query names. */
  readonly named: readonly (NamedLink & { readonly kind: EntityPageKind; readonly talks: number })[]
  readonly cards: readonly FoundCard[]
  readonly count: number
  readonly isExact: boolean
  readonly pager: PagerData
  /** The query with corrected spelling, if it was corrected. */
  readonly correctedQuery: string | undefined
  /** How many of the results match all words. */
  readonly allWords: number
  /** Whether the query excludes words and has no others. */
  readonly hasOnlyExclusions: boolean
  readonly facets: Readonly<Record<FacetKind, readonly CountedValue[]>> | undefined
  /** The facets whose numbers are estimates. */
  readonly estimatedFacets: readonly FacetKind[]
  /** The active filters, also those that no talk matches. */
  readonly filters: Readonly<Partial<Record<FacetKind, Omit<CountedValue, 'talks'>>>>
}

/** Why a talk has no recording, or that it has one. */
export type RecordingState = RecordingStatus | 'published'

export interface ScheduleEntry {
  readonly id: number
  readonly title: string
  readonly speakers: readonly string[]
  /** With the offset of the place from UTC; null if unknown. */
  readonly start: string | null
  readonly room: string
  /** Null if unknown. */
  readonly recording: RecordingState | null
  /** Null if the talk has no public page. */
  readonly link: Linked | null
}

export interface ScheduleData {
  readonly event: NamedLink
  readonly talks: readonly ScheduleEntry[]
}

/** Why a recording cannot simply be watched. */
export interface SourceStatus {
  readonly state: UnavailableState
  /** Since when, YYYY-MM-DD. */
  readonly since: string
  /** When it was there last, YYYY-MM-DD. */
  readonly lastGood: string | null
}

/** A recording that is not there any more. */
export interface LostSource {
  /** URL of the recording on its host. */
  readonly address: string
  /** Name of the host, and the format of a file. */
  readonly label: string
  readonly status: SourceStatus
}

/** A recording that can be played. */
export interface Source {
  readonly host: 'youtube' | 'vimeo' | 'peertube' | 'hls' | 'file'
  /** Validated URL for the player; a path for a file of the archive itself. */
  readonly src: string
  /** URL of the recording on its host. */
  readonly address: string
  /** Name of the host, or format of the file. */
  readonly label: string
  /** Where the talk is in the recording, if that holds several. */
  readonly part?: TalkPart
  /** Undefined if nothing is known against it. */
  readonly status?: SourceStatus
}

export interface TalkPart {
  /** URL of the whole recording. */
  readonly recording: string
  /** In seconds. */
  readonly start: number
  /** Null if the talk ends with the recording. */
  readonly end: number | null
}

/** A file to download, or a page about the talk. */
export interface Link {
  readonly address: string
  readonly label: string
  /** Size in bytes. */
  readonly size?: number | null
  /** Whether it is about the talk, such as slides, and not a recording. */
  readonly isRelated?: true
  /** Undefined if nothing is known against it. */
  readonly status?: SourceStatus
}

export interface Talk extends Card {
  /** The path of its picture in a preview: that of a draft is not public. */
  readonly picture?: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly NamedLink[]
  readonly qualityNotes: string
  readonly copyrightText: string
  readonly sources: readonly Source[]
  /** Recordings that play only at their host. */
  readonly elsewhere: readonly Link[]
  /** Recordings that are not there any more. */
  readonly lost: readonly LostSource[]
  readonly downloads: readonly Link[]
  readonly links: readonly Link[]
  /** Why there is no recording, if that is known. */
  readonly recordingStatus?: RecordingStatus
  /** Times in UTC, ISO 8601. */
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
  /** Start time in seconds. */
  readonly at: number
  /** Readers whose suggestions were accepted and who want credit. */
  readonly credits: readonly string[]
}

/** What the page of an event or speaker shows besides its names and talks. */
export interface EntityProfile {
  readonly picture: ProfilePicture | null
  /** Colour of the banner, #rrggbb. */
  readonly colour: string | null
  readonly pronouns: string | null
  readonly place: {
    readonly city: string | null
    /** ISO 3166-1 alpha-2. */
    readonly country: string | null
    readonly online: boolean
  } | null
  readonly series: {
    readonly name: string
    /** All events of the series, newest first. */
    readonly events: readonly (NamedLink & { readonly isCurrent: boolean })[]
  } | null
  readonly links: readonly { readonly kind: LinkKind; readonly url: string }[]
}

/** The number of values of a facet on the page of an entity. */
export const maxCommonFacets = 12

/** A page of talks that have something in common. */
export interface CollectionData {
  readonly kind: EntityPageKind | 'language' | 'year'
  readonly name: string
  /** BCP 47 code, only for languages. */
  readonly code?: string
  readonly path: string
  /** Only for categories, speakers and tags. */
  readonly entity?: Linked
  /** Search parameters that select these talks. */
  readonly state: SearchState
  /** Only for events and speakers. Only events have a URL and dates. */
  readonly about?: {
    readonly description: string
    /** The description as HTML, rendered from Markdown. */
    readonly html: string
    readonly url: string | null
    readonly first: string | null
    readonly last: string | null
  }
  /** Only for events and speakers. */
  readonly profile?: EntityProfile
  readonly aliases: readonly string[]
  /** Whether the event has a schedule. */
  readonly hasSchedule?: boolean
  readonly count: number
  readonly isExact: boolean
  readonly cards: readonly Card[]
  readonly pager: PagerData
  /** All speakers of an event, by name, if there are more than `maxCommonFacets`. */
  readonly speakers?: readonly CountedValue[]
  readonly facets: Partial<Readonly<Record<FacetKind, readonly CountedValue[]>>>
  /** The facets whose numbers are estimates. */
  readonly estimatedFacets: readonly FacetKind[]
}

export interface EventsData {
  /** Newest first. */
  readonly years: readonly {
    readonly year: string | null
    readonly events: readonly EventSummary[]
  }[]
  readonly count: number
}

/** An entry of the jump list of a directory. */
export interface Initial {
  readonly label: string
  /** What the list starts at. */
  readonly character: string
}

/** All speakers or tags, by name. */
export interface DirectoryData {
  readonly kind: 'speaker' | 'tag'
  readonly names: readonly (NamedLink & { readonly talks: number })[]
  readonly common: readonly (NamedLink & { readonly talks: number })[]
  readonly count: number
  /** What the list starts at; empty for the beginning. */
  readonly character: string
  readonly initials: readonly Initial[]
  readonly pager: PagerData
}

/** The feeds of a page. */
export interface FollowData {
  readonly kind: CollectionData['kind'] | 'home' | 'events' | 'search'
  /** Name of the entity, language or year, or what is searched for; otherwise empty. */
  readonly name: string
  /** BCP 47 code, only for languages. */
  readonly code?: string
  /** Path of the page. */
  readonly page: string
}

export interface AboutData {
  readonly totals: Totals
  readonly byYear: readonly { readonly year: number; readonly talks: number }[]
  readonly byLanguage: readonly (LanguageOf & { readonly talks: number })[]
  /** Number of talks added per month, YYYY-MM. */
  readonly added: readonly { readonly month: string; readonly talks: number }[]
  /** Number of talks that have each detail. */
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
  /** If a list has fewer pages than the URL asks for. */
  readonly missingPage?: {
    /** The search, if the list is one. */
    readonly search?: SearchState
    /** Path of the first page, with the base path. */
    readonly firstPage: string
  }
  /** If filters of a search have invalid values. */
  readonly invalidSearch?: {
    readonly filters: readonly SearchKey[]
    /** The search without them. */
    readonly rest: SearchState
  }
}

/** The form of a suggestion. */
export interface SuggestData {
  readonly kind: SuggestionKind
  /** Undefined for a talk that is missing. */
  readonly talk: (Linked & { readonly title: string }) | undefined
  /** The token of the form. Undefined if the queue is full and nothing was typed. */
  readonly token: string | undefined
  /** The zero bits of the proof of work, if the browser shall do some. */
  readonly proofOfWorkBits: number | undefined
  /** How long the form must have been open before it is sent. */
  readonly waitMs: number
  /** The fields of the talk as texts. */
  readonly values: Readonly<Partial<Record<SuggestedField, string>>>
  readonly duplicateOf: string
  readonly comment: string
  readonly name: string
  readonly showName: boolean
  /** The name of a field that people do not see. */
  readonly honeypotField: string
  /** Why the form was not accepted. Empty: only because of fields. */
  readonly error:
    | ''
    | 'too-fast'
    | 'expired'
    | 'honeypot'
    | 'too-many-requests'
    | 'queue-full'
    | 'empty'
    | undefined
  /** By field, in English. */
  readonly errors: Readonly<Partial<Record<string, string>>>
}

/** A suggestion for its author. */
export interface FollowedData {
  readonly id: number
  readonly secret: string
  readonly kind: SuggestionKind
  readonly state: SuggestionState
  readonly created: string
  readonly reason: string | null
  readonly comment: string
  readonly name: string | null
  readonly reply: string | null
  readonly talk: (Linked & { readonly title: string }) | undefined
  readonly fields: readonly {
    readonly field: string
    readonly suggested: unknown
    readonly current: unknown
    readonly isAlreadyApplied: boolean
    readonly isTaken: boolean
  }[]
  /** Whether it was just sent. */
  readonly isNew: boolean
  /** Why a reply was refused, and what was typed. */
  readonly replyError: 'empty' | 'full' | undefined
  readonly typedReply: string
}
