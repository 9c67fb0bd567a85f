import type { pictureWidths } from '@talkshelf/web'
import type { Sharp, SharpOptions } from 'sharp'
import { openLine } from './waiting-line.ts'

// Pixels. What comes in was made by strangers, so it is looked at before anything that decodes it.

/** A width, or what other sites show of a link: a JPEG of 1200 by 630, because not all of them take anything else. */
export type Form = (typeof pictureWidths)[number] | 'preview'

export class NoImage extends Error {}
/** The package is not there, or was made for another machine. */
export class NoSharp extends Error {}

type Module = { default: typeof import('sharp').default }
export type LoadSharp = () => Promise<Module>

export interface Images {
  /** Throws NoSharp where there will never be a picture. */
  ready(): Promise<unknown>
  /** Cut to the form. A small picture stays small: enlarging is the browser's work. */
  resize(source: Buffer, form: Form): Promise<Buffer>
  /** A drawing of ours as a preview. */
  render(svg: string): Promise<Buffer>
}

const preview = { width: 1200, height: 630 }
const mostPixels = 50_000_000
const limits: SharpOptions = { limitInputPixels: mostPixels, failOn: 'error', autoOrient: true }
const seconds = 5

/** What libvips may open at all: buffers of these kinds. SVG is for our own covers, which never come from outside. */
const loaders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Svg'].map((kind) => `VipsForeignLoad${kind}Buffer`)

export function openImages(load: LoadSharp = () => import('sharp')): Images {
  // Two of the four threads that Node has for files, names and the like. More would make everybody wait.
  const line = openLine(2, 100)
  let loading: Promise<Module['default']> | undefined

  // It takes 100 ms and 27 MB, so only whoever needs it pays.
  const sharp = () => {
    loading ??= load().then(({ default: it }) => {
      it.concurrency(1)
      it.cache(false)
      it.block({ operation: ['VipsForeignLoad'] })
      it.unblock({ operation: loaders })
      return it
    })
    return loading.catch((error) => {
      throw new NoSharp('sharp could not be loaded', { cause: error })
    })
  }

  return {
    ready: sharp,
    resize: async (source, form) => {
      if (!isRaster(source)) throw new NoImage('It is no JPEG, PNG, WebP, GIF or AVIF')
      const make = await sharp()
      return line.run(async () => {
        try {
          const image = make(source, limits)
          const { format, compression, autoOrient } = await image.metadata()
          if (!['jpeg', 'png', 'webp', 'gif'].includes(format) && compression !== 'av1') throw new NoImage(`It is ${format}`)
          if (form === 'preview') return await asPreview(image)
          const width = Math.max(16, Math.min(form, autoOrient.width, Math.floor((autoOrient.height * 16) / 9)))
          const resized = image.resize({ width, height: Math.round((width * 9) / 16), fit: 'cover' })
          return await resized.webp({ quality: 72 }).timeout({ seconds }).toBuffer()
        } catch (error) {
          throw error instanceof NoImage ? error : new NoImage('It could not be decoded', { cause: error })
        }
      })
    },
    render: async (svg) => {
      const make = await sharp()
      return line.run(() => asPreview(make(Buffer.from(svg), limits)))
    },
  }
}

function asPreview(image: Sharp): Promise<Buffer> {
  return image
    .resize({ ...preview, fit: 'cover' })
    .flatten({ background: '#fff' })
    .jpeg({ quality: 80, mozjpeg: true })
    .timeout({ seconds })
    .toBuffer()
}

/** By its first bytes: what a server says of its file is not worth much. */
function isRaster(bytes: Buffer): boolean {
  const text = (from: number, to: number) => bytes.toString('latin1', from, to)
  if (text(0, 3) === '\xff\xd8\xff' || text(0, 8) === '\x89PNG\r\n\x1a\n' || /^GIF8[79]a$/.test(text(0, 6))) return true
  if (text(0, 4) === 'RIFF') return text(8, 12) === 'WEBP'
  return text(4, 8) === 'ftyp' && /avi[fs]/.test(text(8, 40))
}
