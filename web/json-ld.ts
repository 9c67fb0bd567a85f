import type { EntityProfile, NamedLink, Talk } from './data.ts'
import type { DataLicence } from './data-licence.ts'
import { recogniseLicence } from './licence.ts'
import { plainText } from './markdown.ts'
import { paths } from './paths.ts'
import { knownDate } from './recorded.ts'

// Structured data of pages for search engines (schema.org).

type JsonLd = Readonly<Record<string, unknown>>

/** Maximum length of a description, in characters. */
const maxDescription = 500

const context = { '@context': 'https://schema.org' }

/** Serializes JSON-LD for a script element: escapes everything that could end it. */
export function jsonLdText(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Describes a talk. `origin` is the base URL without a trailing slash. */
export function videoJsonLd(talk: Talk, origin: string, dataLicence?: DataLicence): JsonLd {
  const url = origin + paths.talk(talk)
  const file = talk.sources.find(({ host }) => host === 'file')
  const event = origin + paths.entity('category', talk.category)
  const licence = recogniseLicence(talk.copyrightText)
  const part = talk.sources[0]?.part
  return {
    ...context,
    // A clip is a part of a video. As a VideoObject it has an address to play it and a length.
    '@type': part ? ['VideoObject', 'Clip'] : 'VideoObject',
    // Only the id, as in feeds, so that it stays the same if the title changes.
    '@id': `${origin}/video/${talk.id}`,
    url,
    name: talk.title,
    description: plainText(talk.summary || talk.description, maxDescription) || talk.title,
    // When the video was first published. When it was added to this archive says little.
    uploadDate: talk.recorded ?? talk.added,
    dateModified: talk.updated,
    ...(talk.recorded && { dateCreated: knownDate(talk.recorded) }),
    ...(talk.seconds && !talk.isLengthDoubtful && { duration: isoDuration(talk.seconds) }),
    thumbnailUrl: [origin + paths.picture(talk.id, 1280, talk.pictureVersion)],
    ...(talk.sources.length > 0 && { embedUrl: origin + paths.embed(talk.id) }),
    ...(file && !part && { contentUrl: new URL(file.src, origin).href }),
    ...(talk.speakers.length > 0 && {
      creator: talk.speakers.map((speaker) => person(speaker, origin)),
    }),
    inLanguage: talk.language.code,
    ...(talk.tags.length > 0 && { keywords: talk.tags.map(({ name }) => name).join(', ') }),
    ...(licence && { license: licence.url }),
    // The licence of this description, not of the recording.
    ...(dataLicence && { sdLicense: dataLicence.url }),
    // An Event is not a CreativeWork: isPartOf takes its URL, and recordedAt the event itself.
    isPartOf: part ? [event, { '@type': 'VideoObject', url: part.recording }] : event,
    ...(part && {
      startOffset: part.start,
      ...(part.end !== null && { endOffset: part.end }),
    }),
    recordedAt: { '@type': 'Event', '@id': event, name: talk.category.name, url: event },
    ...(talk.sources.length > 0 && {
      potentialAction: {
        '@type': 'SeekToAction',
        target: `${url}?t={seek_to_second_number}`,
        'startOffset-input': 'required name=seek_to_second_number',
      },
    }),
  }
}

export interface EventFacts extends NamedLink {
  readonly first: string | null
  readonly last: string | null
  readonly description?: string
  /** Website of the event. */
  readonly url?: string | null
  readonly profile?: EntityProfile | undefined
}

/** Describes an event. */
export function eventJsonLd(event: EventFacts, origin: string): JsonLd {
  const url = origin + paths.entity('category', event)
  return {
    ...context,
    '@type': 'Event',
    '@id': url,
    name: event.name,
    url,
    ...(event.first && { startDate: event.first }),
    ...(event.last && { endDate: event.last }),
    ...(event.description?.trim() && { description: plainText(event.description, maxDescription) }),
    ...sameAs([event.url, ...(event.profile?.links ?? []).map((link) => link.url)]),
    ...image(event.profile, origin),
    ...location(event, url),
    ...(event.profile?.series && {
      superEvent: { '@type': 'EventSeries', name: event.profile.series.name },
    }),
  }
}

/** Describes where an event took place: somewhere, online, or both. */
function location({ url: website, profile }: EventFacts, page: string): JsonLd {
  const place = profile?.place
  if (!place) return {}
  const { city, country, online } = place
  const address = {
    '@type': 'PostalAddress',
    ...(city && { addressLocality: city }),
    ...(country && { addressCountry: country }),
  }
  const isSomewhere = Boolean(city || country)
  const locations = [
    ...(isSomewhere ? [{ '@type': 'Place', ...(city && { name: city }), address }] : []),
    ...(online ? [{ '@type': 'VirtualLocation', url: website || page }] : []),
  ]
  const mode = attendanceMode(isSomewhere, online)
  return {
    eventAttendanceMode: `https://schema.org/${mode}EventAttendanceMode`,
    location: locations.length === 1 ? locations[0] : locations,
  }
}

function attendanceMode(isSomewhere: boolean, online: boolean): string {
  if (isSomewhere && online) return 'Mixed'
  return online ? 'Online' : 'Offline'
}

function sameAs(urls: readonly (string | null | undefined)[]): JsonLd {
  const known = [...new Set(urls.filter(Boolean))]
  if (known.length === 0) return {}
  return { sameAs: known.length === 1 ? known[0] : known }
}

function image(profile: EntityProfile | undefined, origin: string): JsonLd {
  return profile?.picture ? { image: origin + paths.profilePicture(profile.picture) } : {}
}

/** Describes a speaker. */
export function personJsonLd(
  speaker: NamedLink & {
    readonly aliases?: readonly string[]
    readonly description?: string
    readonly profile?: EntityProfile | undefined
  },
  origin: string,
): JsonLd {
  const { aliases, description, profile } = speaker
  return {
    ...context,
    ...person(speaker, origin),
    ...(aliases?.length && { alternateName: [...aliases] }),
    ...(description?.trim() && { description: plainText(description, maxDescription) }),
    ...sameAs((profile?.links ?? []).map((link) => link.url)),
    ...image(profile, origin),
  }
}

/** Describes the path from the home page to this page. */
export function breadcrumbsJsonLd(
  steps: readonly { readonly name: string; readonly path: string }[],
  origin: string,
): JsonLd {
  return {
    ...context,
    '@type': 'BreadcrumbList',
    itemListElement: steps.map(({ name, path }, index) => ({
      '@type': 'ListItem',
      position: index + 1,
      name,
      item: origin + path,
    })),
  }
}

/** Describes the site and its search. */
export function siteJsonLd(name: string, origin: string): JsonLd {
  return {
    ...context,
    '@type': 'WebSite',
    name,
    url: `${origin}/`,
    potentialAction: {
      '@type': 'SearchAction',
      target: {
        '@type': 'EntryPoint',
        urlTemplate: `${origin}${paths.search()}?q={search_term_string}`,
      },
      'query-input': 'required name=search_term_string',
    },
  }
}

/** Describes the data of the archive, for search engines for data. */
export function datasetJsonLd(
  name: string,
  description: string,
  origin: string,
  licence: DataLicence,
): JsonLd {
  return {
    ...context,
    '@type': 'Dataset',
    name,
    description,
    url: `${origin}${paths.about}`,
    license: licence.url,
    isAccessibleForFree: true,
    distribution: {
      '@type': 'DataDownload',
      encodingFormat: 'application/x-ndjson',
      contentUrl: `${origin}/api/v2/export.ndjson`,
    },
  }
}

/** Formats a duration as in PT1H2M3S. Hours are the largest unit: days vary in length. */
export function isoDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor(seconds / 60) % 60
  const rest = seconds % 60
  const parts = [
    hours > 0 ? `${hours}H` : '',
    minutes > 0 ? `${minutes}M` : '',
    rest > 0 || (hours === 0 && minutes === 0) ? `${rest}S` : '',
  ]
  return `PT${parts.join('')}`
}

function person(speaker: NamedLink, origin: string): JsonLd {
  const url = origin + paths.entity('speaker', speaker)
  return { '@type': 'Person', '@id': url, name: speaker.name, url }
}
