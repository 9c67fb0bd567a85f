import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { validationErrors } from '@talkshelf/contract'
import {
  type Locale,
  locales,
  renderSiteText,
  type SitePage,
  type SiteText,
  sitePages,
} from '@talkshelf/web'
import Type, { type Static } from 'typebox'

// Reads the texts and settings in the folder of an operator. All mistakes are collected.

const exact = { additionalProperties: false }
const Line = (maxLength: number) => Type.String({ minLength: 1, maxLength, format: 'text' })

export const SiteSettings = Type.Object(
  {
    /** Language of the texts without a language in their names. */
    language: Type.Optional(Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$' })),
    short_name: Type.Optional(Line(30)),
    tagline: Type.Optional(
      Type.Object({ en: Type.Optional(Line(120)), es: Type.Optional(Line(120)) }, exact),
    ),
    operator: Type.Optional(
      Type.Object(
        { name: Line(120), url: Type.Optional(Type.String({ format: 'web-url' })) },
        exact,
      ),
    ),
    accent: Type.Optional(Type.String({ pattern: '^#[0-9a-fA-F]{6}$' })),
    logo_has_name: Type.Optional(Type.Boolean()),
  },
  exact,
)
export type SiteSettings = Static<typeof SiteSettings>

/** Reports a mistake in a file. */
export type Report = (file: string, problem: string) => void

const maxSettingsBytes = 20_000
/** About 10,000 words. A longer page would take long to load and to render. */
const maxTextBytes = 60_000
const settingsFile = 'site.json'

/** Lists the files of a folder, without hidden ones. */
export async function listFiles(folder: string, report: Report): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    report('', `cannot be read: ${(error as Error).message}`)
    return []
  }
}

/** Reads a file, if it is one and not too large. */
export async function readLimited(
  folder: string,
  name: string,
  maxBytes: number,
  report: Report,
): Promise<Buffer | undefined> {
  try {
    const path = join(folder, name)
    const { size, isFile } = await describeFile(path)
    // Opening a named pipe would wait for a writer.
    if (!isFile) report(name, 'is not a file')
    else if (size > maxBytes) report(name, `has more than ${maxBytes} bytes`)
    else return await readFile(path)
  } catch (error) {
    report(name, `cannot be read: ${(error as Error).message}`)
  }
  return undefined
}

async function describeFile(path: string): Promise<{ size: number; isFile: boolean }> {
  const stats = await stat(path)
  return { size: stats.size, isFile: stats.isFile() }
}

/** Reads a file as text. */
async function readText(
  folder: string,
  name: string,
  maxBytes: number,
  report: Report,
): Promise<string | undefined> {
  const bytes = await readLimited(folder, name, maxBytes, report)
  if (!bytes) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    report(name, 'is not UTF-8')
    return undefined
  }
}

/** Reads site.json. Returns no settings if there is none, or if it is invalid. */
export async function readSettings(
  folder: string,
  names: readonly string[],
  report: Report,
): Promise<SiteSettings> {
  if (!names.includes(settingsFile)) return {}
  const text = await readText(folder, settingsFile, maxSettingsBytes, report)
  if (text === undefined) return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    report(settingsFile, `is not JSON: ${(error as Error).message}`)
    return {}
  }
  const errors = validationErrors(SiteSettings, value)
  for (const { pointer, detail } of errors)
    report(settingsFile, `${pointer === '' ? 'the file' : pointer.slice(1)} ${detail}`)
  return errors.length === 0 ? (value as SiteSettings) : {}
}

/** The texts of a page, by locale; '' is the text for all others. */
export type SiteTexts = ReadonlyMap<SitePage, ReadonlyMap<Locale | '', SiteText>>

/** Reads and renders the texts. */
export async function readTexts(
  folder: string,
  names: readonly string[],
  { language = 'en' }: SiteSettings,
  base: string,
  report: Report,
): Promise<SiteTexts> {
  const texts = new Map<SitePage, Map<Locale | '', SiteText>>()
  for (const name of names) {
    if (!name.endsWith('.md') || name === 'README.md') continue
    const [, pageName, localeName] = /^([^.]+)(?:\.([^.]+))?\.md$/.exec(name) ?? []
    const page = sitePages.find((it) => it === pageName)
    const locale = localeName === undefined ? '' : locales.find((it) => it === localeName)
    if (page === undefined)
      report(name, `is not a page of the archive: ${sitePages.map((it) => `${it}.md`).join(', ')}`)
    else if (locale === undefined)
      report(name, `has a language that pages are not in: use ${locales.join(' or ')}`)
    else if (!names.includes(`${page}.md`))
      report(name, `needs ${page}.md, which readers of other languages get`)
    else {
      const text = await readText(folder, name, maxTextBytes, report)
      if (text === undefined) continue
      if (text.trim() === '') {
        report(name, 'is empty')
        continue
      }
      const rendered = { ...renderSiteText(text, base), lang: locale || language }
      texts.set(page, (texts.get(page) ?? new Map()).set(locale, rendered))
    }
  }
  return texts
}
