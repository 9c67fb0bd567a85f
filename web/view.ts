import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Locale, type Messages, messages } from './messages/messages.ts'

// What every page knows: who looks at it, and where it stands.

export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export interface View {
  /** The path that the archive is mounted under; empty or without a slash at its end. */
  readonly base: string
  /** The same as a whole address. */
  readonly origin: string
  /** Path and query of this page, below the base. */
  readonly address: string
  readonly locale: Locale
  readonly theme: Theme
  readonly site: { readonly name: string }
  /** For scripts of this answer only. */
  readonly nonce: string
  /** Paths below the base. */
  readonly assets: { readonly style: string; readonly script: string }
}

interface Ready extends View {
  readonly words: Messages
  /** A path of ours as it is written into a link. */
  href(path: string): string
  number(value: number): string
  /** A day, YYYY-MM-DD. */
  day(day: string): string
  /** From one day to another, in as few words as it takes. */
  days(first: string, last: string): string
  /** Of a language, in the language of the interface. */
  language(code: string, english: string): string
}

export const ViewContext = createContext<Ready | undefined>(undefined)

export function useView(): Ready {
  const view = useContext(ViewContext)
  if (!view) throw new Error('A part was rendered outside of a page')
  return view
}

export function prepareView(view: View): Ready {
  const { numbers, days, languages } = formats(view.locale)
  return {
    ...view,
    words: messages[view.locale],
    href: (path) => view.base + path,
    number: (value) => numbers.format(value),
    day: (day) => days.format(dateOf(day)),
    days: (first, last) => days.formatRange(dateOf(first), dateOf(last)),
    language: (code, english) =>
      code === 'und' ? messages[view.locale].languageUnknown : (nameOf(languages, code) ?? english),
  }
}

const dateOf = (day: string) => new Date(`${day}T00:00:00Z`)

function nameOf(languages: Intl.DisplayNames, code: string): string | undefined {
  try {
    const name = languages.of(code)
    return name === code ? undefined : name
  } catch {
    return undefined
  }
}

interface Formats {
  readonly numbers: Intl.NumberFormat
  readonly days: Intl.DateTimeFormat
  readonly languages: Intl.DisplayNames
}

// To make one takes longer than to render a page.
const made = new Map<Locale, Formats>()

function formats(locale: Locale): Formats {
  const found = made.get(locale)
  if (found) return found
  const it = {
    numbers: new Intl.NumberFormat(locale),
    days: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }),
    languages: new Intl.DisplayNames(locale, { type: 'language', fallback: 'code' }),
  }
  made.set(locale, it)
  return it
}
