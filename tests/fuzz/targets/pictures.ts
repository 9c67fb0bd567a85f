import sharp from 'sharp'
import { InvalidImage, openImages } from '../../../server/pictures/images.ts'
import { assertProperty, type FuzzTarget } from '../target.ts'

const pixels = sharp({ create: { width: 24, height: 16, channels: 3, background: '#7a3' } })
const seeds = await Promise.all([
  pixels.clone().png().toBuffer(),
  pixels.clone().png({ palette: true, progressive: true }).toBuffer(),
  pixels.clone().jpeg().toBuffer(),
  pixels.clone().jpeg({ progressive: true }).withMetadata({ orientation: 6 }).toBuffer(),
  pixels.clone().webp().toBuffer(),
  pixels.clone().gif().toBuffer(),
  pixels.clone().avif({ effort: 0 }).toBuffer(),
])
const images = openImages()

export const pictureTargets: readonly FuzzTarget[] = [
  {
    name: 'image',
    seeds: [
      ...seeds,
      '\0\0\0 ftypavif<svg xmlns="http://www.w3.org/2000/svg"/>',
      'GIF89a<svg/>',
      'RIFF\0\0\0\0WEBPVP8 ',
    ],
    dictionary: [
      '\x89PNG\r\n\x1a\n',
      'IHDR',
      'IDAT',
      'IEND',
      'iCCP',
      'acTL',
      'GIF89a',
      'RIFF',
      'WEBP',
      'VP8X',
      'ftyp',
      'avif',
      'meta',
      'mdat',
      '<svg',
    ],
    share: 0.3,
    refusals: [InvalidImage],
    async run(input) {
      const resized = await images.resize(input, input.length % 8 === 0 ? 'preview' : 320)
      const head = resized.toString('latin1', 0, 12)
      assertProperty(/^(RIFF....WEBP|\xff\xd8\xff)/s.test(head), 'neither WebP nor JPEG', head)
    },
  },
]
