import { hash } from 'node:crypto'
import { paths, type SiteLogo } from '@talkshelf/web'
import {
  DecoderUnavailable,
  type IconSize,
  type Images,
  InvalidImage,
  openImages,
} from '../pictures/pictures.ts'
import { type Report, readLimited } from './folder.ts'
import { checkSvg } from './svg.ts'

// Reads the logo and the icon of an operator. Pixels are encoded again; an SVG is checked and kept.

export interface SiteFile {
  readonly body: Buffer
  readonly type: string
}

export interface SiteIcon {
  readonly svg?: SiteFile | undefined
  /** 32 pixels, for favicon.ico. */
  readonly small: Buffer
  /** Squares of 192 and 512 pixels, with their names. */
  readonly large: readonly { readonly side: number; readonly name: string }[]
  /** The name of the icon for browsers, and its type. */
  readonly name: string
  readonly type: string
}

export interface SitePictures {
  /** By name. The names have a hash, so that they can be cached for ever. */
  readonly files: ReadonlyMap<string, SiteFile>
  readonly logo?: Omit<SiteLogo, 'hasName'> | undefined
  readonly icon?: SiteIcon | undefined
}

const maxSvgBytes = 100_000
const maxPictureBytes = 5_000_000
const logoFormats = ['svg', 'png', 'webp', 'jpg'] as const
const iconFormats = ['svg', 'png', 'webp'] as const

interface Source {
  readonly bytes: Buffer
  /** Set for an SVG. */
  readonly svg?: { readonly width: number; readonly height: number }
}

/** Reads the pictures in a folder. */
export async function readPictures(
  folder: string,
  names: readonly string[],
  report: Report,
): Promise<SitePictures> {
  const find = (name: string, formats: readonly string[]) => {
    const found = names.filter((it) => formats.some((format) => it === `${name}.${format}`))
    for (const other of found.slice(1))
      report(other, `is not used, because there is ${found[0]}: remove one of them`)
    return found[0]
  }
  const logoName = find('logo', logoFormats)
  const darkName = find('logo-dark', logoFormats)
  const iconName = find('favicon', iconFormats)
  if (darkName !== undefined && logoName === undefined)
    report(darkName, 'needs a logo for light backgrounds: logo.svg, .png, .webp or .jpg')
  const known = [logoName, darkName, iconName]
  for (const name of names)
    if (/^(logo|favicon)\b/.test(name) && !known.includes(name) && !isPictureName(name))
      report(name, 'is not used: name it logo, logo-dark or favicon, with .svg, .png or .webp')
  const files = new Map<string, SiteFile>()
  if (known.every((name) => name === undefined)) return { files }
  const images = openImages()
  try {
    const add = (name: string, extension: string, file: SiteFile) => {
      const version = hash('sha256', file.body, 'hex').slice(0, 12)
      files.set(`${name}.${version}.${extension}`, file)
      return `${name}.${version}.${extension}`
    }
    const readLogo = async (file: string | undefined, name: string) => {
      const source = file && (await readSource(folder, file, report))
      if (!file || !source) return undefined
      if (source.svg) return { ...source.svg, name: add(name, 'svg', svgFile(source)) }
      const body = await decode(() => images.resize(source.bytes, 'logo'), file, report)
      return body && { ...webpSize(body), name: add(name, 'webp', { body, type: 'image/webp' }) }
    }
    const light = await readLogo(logoName, 'logo')
    const dark = await readLogo(darkName, 'logo-dark')
    const icon = iconName && (await readIcon(folder, iconName, images, add, report))
    return {
      files,
      ...(light && {
        logo: {
          light: paths.siteFile(light.name),
          dark: dark && paths.siteFile(dark.name),
          width: Math.round(light.width),
          height: Math.round(light.height),
        },
      }),
      ...(icon && { icon }),
    }
  } finally {
    images.stop()
  }
}

/** Tells whether a file has the name of a picture. If it is not used, that was reported before. */
const isPictureName = (name: string) =>
  /^((logo|logo-dark)\.(svg|png|webp|jpg)|favicon\.(svg|png|webp))$/.test(name)

async function readSource(
  folder: string,
  name: string,
  report: Report,
): Promise<Source | undefined> {
  const isSvg = name.endsWith('.svg')
  const bytes = await readLimited(folder, name, isSvg ? maxSvgBytes : maxPictureBytes, report)
  if (!bytes || !isSvg) return bytes && { bytes }
  const { problems, width, height } = checkSvg(bytes.toString('utf8'))
  for (const problem of problems) report(name, problem)
  return problems.length === 0 ? { bytes, svg: { width, height } } : undefined
}

type Add = (name: string, extension: string, file: SiteFile) => string

async function readIcon(
  folder: string,
  file: string,
  images: Images,
  add: Add,
  report: Report,
): Promise<SiteIcon | undefined> {
  const source = await readSource(folder, file, report)
  if (!source) return undefined
  const draw = (side: number) => {
    const density = source.svg && densityFor(source.svg, side)
    return decode(
      () => images.drawIcon(source.bytes, `icon-${side}` as IconSize, density),
      file,
      report,
    )
  }
  const [small, medium, large] = [await draw(32), await draw(192), await draw(512)]
  if (!small || !medium || !large) return undefined
  const type = 'image/png'
  const pngs = [
    { side: 192, name: add('icon-192', 'png', { body: medium, type }) },
    { side: 512, name: add('icon-512', 'png', { body: large, type }) },
  ]
  const svg = source.svg && svgFile(source)
  return {
    svg,
    small,
    large: pngs,
    name: svg ? add('favicon', 'svg', svg) : (pngs[0]?.name ?? ''),
    type: svg ? svg.type : type,
  }
}

const svgFile = ({ bytes: body }: Source): SiteFile => ({ body, type: 'image/svg+xml' })

/** At 72 dots per inch, a unit of an SVG is a pixel. */
const densityFor = ({ width, height }: { width: number; height: number }, side: number) =>
  Math.min(2400, Math.max(1, (72 * side) / Math.max(width, height)))

async function decode(
  run: () => Promise<Buffer>,
  file: string,
  report: Report,
): Promise<Buffer | undefined> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof DecoderUnavailable)
      report(file, `cannot be converted, because sharp does not load: ${error.message}`)
    else if (error instanceof InvalidImage) report(file, `is not a picture: ${error.message}`)
    else throw error
    return undefined
  }
}

/** Returns the size of a WebP that the decoder wrote: lossy, with or without transparency. */
function webpSize(webp: Buffer): { width: number; height: number } {
  return webp.toString('latin1', 12, 16) === 'VP8X'
    ? { width: webp.readUIntLE(24, 3) + 1, height: webp.readUIntLE(27, 3) + 1 }
    : { width: webp.readUInt16LE(26) & 0x3fff, height: webp.readUInt16LE(28) & 0x3fff }
}
