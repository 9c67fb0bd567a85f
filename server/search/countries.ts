import { countryCodes } from '@talkshelf/contract'
import { locales } from '@talkshelf/web'

// Finds countries by their names in the languages of the pages. The database has only their codes.

/** Shorter input would match unrelated countries. */
const minLength = 3

let namesByCode: [string, string[]][] | undefined

/** Returns the codes of the countries with a name that starts with `prefix`. */
export function findCountriesByPrefix(prefix: string): string[] {
  const folded = fold(prefix)
  if (folded.length < minLength) return []
  namesByCode ??= readNames()
  return namesByCode.flatMap(([code, names]) =>
    names.some((name) => name.startsWith(folded)) ? code : [],
  )
}

function readNames(): [string, string[]][] {
  const displayNames = locales.map((locale) => new Intl.DisplayNames(locale, { type: 'region' }))
  return [...countryCodes].map((code) => [
    code,
    displayNames.map((names) => fold(names.of(code) ?? code)),
  ])
}

/** Removes accents and case. */
function fold(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
}
