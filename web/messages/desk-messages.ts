import { type DeskMessages, deskEn } from './desk-en.ts'
import { deskEs } from './desk-es.ts'
import type { Locale } from './messages.ts'

/** The texts of the desk, apart from those of the public pages. */
export const deskMessages: Record<Locale, DeskMessages> = { en: deskEn, es: deskEs }
