import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { InputRefused } from '../item.ts'

// Decodes bytes to text, and unpacks gzip. The encoding is detected from the bytes, because file
// names are unreliable and a stream has none.

/** Returns the position of the first byte that is not UTF-8. */
function invalidAt(chunk: Uint8Array): number {
  const [valid = ''] = new TextDecoder().decode(chunk).split('\uFFFD', 1)
  return Buffer.byteLength(valid)
}

/** Decodes UTF-8. Throws `InputRefused` for anything else, and for more bytes than `maxBytes`. */
export async function* decodeText(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let length = 0
  let buffered = ''
  const decode = (chunk?: Uint8Array) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw new InputRefused(
        `${path} is not in UTF-8 (near byte ${length + (chunk ? invalidAt(chunk) : 0)}). ` +
          'Save it as UTF-8, or convert it:\n' +
          `  iconv -f WINDOWS-1252 -t UTF-8 '${path}' > utf-8.csv`,
      )
    }
  }
  const flush = function* () {
    if (buffered.includes('\0'))
      throw new InputRefused(
        `${path} has a NUL near byte ${length}: it is binary or in UTF-16. Convert it to UTF-8`,
      )
    if (buffered !== '') yield buffered
    buffered = ''
  }
  for await (const chunk of unpack(bytes, path)) {
    buffered += decode(chunk)
    length += chunk.length
    if (length > maxBytes)
      throw new InputRefused(
        `${path} has more than ${formatBytes(maxBytes)}, the limit for a file. Split it`,
      )
    // Tiny chunks would cost a hundred times their size.
    if (buffered.length >= minChunkLength) yield* flush()
  }
  buffered += decode()
  yield* flush()
}

/** Formats a number of bytes with a unit. */
export function formatBytes(bytes: number): string {
  if (bytes >= 2 ** 30) return `${Math.round(bytes / 2 ** 30)} GB`
  if (bytes >= 2 ** 20) return `${Math.round(bytes / 2 ** 20)} MB`
  return `${bytes} bytes`
}

const minChunkLength = 1 << 12

async function* unpack(bytes: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  let isPacked = false
  const source = inspectHead(bytes, (head) => {
    refuseBinary(head, path)
    isPacked = startsWith(head, gzipMagic)
  })
  const { done, value } = await source.next()
  if (done) return
  const whole = (async function* () {
    try {
      yield value
      yield* source
    } finally {
      // Closes the file if the consumer stops after the first chunk.
      await source.return(undefined)
    }
  })()
  if (!isPacked) return yield* whole
  yield* inspectHead(gunzip(whole, path), (head) => {
    refuseBinary(head, path)
    if (startsWith(head, gzipMagic))
      throw new InputRefused(`${path} is packed twice. Unpack it once: gunzip`)
  })
}

async function* gunzip(bytes: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  const unzipped = createGunzip({ chunkSize: 1 << 16 })
  // An error of the pipeline is thrown by the loop below as well.
  pipeline(bytes, unzipped).catch(() => {})
  try {
    for await (const chunk of unzipped) yield chunk as Uint8Array
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (code === 'Z_BUF_ERROR')
      throw new InputRefused(`${path} is cut off: the gzip data ends too early. Download it again`)
    if (typeof code === 'string' && code.startsWith('Z_'))
      throw new InputRefused(`${path} is damaged and can’t be unpacked. Download it again`)
    throw error
  }
}

/** The magic number of tar is behind its first file name. */
const headLength = 512

/** Passes the bytes through, and calls `inspect` with the first ones before any is yielded. */
async function* inspectHead(
  bytes: AsyncIterable<Uint8Array>,
  inspect: (head: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array()
  for await (const chunk of bytes) {
    if (head === undefined) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < headLength) continue
    inspect(head)
    yield head
    head = undefined
  }
  if (head === undefined) return
  inspect(head)
  if (head.length > 0) yield head
}

const gzipMagic = '\x1f\x8b'
const zip = 'a zip archive. Unpack it. If it is a spreadsheet (xlsx, ods), save it as CSV'
const utf16 = 'in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8'
const binaryFormats: readonly { magic: string; offset?: number; description: string }[] = [
  { magic: 'PK\x03\x04', description: zip },
  { magic: 'PK\x05\x06', description: zip },
  { magic: 'PK\x07\x08', description: zip },
  {
    magic: 'ustar',
    offset: 257,
    description: 'a tar archive. Unpack it (tar -xf), and import the folder or one of its files',
  },
  {
    magic: '1AY&SY',
    offset: 4,
    description: 'packed with bzip2. Unpack it (bunzip2), or pack it with gzip',
  },
  { magic: '\xfd7zXZ\0', description: 'packed with xz. Unpack it (unxz), or pack it with gzip' },
  {
    magic: '\x28\xb5\x2f\xfd',
    description: 'packed with zstd. Unpack it (unzstd), or pack it with gzip',
  },
  { magic: '7z\xbc\xaf\x27\x1c', description: 'a 7z archive. Unpack it' },
  { magic: '\xff\xfe', description: utf16 },
  { magic: '\xfe\xff', description: utf16 },
]

function refuseBinary(head: Uint8Array, path: string): void {
  const format = binaryFormats.find(({ magic, offset }) => startsWith(head, magic, offset))
  if (format) throw new InputRefused(`${path} is ${format.description}`)
}

function startsWith(bytes: Uint8Array, magic: string, offset = 0): boolean {
  return Buffer.from(bytes.subarray(offset, offset + magic.length)).toString('latin1') === magic
}
