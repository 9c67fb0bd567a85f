import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import './formats.ts'

// Uploaded pictures: logos of events and pictures of speakers that are on no other site.

/** The types of pictures that can be uploaded. The content decides, not the declared type. */
export const pictureTypes = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/gif',
  'image/avif',
] as const

/** The largest picture that can be uploaded. */
export const maxPictureBytes = 10_000_000

/** Why a picture was refused. */
export type PictureRefusal =
  | 'empty'
  | 'too-large'
  | 'svg'
  | 'format'
  | 'animated'
  | 'unreadable'
  | 'full'
  | 'unavailable'

const PictureFile = Type.Unsafe<Uint8Array<ArrayBuffer>>({
  type: 'string',
  contentMediaType: 'application/octet-stream',
  description: 'The bytes of a JPEG, PNG, WebP, GIF or AVIF',
})

const UploadedPicture = Type.Object(
  {
    url: Type.String({
      format: 'web-url',
      description: 'Address of the picture, for `logo_url` and `picture_url`',
    }),
  },
  { additionalProperties: false, description: 'An uploaded picture' },
)

export const uploadPictureEndpoint = endpoint({
  name: 'uploadPicture',
  method: 'POST',
  path: '/api/v2/picture',
  role: 'editor',
  summary: 'Upload a logo or a picture',
  description:
    'The picture is converted to WebP of at most 1024 by 1024 pixels, without metadata such as ' +
    'the place of a photo. Set the returned `url` as `logo_url` of a category or `picture_url` of ' +
    'a speaker: only then readers can see it. The same file has the same URL. A picture that no ' +
    'profile uses for 90 days is deleted.',
  body: {
    schema: PictureFile,
    types: ['application/octet-stream', ...pictureTypes],
    maxBytes: maxPictureBytes,
    isBinary: true,
  },
  // As long as decoding may take, and the pictures before it.
  timeoutMs: 30_000,
  response: { status: 201, schema: UploadedPicture },
  problems: ['picture-refused', 'storage-full'],
})

export const pictureEndpoints = { uploadPicture: uploadPictureEndpoint } as const
