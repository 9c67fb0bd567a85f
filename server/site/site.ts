import { hash } from 'node:crypto'
import {
  accentColours,
  type Locale,
  paths,
  type SiteLogo,
  type SitePage,
  type SiteText,
  sitePages,
} from '@talkshelf/web'
import { listFiles, readSettings, readTexts, type SiteSettings, type SiteTexts } from './folder.ts'
import { readPictures, type SiteFile, type SiteIcon } from './pictures.ts'

// The texts, pictures and colours with which an operator makes the archive their own. They are read
// once, when the server starts.

export type { SiteFile } from './pictures.ts'

/** The folder of the operator has mistakes. The message lists all. */
export class SiteError extends Error {}

export interface Site {
  readonly settings: SiteSettings
  readonly pages: readonly SitePage[]
  /** Returns the text of a page in a language, or else in the language of the archive. */
  text(page: SitePage, locale: Locale): SiteText | undefined
  /** By name. The names have a hash of the content. */
  readonly files: ReadonlyMap<string, SiteFile>
  readonly logo?: SiteLogo | undefined
  readonly icon?: SiteIcon | undefined
  /** Path of the style sheet with the colours. */
  readonly style?: string | undefined
  /** Changes with the content of the folder. */
  readonly version: string
}

/** The site of an operator who has set nothing. */
export const plainSite: Site = {
  settings: {},
  pages: [],
  text: () => undefined,
  files: new Map(),
  version: '',
}

/**
 * Reads the folder of the operator; an empty path is none. Links in its texts get the base path.
 * Throws one SiteError that lists every mistake.
 */
export async function readSite(folder: string, basePath: string): Promise<Site> {
  if (folder === '') return plainSite
  const problems: string[] = []
  const report = (file: string, problem: string) =>
    problems.push(`${file === '' ? folder : file} ${problem}`)
  // The process that decodes pictures does not keep this one running.
  const keepAlive = setInterval(() => {}, 60_000)
  try {
    const names = await listFiles(folder, report)
    const settings = await readSettings(folder, names, report)
    const texts = await readTexts(folder, names, settings, basePath, report)
    const pictures = await readPictures(folder, names, report)
    if (problems.length > 0)
      throw new SiteError(
        `SITE_DIR has mistakes:\n${problems.map((it) => `  ${it}`).join('\n')}\nSee docs/site.md.`,
      )
    return assemble(settings, texts, pictures)
  } finally {
    clearInterval(keepAlive)
  }
}

function assemble(
  settings: SiteSettings,
  texts: SiteTexts,
  { files: pictures, logo, icon }: Awaited<ReturnType<typeof readPictures>>,
): Site {
  const files = new Map(pictures)
  const css = settings.accent && themeCss(settings.accent)
  const cssName = css && `theme.${hash('sha256', css, 'hex').slice(0, 12)}.css`
  if (css && cssName)
    files.set(cssName, { body: Buffer.from(css), type: 'text/css; charset=utf-8' })
  const allTexts = sitePages.map((page) => [page, [...(texts.get(page) ?? [])]])
  return {
    settings,
    pages: sitePages.filter((page) => texts.has(page)),
    text: (page, locale) => texts.get(page)?.get(locale) ?? texts.get(page)?.get(''),
    files,
    logo: logo && { ...logo, hasName: settings.logo_has_name ?? false },
    icon,
    style: cssName && paths.siteFile(cssName),
    version: hash('sha256', JSON.stringify([settings, allTexts, [...files.keys()]]), 'hex'),
  }
}

/** Sets the accent colours. Replaces those of base.css, because it is loaded later. */
function themeCss(colour: string): string {
  const { light, dark } = accentColours(colour)
  const both = (name: 'accent' | 'ink' | 'soft') => `light-dark(${light[name]}, ${dark[name]})`
  return `:root{--accent:${both('accent')};--accent-ink:${both('ink')};--accent-soft:${both('soft')}}\n`
}
