import { Problem } from '@talkshelf/contract'
import { isWellFormedToken } from '../../../server/auth/token.ts'
import { buildView } from '../../../server/pages/view.ts'
import { acceptsEncoding } from '../../../server/platform/http/compression.ts'
import {
  ifMatchEtags,
  matchesIfNoneMatch,
  representationEtag,
  revisionInEtag,
} from '../../../server/platform/http/conditional.ts'
import { chooseRepresentation } from '../../../server/platform/http/negotiate.ts'
import { plainSite } from '../../../server/site/site.ts'
import { chooseLocale, locales } from '../../../web/messages/messages.ts'
import { assertProperty, type FuzzTarget } from '../target.ts'

/** Decodes bytes as Node does for headers: one character each. */
const headerIn = (input: Buffer) => input.toString('latin1')
const site = {
  name: 'Fuzz',
  basePath: '',
  origin: () => 'http://localhost',
  assets: { style: '', script: '', desk: { style: '', script: '' }, read: async () => undefined },
  content: plainSite,
}

export const headerTargets: readonly FuzzTarget[] = [
  {
    name: 'If-Match and If-None-Match',
    seeds: [
      '"17.3.f3e_voTX"',
      'W/"17.3.f3e_voTX"',
      '*',
      '"17.3.f3e_voTX.json", W/"a", "17.4.x~facets"',
      '""',
    ],
    dictionary: ['"', 'W/', '*', '17.', '.json', '~', ',', '"17.3.a"', '9999999999999999.', ' '],
    run(input) {
      const header = headerIn(input)
      const etags = ifMatchEtags(header)
      assertProperty(
        etags === '*' || etags.every((etag) => !etag.includes('"')),
        'an ETag with a quotation mark',
      )
      for (const etag of etags === '*' ? [] : etags) {
        const revision = revisionInEtag(etag, 17)
        assertProperty(
          revision === undefined || Number.isSafeInteger(revision),
          'a revision is not an integer',
        )
      }
      const isList = /^(W\/)?"[^"]*"( *, *(W\/)?"[^"]*")*$/.test(header)
      const hasOwn = isList && header.includes('"17.3.f3e_voTX.json"')
      const isMatch = matchesIfNoneMatch(header, representationEtag('17.3.f3e_voTX', 'json'))
      assertProperty(isMatch || !hasOwn, 'the current ETag does not match')
    },
  },
  {
    name: 'Accept',
    seeds: [
      'text/html',
      'application/json;q=0.5, */*;q=0.1',
      'text/*',
      'text/html;level=1;q=0',
      '',
    ],
    dictionary: [
      'text/html',
      'application/json',
      '*/*',
      ';q=',
      '0.001',
      '1.000',
      ',',
      ';',
      'q=',
      'Infinity',
      '1e-9',
    ],
    refusals: [Problem],
    run(input) {
      assertProperty(
        ['html', 'json'].includes(chooseRepresentation(headerIn(input), undefined)),
        'neither HTML nor JSON',
      )
      assertProperty(
        chooseRepresentation(headerIn(input), 'json') === 'json',
        'the parameter has no precedence',
      )
    },
  },
  {
    name: 'Accept-Language and cookies',
    seeds: ['es-MX,es;q=0.9,en;q=0.8', '*', 'locale=es; theme=dark', 'de', 'en;q=0, es'],
    dictionary: [
      'es',
      'en',
      ';q=',
      ',',
      '*',
      'locale=',
      'theme=',
      ';',
      '=',
      'dark',
      'q=1.1.1',
      '__proto__=',
    ],
    run(input) {
      const header = headerIn(input)
      assertProperty(locales.includes(chooseLocale(header)), 'an unknown locale')
      const headers = { cookie: header, 'accept-language': header }
      const view = buildView(site, { headers, address: '/' })
      assertProperty(
        locales.includes(view.locale) && ['auto', 'light', 'dark'].includes(view.theme),
        'an invalid view',
      )
    },
  },
  {
    name: 'Accept-Encoding and Authorization',
    seeds: ['gzip, br', 'br;q=0, *', 'gzip;q=0.000', 'Token talkshelf_', 'identity'],
    dictionary: ['gzip', 'br', '*', ';q=0', ';q=', ',', 'talkshelf_', 'Token ', 'Bearer '],
    run(input) {
      const header = headerIn(input)
      for (const coding of ['gzip', 'br'])
        assertProperty(typeof acceptsEncoding(coding, header) === 'boolean', 'not a boolean')
      assertProperty(
        !isWellFormedToken(header) || header.length === 59,
        'a token of the wrong length',
      )
    },
  },
]
