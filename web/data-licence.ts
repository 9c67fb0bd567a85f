import { recogniseLicence } from './licence.ts'

// The licence of the data of an archive: titles, descriptions, names. Recordings have their own.

export interface DataLicence {
  readonly name: string
  /** URL of its text. */
  readonly url: string
  /** SPDX identifier, if it has one. */
  readonly spdx?: string
}

const openDataCommons = (name: string, code: string, spdx: string): DataLicence => ({
  name,
  url: `https://opendatacommons.org/licenses/${code}/1-0/`,
  spdx,
})

const listed = (name: string, spdx: string): DataLicence => ({
  name,
  url: `https://spdx.org/licenses/${spdx}.html`,
  spdx,
})

/** Licences that are made for data, besides those of Creative Commons. */
const others: readonly DataLicence[] = [
  openDataCommons('ODbL 1.0', 'odbl', 'ODbL-1.0'),
  openDataCommons('ODC-By 1.0', 'by', 'ODC-By-1.0'),
  openDataCommons('PDDL 1.0', 'pddl', 'PDDL-1.0'),
  listed('CDLA Permissive 1.0', 'CDLA-Permissive-1.0'),
  listed('CDLA Permissive 2.0', 'CDLA-Permissive-2.0'),
  listed('CDLA Sharing 1.0', 'CDLA-Sharing-1.0'),
  listed('Datenlizenz Deutschland 2.0', 'DL-DE-BY-2.0'),
  listed('Datenlizenz Deutschland Zero 2.0', 'DL-DE-ZERO-2.0'),
  listed('Licence Ouverte 2.0', 'etalab-2.0'),
  listed('OGL UK 3.0', 'OGL-UK-3.0'),
]

/**
 * Finds a licence by its SPDX identifier, in upper or lower case, or describes the one at an https
 * URL. Returns undefined for everything else: a typing error must not become a licence.
 */
export function parseDataLicence(text: string): DataLicence | undefined {
  const isSame = ({ spdx }: Partial<DataLicence>) => spdx?.toLowerCase() === text.toLowerCase()
  const creativeCommons = recogniseLicence(text)
  if (creativeCommons && isSame(creativeCommons) && /^cc/i.test(text)) return pick(creativeCommons)
  return others.find(isSame) ?? licenceAt(text)
}

/** Returns what programs get: the SPDX identifier, or else the URL. */
export const licenceId = ({ spdx, url }: DataLicence): string => spdx ?? url

/** Describes the licence in English, for feeds. */
export const licenceNotice = ({ name, url }: DataLicence): string =>
  `Titles, descriptions and other data: ${name} (${url}). Each recording has its own licence.`

function licenceAt(text: string): DataLicence | undefined {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' || url.username || url.password) return undefined
  const known =
    url.host === 'creativecommons.org' ? recogniseLicence(url.href) : others.find(isAt(url.href))
  return known
    ? pick({ ...known, url: url.href })
    : { name: url.host + url.pathname, url: url.href }
}

const isAt = (href: string) => (licence: DataLicence) => licence.url === href

const pick = ({ name, url, spdx }: DataLicence): DataLicence => ({
  name,
  url,
  ...(spdx !== undefined && { spdx }),
})
