import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Locale, type Messages, messages } from './messages/messages.ts'
import { knownDate } from './recorded.ts'
import type { SiteView } from './site.ts'

// The view that every page has access to: locale, theme, paths and formatting.

export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export interface View {
  /** Base path of the archive, without a trailing slash. */
  readonly base: string
  /** Base URL of the archive, without a trailing slash. */
  readonly origin: string
  /** Path and query of this page, relative to the base path. */
  readonly address: string
  readonly locale: Locale
  readonly theme: Theme
  readonly site: SiteView
  /** Paths relative to the base path. */
  readonly assets: { readonly style: string; readonly script: string }
}

export interface PageView extends View {
  readonly words: Messages
  /** Adds the base path. */
  href(path: string): string
  number(value: number): string
  /** Formats a date given as YYYY-MM-DD. */
  day(day: string): string
  /** Formats the month of a date given as YYYY-MM-DD. */
  month(day: string): string
  /** Formats the day of a recording, or its year if only that is known. */
  recorded(day: string): string
  /** Formats a range of dates. */
  days(first: string, last: string): string
  /** Returns the name of a country in the locale of the page, by its code of ISO 3166-1. */
  country(code: string): string
  /** Returns the name of a language in the locale of the page. */
  language(code: string, english: string): string
}

export const ViewContext = createContext<PageView | undefined>(undefined)

/** Returns the view of the current page. */
export function useView(): PageView {
  const view = useContext(ViewContext)
  if (!view) throw new Error('useView was called outside of a page')
  return view
}

/** Adds messages and formatting functions to a view. */
export function prepareView(view: View): PageView {
  const { numbers, days, months, countries, languages } = formats(view.locale)
  return {
    ...view,
    words: messages[view.locale],
    href: (path) => view.base + path,
    number: (value) => numbers.format(value),
    day: (day) => days.format(dateOf(day)),
    month: (day) => months.format(dateOf(day)),
    recorded: (day) => (knownDate(day) === day ? days.format(dateOf(day)) : knownDate(day)),
    days: (first, last) => days.formatRange(dateOf(first), dateOf(last)),
    country: (code) => nameOf(countries, code) ?? code,
    language: (code, english) =>
      code === 'und' ? messages[view.locale].languageUnknown : (nameOf(languages, code) ?? english),
  }
}

const dateOf = (day: string) => new Date(`${day}T00:00:00Z`)

function nameOf(names: Intl.DisplayNames, code: string): string | undefined {
  try {
    const name = names.of(code)
    return name === code ? undefined : name
  } catch {
    return undefined
  }
}

interface Formats {
  readonly numbers: Intl.NumberFormat
  readonly days: Intl.DateTimeFormat
  readonly months: Intl.DateTimeFormat
  readonly countries: Intl.DisplayNames
  readonly languages: Intl.DisplayNames
}

// Creating these takes longer than rendering a page.
const formatCache = new Map<Locale, Formats>()

function formats(locale: Locale): Formats {
  const cached = formatCache.get(locale)
  if (cached) return cached
  const created = {
    numbers: new Intl.NumberFormat(locale),
    days: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }),
    months: new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' }),
    countries: new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' }),
    languages: new Intl.DisplayNames(locale, { type: 'language', fallback: 'code' }),
  }
  formatCache.set(locale, created)
  return created
}
