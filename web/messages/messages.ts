import { en, type Messages } from './en.ts'
import { es } from './es.ts'

// What the interface says. Another language is another file like es.ts, and a line here.

export type { Messages } from './en.ts'

export const messages = { en, es } satisfies Record<string, Messages>
export type Locale = keyof typeof messages
export const locales = Object.keys(messages) as Locale[]

/** What languages call themselves, and which way they are written. */
export const localeNames: Record<Locale, { readonly name: string; readonly dir: 'ltr' | 'rtl' }> = {
  en: { name: 'English', dir: 'ltr' },
  es: { name: 'Español', dir: 'ltr' },
}

/** The best of ours for an Accept-Language header. */
export function chooseLocale(header: string | undefined): Locale {
  const wanted = (header ?? '')
    .split(',', 50)
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const q = parameters
        .map((it) => /^\s*q=([\d.]+)\s*$/.exec(it)?.[1])
        .find((it) => it !== undefined)
      return { language: tag.split('-')[0] ?? '', q: q === undefined ? 1 : Number(q) }
    })
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q)
  for (const { language } of wanted) {
    const found = locales.find((it) => it === language)
    if (found) return found
    if (language === '*') break
  }
  return 'en'
}
