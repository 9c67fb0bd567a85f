import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'parse5'
import { hostilePayloads } from '../tests/support/payloads.ts'
import { aTalk } from '../tests/support/sample-talk.ts'
import type { EntityProfile } from './data.ts'
import {
  breadcrumbsJsonLd,
  eventJsonLd,
  isoDuration,
  jsonLdText,
  personJsonLd,
  siteJsonLd,
  videoJsonLd,
} from './json-ld.ts'

const origin = 'https://talks.example.org/archive'

interface Node {
  readonly nodeName: string
  readonly value?: string
  readonly childNodes?: readonly Node[]
}

/** Returns the JSON-LD blocks and the names of all elements of a page. */
function blocksOf(html: string): { blocks: unknown[]; elements: string[] } {
  const all = (node: Node): Node[] => [node, ...(node.childNodes ?? []).flatMap(all)]
  const nodes = all(parse(html) as Node)
  const texts = nodes
    .filter((node) => node.nodeName === 'script')
    .map((node) => node.childNodes?.[0]?.value ?? '')
  return {
    blocks: texts.map((text) => JSON.parse(text)),
    elements: nodes.map(({ nodeName }) => nodeName).filter((name) => !name.startsWith('#')),
  }
}

const page = (value: unknown) =>
  '<!doctype html><title>x</title>' +
  `<script type="application/ld+json">${jsonLdText(value)}</script><p>y`
const expected = ['html', 'head', 'title', 'script', 'body', 'p']

test('describes a talk with all its details', () => {
  const { blocks } = blocksOf(page(videoJsonLd(aTalk, origin)))
  const it = blocks[0] as Record<string, unknown>
  assert.deepEqual(
    [it['@type'], it['@id'], it.uploadDate, it.duration, it.inLanguage],
    ['VideoObject', `${origin}/video/17`, '2026-03-01', 'PT1H1M5S', 'es'],
  )
  const undated = videoJsonLd({ ...aTalk, recorded: null }, origin)
  assert.equal(undated.uploadDate, aTalk.added)
  assert.equal(videoJsonLd({ ...aTalk, isLengthDoubtful: true }, origin).duration, undefined)
  assert.deepEqual(
    [it.embedUrl, it.contentUrl, it.license],
    [
      `${origin}/embed/17`,
      'https://files.example.org/a.mp4',
      'https://creativecommons.org/licenses/by/4.0/',
    ],
  )
  assert.deepEqual(it.creator, [
    {
      '@type': 'Person',
      '@id': `${origin}/speaker/3/ada`,
      name: 'Ada',
      url: `${origin}/speaker/3/ada`,
    },
  ])
  assert.deepEqual(it.recordedAt, {
    '@type': 'Event',
    '@id': `${origin}/category/2/days`,
    name: 'Days',
    url: `${origin}/category/2/days`,
  })
  assert.deepEqual(
    (it.potentialAction as Record<string, string>).target,
    `${origin}/video/17/queues?t={seek_to_second_number}`,
  )
  const bare = videoJsonLd(
    {
      ...aTalk,
      sources: [],
      speakers: [],
      tags: [],
      seconds: null,
      recorded: null,
      copyrightText: '',
      summary: ' ',
      description: '',
    },
    origin,
  )
  assert.deepEqual(
    [
      'embedUrl',
      'contentUrl',
      'creator',
      'keywords',
      'duration',
      'dateCreated',
      'license',
      'potentialAction',
    ].filter((name) => name in bare),
    [],
  )
  assert.equal(bare.description, aTalk.title)
})

test('describes the part of a recording as a clip', () => {
  const [source] = aTalk.sources
  assert.ok(source)
  const part = { recording: 'https://files.example.org/day.mp4', start: 90, end: 200 }
  const clip = videoJsonLd({ ...aTalk, sources: [{ ...source, part }] }, origin)
  assert.deepEqual(
    [clip['@type'], clip.startOffset, clip.endOffset, clip.contentUrl, clip.isPartOf],
    [
      ['VideoObject', 'Clip'],
      90,
      200,
      undefined,
      [`${origin}/category/2/days`, { '@type': 'VideoObject', url: part.recording }],
    ],
  )
  const last = videoJsonLd({ ...aTalk, sources: [{ ...source, part: { ...part, end: null } }] }, '')
  assert.equal('endOffset' in last, false)
})

test('describes events, speakers, breadcrumbs and the site', () => {
  const event = eventJsonLd(
    {
      id: 2,
      slug: 'days',
      name: 'Days',
      first: '2026-01-01',
      last: null,
      url: 'https://days.example.org',
    },
    origin,
  )
  assert.deepEqual(
    [event['@type'], event.startDate, 'endDate' in event, event.sameAs],
    ['Event', '2026-01-01', false, 'https://days.example.org'],
  )
  const person = personJsonLd({ id: 3, slug: 'ada', name: 'Ada', aliases: ['A. L.'] }, origin)
  assert.deepEqual(
    [person['@type'], person.name, person.alternateName],
    ['Person', 'Ada', ['A. L.']],
  )
  const way = breadcrumbsJsonLd(
    [
      { name: 'Home', path: '/' },
      { name: 'Days', path: '/category/2/days' },
    ],
    origin,
  )
  assert.deepEqual(
    (way.itemListElement as { position: number; item: string }[]).map(({ position, item }) => [
      position,
      item,
    ]),
    [
      [1, `${origin}/`],
      [2, `${origin}/category/2/days`],
    ],
  )
  const site = siteJsonLd('Talks', origin).potentialAction as { target: { urlTemplate: string } }
  assert.equal(site.target.urlTemplate, `${origin}/search?q={search_term_string}`)
})

test('describes the profiles of events and speakers', () => {
  const profile: EntityProfile = {
    picture: { kind: 'category', id: 2, version: 'abc' },
    colour: '#123456',
    pronouns: null,
    place: { city: 'Łódź', country: 'PL', online: true },
    series: { name: 'Days', events: [] },
    links: [{ kind: 'code', url: 'https://code.example.org/' }],
  }
  const days = { id: 2, slug: 'days', name: 'Days', first: null, last: null }
  const event = eventJsonLd({ ...days, url: 'https://days.example.org', profile }, origin)
  assert.deepEqual(
    [event.location, event.eventAttendanceMode, event.superEvent, event.image, event.sameAs],
    [
      [
        {
          '@type': 'Place',
          name: 'Łódź',
          address: { '@type': 'PostalAddress', addressLocality: 'Łódź', addressCountry: 'PL' },
        },
        { '@type': 'VirtualLocation', url: 'https://days.example.org' },
      ],
      'https://schema.org/MixedEventAttendanceMode',
      { '@type': 'EventSeries', name: 'Days' },
      `${origin}/picture/category/2?v=abc`,
      ['https://days.example.org', 'https://code.example.org/'],
    ],
  )
  const mode = (place: EntityProfile['place']) =>
    eventJsonLd({ ...days, profile: { ...profile, place } }, origin)
  const online = mode({ city: null, country: null, online: true })
  assert.deepEqual(online.location, {
    '@type': 'VirtualLocation',
    url: `${origin}/category/2/days`,
  })
  assert.match(String(online.eventAttendanceMode), /OnlineEventAttendanceMode/)
  const offline = mode({ city: null, country: 'PL', online: false })
  assert.match(String(offline.eventAttendanceMode), /OfflineEventAttendanceMode/)
  assert.equal('location' in mode(null), false)

  const picture = { kind: 'speaker', id: 3, version: 'x' } as const
  const ada = { id: 3, slug: 'ada', name: 'Ada', description: '*Counts*', aliases: [] }
  const person = personJsonLd({ ...ada, profile: { ...profile, picture } }, origin)
  assert.deepEqual(
    [person.description, person.sameAs, person.image, 'alternateName' in person],
    ['Counts', 'https://code.example.org/', `${origin}/picture/speaker/3?v=x`, false],
  )
})

test('escapes texts so that they never end the script element', () => {
  for (const payload of [
    ...hostilePayloads,
    '</script>',
    '<!--<script>',
    ']]>',
    '\u2028\u2029',
    '&lt;/script&gt;',
  ]) {
    const talk = {
      ...aTalk,
      title: payload,
      summary: payload,
      speakers: [{ id: 1, slug: 'x', name: payload }],
      copyrightText: payload,
    }
    const { blocks, elements } = blocksOf(page(videoJsonLd(talk, origin)))
    assert.deepEqual(elements, expected, payload)
    assert.equal((blocks[0] as { name: string }).name, payload)
  }
  fc.assert(
    fc.property(
      fc.json(),
      fc.string({ unit: fc.constantFrom(...'<>/!-scriptSCRIPT &;"\u2028\u2029\ud800') }),
      (json, text) => {
        const value = [JSON.parse(json), text]
        const { blocks, elements } = blocksOf(page(value))
        assert.deepEqual(elements, expected)
        assert.deepEqual(blocks, [JSON.parse(JSON.stringify(value))])
      },
    ),
  )
})

test('formats a duration in hours, minutes and seconds', () => {
  assert.deepEqual([0, 59, 60, 3600, 3661, 90_000].map(isoDuration), [
    'PT0S',
    'PT59S',
    'PT1M',
    'PT1H',
    'PT1H1M1S',
    'PT25H',
  ])
})
