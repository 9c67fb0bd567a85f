import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { Problem } from '@talkshelf/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'

// Reads forms with a file (multipart/form-data). The file is kept in memory, within a limit.

export interface UploadedFile {
  /** The name of its field. */
  readonly field: string
  /** The name without folders. It may contain any characters. */
  readonly name: string
  /** Empty if the file is too large. */
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** The file has more than `fileBytes`. */
  readonly isTooLarge: boolean
}

export interface Upload {
  readonly form: URLSearchParams
  /** The files that were chosen. */
  readonly files: readonly UploadedFile[]
  /** The first of them. Undefined if no file was chosen. */
  readonly file: UploadedFile | undefined
}

export interface UploadLimits {
  /** Limit of the whole form. A larger one is refused. */
  readonly maxBytes: number
  /** Limit of the file, beyond which its content is dropped and the fields are kept. */
  readonly fileBytes?: number
  /** Limit of each field. */
  readonly fieldBytes?: number
  /** Number of files. Default: 1 */
  readonly maxFiles?: number
}

/** Checks the fields before the file. Throws to refuse the form. */
export type CheckFields = (form: URLSearchParams) => void

const maxFields = 20
const defaultFieldBytes = 5000
/** Reading ends after this time. The server closes slow connections earlier. */
export const uploadMs = 15_000

/** Leaves the bodies of uploads to `readUpload`. */
export function acceptUploads(http: FastifyInstance): void {
  http.addContentTypeParser('multipart/form-data', ({ routeOptions }, _, done) => {
    if (routeOptions.config.takesUpload) done(null, undefined)
    else done(new Problem('unsupported-media-type', 'This URL does not take files'))
  })
}

/**
 * Reads the fields and the file of a form. `check` is called before the first byte of the file is
 * kept, so the fields that it needs must come first. After a refusal the rest of the body is
 * discarded, so that the browser reads the response.
 */
export async function readUpload(
  request: FastifyRequest,
  limits: UploadLimits,
  check: CheckFields,
): Promise<Upload> {
  const { headers, body } = request
  const { maxBytes } = limits
  // Fastify has parsed a form without a file, and has no body if there is no Content-Type.
  if (body instanceof URLSearchParams || headers['content-type'] === undefined) {
    const form = body instanceof URLSearchParams ? body : new URLSearchParams()
    check(form)
    return { form, files: [], file: undefined }
  }
  if (Number(headers['content-length']) > maxBytes) throw tooLarge(maxBytes)
  return parseUpload(request.raw, createParser(headers, limits), maxBytes, check)
}

function parseUpload(
  body: FastifyRequest['raw'],
  parser: BusboyInstance,
  maxBytes: number,
  check: CheckFields,
): Promise<Upload> {
  return new Promise((resolve, reject) => {
    const form = new URLSearchParams()
    const files: (UploadedFile & { chunks: Uint8Array[] })[] = []
    let isChecked = false
    let receivedBytes = 0

    const onData = (chunk: Buffer) => {
      receivedBytes += chunk.length
      if (receivedBytes > maxBytes) refuse(tooLarge(maxBytes))
      else parser.write(chunk)
    }
    const onEnd = () => {
      body.off('close', onClose)
      parser.end()
    }
    const onClose = () => refuse(malformed('The upload was interrupted'))
    const timer = setTimeout(
      () => refuse(new Problem('request-timeout', 'The upload took too long')),
      uploadMs,
    )
    const stop = () => {
      clearTimeout(timer)
      body.off('data', onData).off('end', onEnd).off('close', onClose).resume()
    }
    const refuse = (error: unknown) => {
      stop()
      reject(error)
    }
    /** Returns whether the fields before the file were accepted. */
    const isAccepted = () => {
      try {
        if (!isChecked) check(form)
        isChecked = true
      } catch (error) {
        refuse(error)
      }
      return isChecked
    }
    const refuseParts = () => refuse(malformed('The form has too many fields or files'))

    parser
      .on('partsLimit', refuseParts)
      .on('fieldsLimit', refuseParts)
      .on('filesLimit', refuseParts)
      .on('error', () => refuse(malformed('The form is damaged or incomplete')))
      .on('field', (name, value, _, isTruncated) => {
        // The types of the parser do not say that a name can be missing.
        if (name === undefined) refuse(malformed('A field of the form has no name'))
        else if (isTruncated) refuse(malformed('A field of the form is too long'))
        else form.append(name, value)
      })
      .on('file', (field, stream, name) => {
        // The parser reports the same error.
        stream.on('error', () => {})
        if (!isAccepted()) return stream.resume()
        const chunks: Uint8Array[] = []
        const current = { field, name: name ?? '', chunks, bytes: 0, isTooLarge: false }
        files.push(current)
        stream.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          current.bytes += chunk.length
        })
        stream.on('limit', () => {
          current.isTooLarge = true
          chunks.length = 0
        })
      })
      .on('finish', () => {
        if (!isAccepted()) return
        stop()
        // Browsers send an empty file without a name if none was chosen.
        const chosen = files.filter(({ name, bytes }) => name !== '' || bytes > 0)
        resolve({ form, files: chosen, file: chosen[0] })
      })

    if (body.destroyed) onClose()
    else body.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** Creates the parser of a form. Throws a Problem if the Content-Type has no valid boundary. */
function createParser(
  headers: FastifyRequest['headers'],
  { maxBytes, fileBytes = maxBytes, fieldBytes = defaultFieldBytes, maxFiles = 1 }: UploadLimits,
): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      limits: {
        fields: maxFields,
        files: maxFiles,
        parts: maxFields + maxFiles,
        fieldSize: fieldBytes,
        fileSize: fileBytes,
        headerPairs: 10,
        headerSize: 4096,
      },
    })
  } catch {
    throw malformed('The form has no valid boundary')
  }
}

const tooLarge = (maxBytes: number) =>
  new Problem('too-large', `An upload has at most ${maxBytes.toLocaleString('en')} bytes`)
const malformed = (reason: string) =>
  new Problem('bad-request', `${reason}. Go back and send the form again.`)

declare module 'fastify' {
  interface FastifyContextConfig {
    takesUpload?: boolean
  }
}
