import { en, type Messages } from './en.ts'
import { es } from './es.ts'

// The texts of the interface. To add a language, add a file like es.ts and its entries here.

export type { Messages } from './en.ts'

export const messages = { en, es } satisfies Record<string, Messages>
export type Locale = keyof typeof messages
export const locales = Object.keys(messages) as Locale[]

/** Native names and writing directions of the locales. */
export const localeNames: Record<Locale, { readonly name: string; readonly dir: 'ltr' | 'rtl' }> = {
  en: { name: 'English', dir: 'ltr' },
  es: { name: 'Español', dir: 'ltr' },
}

/** Returns the best available locale for an Accept-Language header. */
export function chooseLocale(header: string | undefined): Locale {
  const preferred = (header ?? '')
    .split(',', 50)
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const q = parameters
        .map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1])
        .find((value) => value !== undefined)
      return { language: tag.split('-')[0] ?? '', q: q === undefined ? 1 : Number(q) }
    })
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q)
  for (const { language } of preferred) {
    const locale = locales.find((it) => it === language)
    if (locale) return locale
    if (language === '*') break
  }
  return 'en'
}
