import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import type { Checks } from '../support/checks.ts'
import { root } from '../support/harness.ts'
import { codeBlocks } from '../support/shell-blocks.ts'
import { until } from '../support/until.ts'
import type { Registry } from './registry.ts'

/** Follows one page of docs/install/. */
export interface Installation {
  readonly name: string
  /** Whether it uses the Debian of `InstallContext.base`. */
  readonly needsRoot: boolean
  /** Left out by --quick. */
  readonly isLong: boolean
  run(context: InstallContext): Promise<void>
}

export interface InstallContext {
  readonly checks: Checks
  /** For files of this run. */
  readonly folder: string
  /** The archive of a Debian, for `startRoot`. */
  readonly base: string
  /** What `npm run pack` has written. */
  readonly packed: string
  readonly registry: Registry
  /** Registers what must be done when the installation ends, also if it fails. */
  atEnd(step: () => unknown): void
}

/**
 * Returns the commands of a page by the heading above them, '' for those before the first one. Only
 * blocks marked `sh`: those marked `text` have placeholders or choices.
 */
export function sectionsOf(page: string): Map<string, string> {
  const file = `docs/install/${page}`
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  const sections = new Map<string, string>()
  for (const { language, line, text } of codeBlocks(file)) {
    if (language !== 'sh') continue
    const [heading = ''] = lines
      .slice(0, line)
      .filter((text) => text.startsWith('## '))
      .slice(-1)
    const name = heading.slice(3)
    sections.set(name, (sections.get(name) ?? '') + text)
  }
  return sections
}

export const archiveUrl = 'http://127.0.0.1:8000'

/** The talk that docs/install/systemd.md creates. */
export const talk = {
  title: 'Ten years of tiny queues',
  category: 'Example Days 2026',
  language: 'English',
  speakers: ['Zoë Ångström'],
  state: 1,
}

/** Returns the response of the archive. Throws if its status is not the expected one. */
export async function read(path: string, status = 200): Promise<Response> {
  const response = await fetch(new URL(path, archiveUrl))
  assert.equal(response.status, status, `${path}: ${response.status}`)
  return response
}

/** Returns the link preview of a talk once it is drawn; until then the archive serves an SVG. */
export async function readPreview(url: string): Promise<Uint8Array> {
  return until(`a preview at ${url}`, async () => {
    const response = await fetch(url)
    assert.equal(response.headers.get('content-type'), 'image/jpeg')
    return response.bytes()
  })
}

/**
 * Checks that the link preview of a talk shows its words: it must look like the one that is drawn
 * here with fonts, and not like the one that is drawn without.
 */
export async function checkPreview(preview: Uint8Array, siteName: string): Promise<void> {
  const actual = await pixelsOf(preview)
  const withWords = await pixelsOf(await draw(siteName))
  const withoutWords = await pixelsOf(await drawWithoutFonts(siteName))
  const missing = distance(withWords, withoutWords)
  assert.ok(missing > 1, 'this machine has no fonts: apt-get install fonts-noto-core')
  const difference = distance(actual, withWords)
  assert.ok(
    difference < missing / 3,
    `the preview differs by ${difference.toFixed(2)} from one with words;` +
      ` one without differs by ${missing.toFixed(2)}`,
  )
}

async function drawWithoutFonts(siteName: string): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-no-fonts-'))
  try {
    const settings = join(folder, 'fonts.conf')
    writeFileSync(settings, '<?xml version="1.0"?><fontconfig></fontconfig>')
    return await draw(siteName, settings)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Draws the preview of the talk in a process of its own, because fonts are read once in each. */
async function draw(siteName: string, fontSettings?: string): Promise<Uint8Array> {
  const program = `
    import sharp from 'sharp'
    import { drawPreview } from './server/pictures/cover.ts'
    const svg = drawPreview(${JSON.stringify(talk)}, ${JSON.stringify(siteName)})
    process.stdout.write(await sharp(Buffer.from(svg)).png().toBuffer())`
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module-typescript', '--eval', program],
    {
      cwd: root,
      encoding: 'buffer',
      maxBuffer: 2 ** 26,
      env: { ...process.env, ...(fontSettings && { FONTCONFIG_FILE: fontSettings }) },
    },
  )
  return stdout
}

const pixelsOf = (picture: Uint8Array) =>
  sharp(picture).resize(600, 315, { fit: 'fill' }).greyscale().raw().toBuffer()

/** Returns the mean difference between the pixels of two pictures. */
function distance(a: Buffer, b: Buffer): number {
  assert.equal(a.length, b.length)
  return a.reduce((sum, value, index) => sum + Math.abs(value - (b[index] ?? 0)), 0) / a.length
}
