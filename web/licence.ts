// Recognises licences in free text: names, abbreviations and URLs in any order.

export interface Licence {
  /** Common name such as CC BY-SA 4.0, without a version if the text has none. */
  readonly name: string
  /** URL of its text, or of an explanation if the version is unknown. */
  readonly url: string
  /** SPDX identifier, if it has one. */
  readonly spdx?: string
  /** Whether it allows others to share the work. */
  readonly isOpen: boolean
}

/** Returns the licence that a text names. "CC" alone is not enough: it does not say which one. */
export function recogniseLicence(text: string): Licence | undefined {
  // The name of the licence is near the beginning.
  const words = text
    .slice(0, 2000)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s_]+/g, ' ')
    .replaceAll(/[‐-―]/g, '-')
    .trim()
  return creativeCommons(words) ?? others.find(({ pattern }) => pattern.test(words))?.licence
}

const allConditions = ['by', 'nc', 'nd', 'sa'] as const
type Condition = (typeof allConditions)[number]

interface Terms {
  readonly conditions: readonly Condition[]
  readonly version?: string | undefined
  /** Country code of a ported licence. */
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
  const conditions = conditionsInUrl(words) ?? conditionsInCode(words) ?? conditionsInWords(words)
  // No-derivatives and share-alike exclude each other.
  if (!conditions || (conditions.includes('nd') && conditions.includes('sa'))) return undefined
  return licenceOf({ conditions, ...versionIn(words) })
}

const selectConditions = (has: (condition: Condition) => boolean) =>
  allConditions.filter((condition) => condition === 'by' || has(condition))

function conditionsInUrl(words: string): Condition[] | undefined {
  const [, code] = /creativecommons\.org\/licen[sc]es\/([a-z]+(?:-[a-z]+)*)/.exec(words) ?? []
  const parts = code?.split('-')
  return parts?.includes('by') ? selectConditions((it) => parts.includes(it)) : undefined
}

/** Finds "CC BY-SA", "by-nc-nd" or "BY CC", but not the word "by" in a sentence. */
function conditionsInCode(words: string): Condition[] | undefined {
  const [, afterCc, alone] =
    /(?:\bcc|\bcreative ?commons)[ :(-]*(by(?:[ -]*(?:nc|nd|sa))*)(?![a-z])|(?<![a-z])(by(?:-(?:nc|nd|sa))+|by cc$)(?![a-z])/.exec(
      words,
    ) ?? []
  const code = afterCc ?? alone
  return code ? selectConditions((it) => code.slice(2).includes(it)) : undefined
}

function conditionsInWords(words: string): Condition[] | undefined {
  // The name of CC BY in the YouTube API.
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
  return isNamed ? selectConditions((it) => patterns[it].test(words)) : undefined
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
  const [, version, country = ''] =
    /(?<![\d.])(1\.0|2\.0|2\.1|2\.5|3\.0|4\.0)(?![\d.]\d)(?:[ /(-]*(united states|[a-z]+))?/.exec(
      words,
    ) ?? []
  const port =
    countries[country] ??
    (/^(a[rtu]|b[gr]|c[ahlnorz]|d[ek]|e[cels]|f[ir]|g[rt]|h[kru]|i[elnt]|igo|jp|kr|lu|m[txy]|n[loz]|p[ehlrt]|r[os]|s[egi]|t[hw]|u[gks]|vn|za)$/.test(
      country,
    )
      ? country
      : undefined)
  // Version 4.0 is international.
  return { version, port: version === '4.0' ? undefined : port }
}

/** Ported licences that have an SPDX identifier. */
const listedPorts = new Set(
  (
    'BY-2.5-AU BY-3.0-AT BY-3.0-AU BY-3.0-DE BY-3.0-IGO BY-3.0-NL BY-3.0-US BY-NC-3.0-DE ' +
    'BY-NC-ND-3.0-DE BY-NC-ND-3.0-IGO BY-NC-SA-2.0-DE BY-NC-SA-2.0-FR BY-NC-SA-2.0-UK ' +
    'BY-NC-SA-3.0-DE BY-NC-SA-3.0-IGO BY-ND-3.0-DE BY-SA-2.0-UK BY-SA-2.1-JP BY-SA-3.0-AT ' +
    'BY-SA-3.0-DE BY-SA-3.0-IGO'
  ).split(' '),
)

function licenceOf({ conditions, version, port }: Terms): Licence {
  const named = conditions.join('-')
  const full = [named, version, port].filter((part) => part !== undefined)
  const identifier = full.join('-').toUpperCase()
  // Version 2.1 exists only for single countries.
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
