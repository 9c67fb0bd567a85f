import type { NamedLink, Talk } from './data.ts'
import { recogniseLicence } from './licence.ts'
import { plainText } from './markdown.ts'
import { paths } from './paths.ts'

// What a page is about, for machines that read pages (schema.org).

type JsonLd = Readonly<Record<string, unknown>>

/** Of a text, in characters: the page has all of it. */
const limit = 500

const context = { '@context': 'https://schema.org' }

/** As a part of a page: nothing in it can end the block or be taken for markup. */
export function jsonLdText(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** `origin` is where addresses start, without a slash at the end. */
export function videoJsonLd(talk: Talk, origin: string): JsonLd {
  const url = origin + paths.talk(talk)
  const file = talk.sources.find(({ host }) => host === 'file')
  const event = origin + paths.entity('category', talk.category)
  const licence = recogniseLicence(talk.copyrightText)
  return {
    ...context,
    '@type': 'VideoObject',
    // From the number only, as in feeds: it stays when the title changes.
    '@id': `${origin}/video/${talk.id}`,
    url,
    name: talk.title,
    description: plainText(talk.summary || talk.description, limit) || talk.title,
    uploadDate: talk.added,
    dateModified: talk.updated,
    ...(talk.recorded && { dateCreated: talk.recorded }),
    ...(talk.seconds && { duration: isoDuration(talk.seconds) }),
    thumbnailUrl: [origin + paths.picture(talk.id, 1280, talk.pictureVersion)],
    ...(talk.sources.length > 0 && { embedUrl: origin + paths.embed(talk.id) }),
    ...(file && { contentUrl: file.src }),
    ...(talk.speakers.length > 0 && { creator: talk.speakers.map((it) => person(it, origin)) }),
    inLanguage: talk.language.code,
    ...(talk.tags.length > 0 && { keywords: talk.tags.map(({ name }) => name).join(', ') }),
    ...(licence && { license: licence.url }),
    // An event is no work, so it is the address that the talk is a part of, and the event where it
    // was recorded.
    isPartOf: event,
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
  /** Of its own site. */
  readonly url?: string | null
}

export function eventJsonLd(event: EventFacts, origin: string): JsonLd {
  const address = origin + paths.entity('category', event)
  return {
    ...context,
    '@type': 'Event',
    '@id': address,
    name: event.name,
    url: address,
    ...(event.first && { startDate: event.first }),
    ...(event.last && { endDate: event.last }),
    ...(event.description?.trim() && { description: plainText(event.description, limit) }),
    ...(event.url && { sameAs: event.url }),
  }
}

export function personJsonLd(
  speaker: NamedLink & { readonly aliases?: readonly string[] },
  origin: string,
): JsonLd {
  return {
    ...context,
    ...person(speaker, origin),
    ...(speaker.aliases?.length && { alternateName: [...speaker.aliases] }),
  }
}

/** From the home page down to this one. */
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

/** PT1H2M3S: hours are the largest part, because a day has not always the same length. */
export function isoDuration(seconds: number): string {
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3600),
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ]
  return `PT${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${rest || (!hours && !minutes) ? `${rest}S` : ''}`
}

function person(speaker: NamedLink, origin: string): JsonLd {
  const url = origin + paths.entity('speaker', speaker)
  return { '@type': 'Person', '@id': url, name: speaker.name, url }
}
