import { BlockList, isIP } from 'node:net'
import { type Video, videoDefaults } from '@talkshelf/contract'
import { isExternal, isInternalName, isPublic } from '../../../server/platform/net/addresses.ts'
import { parseOutboundUrl } from '../../../server/platform/net/guard.ts'
import { OutboundError } from '../../../server/platform/net/outbound-error.ts'
import { numberedSlug, slugify } from '../../../server/platform/slug.ts'
import { embedHtml } from '../../../server/videos/embed.ts'
import { findSources, sourcePolicy } from '../../../web/sources.ts'
import { parseTimecode } from '../../../web/timecode.ts'
import { assertProperty, decodeInput, type FuzzTarget, inputWords, textLines } from '../target.ts'

/** Networks that must never be fetched from, listed independently of the library under test. */
const internal = new BlockList()
for (const [net, prefix] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
  ] as const),
  ...([
    ['192.168.0.0', 16],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
    ['192.0.2.0', 24],
    ['198.18.0.0', 15],
  ] as const),
]) {
  internal.addSubnet(net, prefix, 'ipv4')
  internal.addSubnet(`::ffff:${net}`, 96 + prefix, 'ipv6')
}
for (const [net, prefix] of [
  ['::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
  ['2001:db8::', 32],
  ['64:ff9b::', 96],
] as const) {
  internal.addSubnet(net, prefix, 'ipv6')
}

const addresses = textLines(`
  https://www.youtube.com/watch?v=exampleAAA1&t=1h2m3s
  https://youtu.be/exampleAAA1?t=90
  https://vimeo.com/123456/abcdef0123
  https://peertube.example.org/w/8ac2f8c8-0b0b-4f1e-9d0e-0123456789ab
  https://example.org/talk/master.m3u8
  http://example.org:8080/a%20b.mp4?x=1#t=5
  https://archive.org/details/one/two.ogv
  https://[2001:db8::1]/
  ftp://a/b
`)
const addressTokens = [
  '\t',
  ...inputWords(`
    https:// http:// // :// @ :443 :0 :99999 ? # &v= ?v= exampleAAA1 .mp4 .m3u8 .. %2e \\ 1h 2m 3s
    www.youtube.com youtu.be vimeo.com archive.org/details/ /videos/watch/ javascript: data: [::1]
    127.1 0x7f.1 xn-- 。 .localhost .internal a.
  `),
]

export const addressTargets: readonly FuzzTarget[] = [
  {
    name: 'sources of a talk',
    seeds: [...addresses, addresses.join('\n')],
    dictionary: addressTokens,
    run(input) {
      const [first = '', second = '', third = '', ...others] = decodeInput(input).split('\n')
      const facts = others.slice(0, 20).flatMap((url) => [
        { kind: 'media' as const, url, type: '', size: null },
        { kind: 'related' as const, url, label: null },
      ])
      const record = {
        ...videoDefaults,
        id: 1,
        source_url: first,
        video_mp4_url: second,
        video_webm_url: third,
        video_flv_url: first,
      }
      const { sources, downloads, links } = findSources(record as unknown as Video, facts)
      for (const { src } of sources)
        assertProperty(new URL(src).protocol === 'https:', 'a source without https', src)
      for (const { address } of [...sources, ...downloads, ...links]) {
        assertProperty(
          /^https?:$/.test(new URL(address).protocol),
          'a link with another scheme',
          address,
        )
      }
      const away = { state: 'gone', since: '2026-01-01', lastGood: null } as const
      const urls = [first, second, third, ...others]
      const all = new Map(urls.map((url) => [url, away]))
      const left = findSources(record as unknown as Video, facts, undefined, all)
      assertProperty(left.sources.length + left.downloads.length === 0, 'plays what is away', first)
      for (const { address } of left.lost)
        assertProperty(/^https?:$/.test(new URL(address).protocol), 'a lost scheme', address)
      for (const frame of sourcePolicy(sources).frames)
        assertProperty(!/[\s;,'"]/.test(frame), 'a frame breaks the CSP', frame)
      assertProperty(
        /^(<object[^<>]*>(<[^<>]*>)*<\/object>)?$/.test(embedHtml(first)),
        'markup breaks out',
        embedHtml(first),
      )
      assertProperty(Number.isSafeInteger(parseTimecode(first)), 'a timecode is not an integer')
    },
  },
  {
    name: 'addresses to fetch',
    seeds: addresses,
    dictionary: addressTokens,
    refusals: [OutboundError],
    run(input) {
      const text = decodeInput(input)
      const url = parseOutboundUrl(text, {})
      assertProperty(
        /^https?:$/.test(url.protocol) && url.username === '' && url.password === '',
        'not a plain address',
        url.href,
      )
      assertProperty(
        url.port === '' || url.port === '80' || url.port === '443',
        'a port that is not allowed',
        url.port,
      )
      const host = url.hostname.replace(/^\[|\]$/g, '')
      assertProperty(typeof isInternalName(host) === 'boolean', 'not a boolean')
      if (isIP(host) !== 0 && isPublic(host))
        assertProperty(!isInternal(host), 'an internal address counts as public', host)
    },
  },
  {
    name: 'IP addresses',
    seeds: inputWords(`
      127.0.0.1 ::1 ::ffff:10.0.0.1 2606:4700::1111 8.8.8.8 fe80::1%eth0 64:ff9b::7f00:1
      2002:7f00:1::
    `),
    dictionary: inputWords(
      ':: : . ::ffff: 0x % 255 256 0177 ffff 2001: 2002: 64:ff9b: 10. 192.168. /8',
    ),
    run(input) {
      const text = decodeInput(input)
      if (!isExternal(text, new Set())) return
      assertProperty(
        isIP(text) !== 0 && !isInternal(text),
        'an internal address counts as public',
        text,
      )
    },
  },
  {
    name: 'slug',
    seeds: [
      'Ten years of tiny queues',
      'Größe & Maß',
      '機械学習入門',
      "don't — stop",
      '🎤 live',
      '-'.repeat(60),
    ],
    dictionary: ['-', "'", '’', 'ß', '機', '🎤', ' ', 'İ', 'ﬁ', '\u0301', 'A', '9', '_'],
    run(input) {
      const slug = slugify(decodeInput(input))
      assertProperty(
        /^([a-z0-9]+(-[a-z0-9]+)*)?$/.test(slug) && slug.length <= 50,
        'an invalid slug',
        slug,
      )
      const next = numberedSlug(slug, 2_147_483_647)
      assertProperty(
        next.length <= 50 && next.endsWith('-2147483647'),
        'an invalid numbered slug',
        next,
      )
      assertProperty(slugify(slug) === slug, 'slugify is not idempotent', slug)
    },
  },
]

function isInternal(ip: string): boolean {
  return internal.check(ip, isIP(ip) === 4 ? 'ipv4' : 'ipv6')
}
