// What a text about rights means. People wrote it: names, abbreviations and addresses, in every
// order.

export interface Licence {
  /** As it is usually written: CC BY-SA 4.0. Without a version where none is told. */
  readonly name: string
  /** Where its text is; where the version is not known, where its kind is explained. */
  readonly url: string
  /** The identifier in the SPDX list, where it has one. */
  readonly spdx?: string
  /**
   * Whether it lets others share the work. A licence that does not is still one that can be named.
   */
  readonly isOpen: boolean
}

/** Undefined where no licence is named. "CC" alone is none: it does not say which. */
export function recogniseLicence(text: string): Licence | undefined {
  // Whoever names a licence does it near the beginning.
  const words = text
    .slice(0, 2000)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s_]+/g, ' ')
    .replaceAll(/[‐-―]/g, '-')
    .trim()
  return creativeCommons(words) ?? others.find(({ pattern }) => pattern.test(words))?.licence
}

const inOrder = ['by', 'nc', 'nd', 'sa'] as const
type Condition = (typeof inOrder)[number]

interface Terms {
  readonly conditions: readonly Condition[]
  readonly version?: string | undefined
  /** The country whose law it was written for. */
  readonly port?: string | undefined
}

function creativeCommons(words: string): Licence | undefined {
  if (/\bcc[- ]?(0|zero)\b|creativecommons\.org\/publicdomain\/zero\b/.test(words))
    return {
      name: 'CC0 1.0',
      url: 'https://creativecommons.org/publicdomain/zero/1.0/',
      spdx: 'CC0-1.0',
      isOpen: true,
    }
  const conditions = inAddress(words) ?? inLetters(words) ?? inWords(words)
  // Nobody can allow nothing to be changed, and ask for the same terms for what was.
  if (!conditions || (conditions.includes('nd') && conditions.includes('sa'))) return undefined
  return licenceOf({ conditions, ...versionIn(words) })
}

const conditionsIn = (has: (it: Condition) => boolean) =>
  inOrder.filter((it) => it === 'by' || has(it))

function inAddress(words: string): Condition[] | undefined {
  const [, named] = /creativecommons\.org\/licen[sc]es\/([a-z]+(?:-[a-z]+)*)/.exec(words) ?? []
  return named?.split('-').includes('by')
    ? conditionsIn((it) => named.split('-').includes(it))
    : undefined
}

/** "CC BY-SA", "by-nc-nd" or "BY CC", but no "by" of a sentence. */
function inLetters(words: string): Condition[] | undefined {
  const [, behind, alone] =
    /(?:\bcc|\bcreative ?commons)[ :(-]*(by(?:[ -]*(?:nc|nd|sa))*)(?![a-z])|(?<![a-z])(by(?:-(?:nc|nd|sa))+|by cc$)(?![a-z])/.exec(
      words,
    ) ?? []
  const letters = behind ?? alone
  return letters ? conditionsIn((it) => letters.slice(2).includes(it)) : undefined
}

function inWords(words: string): Condition[] | undefined {
  // What the interface of YouTube calls its Creative Commons licence, which is the one with
  // attribution.
  if (words === 'creativecommon') return ['by']
  const isNamed = /\bcc\b|creative ?commons?/.test(words)
    ? /\battribution/.test(words)
    : /\battribution[- ](non|no|share)/.test(words)
  const patterns: Record<Condition, RegExp> = {
    by: /^/,
    nc: /non[- ]?commercial/,
    nd: /no[- ]?deriv/,
    sa: /share[- ]?alike/,
  }
  return isNamed ? conditionsIn((it) => patterns[it].test(words)) : undefined
}

const countries: Readonly<Record<string, string>> = {
  usa: 'us',
  'united states': 'us',
  australia: 'au',
  canada: 'ca',
  germany: 'de',
  uk: 'uk',
  england: 'uk',
}

function versionIn(words: string): Pick<Terms, 'version' | 'port'> {
  const [, version, place = ''] =
    /(?<![\d.])(1\.0|2\.0|2\.1|2\.5|3\.0|4\.0)(?![\d.]\d)(?:[ /(-]*(united states|[a-z]+))?/.exec(
      words,
    ) ?? []
  const port =
    countries[place] ??
    (/^(a[rtu]|b[gr]|c[ahlnorz]|d[ek]|e[cels]|f[ir]|g[rt]|h[kru]|i[elnt]|igo|jp|kr|lu|m[txy]|n[loz]|p[ehlrt]|r[os]|s[egi]|t[hw]|u[gks]|vn|za)$/.test(
      place,
    )
      ? place
      : undefined)
  // Since version 4.0 there is one for all countries.
  return { version, port: version === '4.0' ? undefined : port }
}

/** In the SPDX list not every licence is there for every country. */
const listedPorts = new Set(
  (
    'BY-2.5-AU BY-3.0-AT BY-3.0-AU BY-3.0-DE BY-3.0-IGO BY-3.0-NL BY-3.0-US BY-NC-3.0-DE BY-NC-ND-3.0-DE BY-NC-ND-3.0-IGO BY-NC-SA-2.0-DE ' +
    'BY-NC-SA-2.0-FR BY-NC-SA-2.0-UK BY-NC-SA-3.0-DE BY-NC-SA-3.0-IGO BY-ND-3.0-DE BY-SA-2.0-UK BY-SA-2.1-JP BY-SA-3.0-AT BY-SA-3.0-DE BY-SA-3.0-IGO'
  ).split(' '),
)

function licenceOf({ conditions, version, port }: Terms): Licence {
  const named = conditions.join('-')
  const full = [named, version, port].filter((part) => part !== undefined)
  const identifier = full.join('-').toUpperCase()
  // Of 2.1 there are those of countries only.
  const isListed =
    version !== undefined && (port === undefined ? version !== '2.1' : listedPorts.has(identifier))
  return {
    name: `CC ${full.join(' ').toUpperCase()}`,
    url: version
      ? `https://creativecommons.org/licenses/${full.join('/')}/`
      : 'https://creativecommons.org/share-your-work/cclicenses/',
    ...(isListed && { spdx: `CC-${identifier}` }),
    isOpen: true,
  }
}

const free = (
  name: string,
  spdx: string,
  url = `https://spdx.org/licenses/${spdx}.html`,
): Licence => ({ name, url, spdx, isOpen: true })

/** The first that fits: what is more exact stands before what is less. */
const others: readonly { readonly pattern: RegExp; readonly licence: Licence }[] = [
  {
    pattern:
      /^youtube$|youtube\.com\/t\/terms|(standard )?youtube (standard )?licen[sc]e|youtube terms of (service|use)/,
    licence: {
      name: 'Standard YouTube License',
      url: 'https://www.youtube.com/t/terms',
      isOpen: false,
    },
  },
  { pattern: /^mit$|\bmit licen[sc]e|\blicen[sc]es?\/mit\b/, licence: free('MIT', 'MIT') },
  {
    pattern: /\bapache([- ]licen[sc]e)?[- ,]*(v(ersion)? ?)?2(\.0)?\b/,
    licence: free('Apache 2.0', 'Apache-2.0'),
  },
  {
    pattern: /\bbsd[- ]2|2[- ]clause bsd|(simplified|freebsd) (bsd )?licen[sc]e/,
    licence: free('BSD 2-Clause', 'BSD-2-Clause'),
  },
  {
    pattern: /\bbsd[- ]3|3[- ]clause bsd|(new|modified|revised) bsd/,
    licence: free('BSD 3-Clause', 'BSD-3-Clause'),
  },
  {
    pattern: /^bsd$|\bbsd([- ]style)? licen[sc]e/,
    licence: { name: 'BSD', url: 'https://opensource.org/licenses?ls=BSD', isOpen: true },
  },
  {
    pattern: /\b(gfdl|gnu free documentation licen[sc]e|fdl)\b.*1\.1|\bgfdl-?1\.1/,
    licence: free('GFDL 1.1', 'GFDL-1.1-or-later'),
  },
  {
    pattern: /\b(gfdl|gnu free documentation licen[sc]e|fdl)\b.*1\.2|\bgfdl-?1\.2/,
    licence: free('GFDL 1.2', 'GFDL-1.2-or-later'),
  },
  {
    pattern: /\b(gfdl|gnu free documentation licen[sc]e)\b.*1\.3|\bgfdl-?1\.3/,
    licence: free('GFDL 1.3', 'GFDL-1.3-or-later'),
  },
  {
    pattern: /\bgfdl\b|gnu free documentation licen[sc]e/,
    licence: { name: 'GFDL', url: 'https://www.gnu.org/licenses/fdl.html', isOpen: true },
  },
  { pattern: /\bagpl|affero general public/, licence: free('AGPL 3.0', 'AGPL-3.0-or-later') },
  {
    pattern: /\blgpl|lesser general public/,
    licence: { name: 'LGPL', url: 'https://www.gnu.org/licenses/lgpl.html', isOpen: true },
  },
  {
    pattern: /\bgpl[- ]?(v|version )?3|general public licen[sc]e,? (v|version )?3/,
    licence: free('GPL 3.0', 'GPL-3.0-or-later'),
  },
  {
    pattern: /\bgpl[- ]?(v|version )?2|general public licen[sc]e,? (v|version )?2/,
    licence: free('GPL 2.0', 'GPL-2.0-or-later'),
  },
  {
    pattern: /^(gnu )?gpl$|gnu general public licen[sc]e/,
    licence: { name: 'GPL', url: 'https://www.gnu.org/licenses/gpl.html', isOpen: true },
  },
  { pattern: /\bunlicense\b/, licence: free('Unlicense', 'Unlicense') },
  {
    pattern: /free art licen[sc]e|licence art libre/,
    licence: free('Free Art License 1.3', 'LAL-1.3', 'https://artlibre.org/licence/lal/en/'),
  },
  {
    pattern: /\bpublic domain\b|publicdomain\/mark/,
    licence: {
      name: 'Public domain',
      url: 'https://creativecommons.org/publicdomain/mark/1.0/',
      isOpen: true,
    },
  },
]
