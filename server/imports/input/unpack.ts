import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { InputRefused } from '../item.ts'

// Bytes become text. What they are is seen from the bytes themselves: names of files say little,
// and a stream has none.

/** Throws `Refused` where the bytes are no text in UTF-8, or more than `most` when unpacked. */
export async function* decodeText(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  limit: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let length = 0
  let held = ''
  const decoded = (chunk?: Uint8Array) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw new InputRefused(
        `${path} is not in UTF-8, as is seen near byte ${length}. Convert it, for instance: iconv -f LATIN1 -t UTF-8`,
      )
    }
  }
  const released = function* () {
    if (held.includes('\0'))
      throw new InputRefused(
        `${path} has a NUL near byte ${length}: it is no text, or one in UTF-16. Convert it to UTF-8`,
      )
    if (held !== '') yield held
    held = ''
  }
  for await (const chunk of unpacked(bytes, path)) {
    held += decoded(chunk)
    length += chunk.length
    if (length > limit)
      throw new InputRefused(
        `${path} has more than ${formatBytes(limit)}, which is the most that is read. Split it`,
      )
    // Pieces of a byte each would cost a hundred times their size.
    if (held.length >= pieceLength) yield* released()
  }
  held += decoded()
  yield* released()
}

/** For people. */
export function formatBytes(bytes: number): string {
  const [unit, name] =
    bytes >= 2 ** 30 ? [2 ** 30, 'GB'] : bytes >= 1 << 20 ? [1 << 20, 'MB'] : [1, 'bytes']
  return `${Math.round(bytes / unit)} ${name}`
}

const pieceLength = 1 << 12

async function* unpacked(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  let isPacked = false
  const source = lookedAt(bytes, (head) => {
    refuseOthers(head, path)
    isPacked = startsWith(head, gzip)
  })
  const { done, value } = await source.next()
  if (done) return
  const whole = (async function* () {
    try {
      yield value
      yield* source
    } finally {
      // Whoever stops at the first piece closes the file as well.
      await source.return(undefined)
    }
  })()
  if (!isPacked) return yield* whole
  yield* lookedAt(gunzipped(whole, path), (head) => {
    refuseOthers(head, path)
    if (startsWith(head, gzip))
      throw new InputRefused(`${path} is packed twice. Unpack it once: gunzip`)
  })
}

async function* gunzipped(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: 1 << 16 })
  // Whatever goes wrong in here comes out of gunzip as well.
  pipeline(bytes, gunzip).catch(() => {})
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (code === 'Z_BUF_ERROR')
      throw new InputRefused(`${path} is cut off: what it packs ends too early. Fetch it again`)
    if (typeof code === 'string' && code.startsWith('Z_'))
      throw new InputRefused(`${path} is damaged and can’t be unpacked. Fetch it again`)
    throw error
  }
}

/** The magic number of tar is behind its first file name. */
const headLength = 512

/** The same bytes; the first of them are looked at before anybody gets one. */
async function* lookedAt(
  bytes: AsyncIterable<Uint8Array>,
  look: (head: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array()
  for await (const chunk of bytes) {
    if (head === undefined) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < headLength) continue
    look(head)
    yield head
    head = undefined
  }
  if (head === undefined) return
  look(head)
  if (head.length > 0) yield head
}

const gzip = '\x1f\x8b'
const spreadsheet = 'Unpack it; a spreadsheet (xlsx, ods) is one too: save it as CSV'
const others: readonly { magic: string; at?: number; what: string }[] = [
  { magic: 'PK\x03\x04', what: `a zip archive. ${spreadsheet}` },
  { magic: 'PK\x05\x06', what: `a zip archive. ${spreadsheet}` },
  { magic: 'PK\x07\x08', what: `a zip archive. ${spreadsheet}` },
  {
    magic: 'ustar',
    at: 257,
    what: 'a tar archive. Unpack it (tar -xf), and give the folder or one of its files',
  },
  { magic: '1AY&SY', at: 4, what: 'packed with bzip2. Unpack it (bunzip2), or pack it with gzip' },
  { magic: '\xfd7zXZ\0', what: 'packed with xz. Unpack it (unxz), or pack it with gzip' },
  { magic: '\x28\xb5\x2f\xfd', what: 'packed with zstd. Unpack it (unzstd), or pack it with gzip' },
  { magic: '7z\xbc\xaf\x27\x1c', what: 'a 7z archive. Unpack it' },
  { magic: '\xff\xfe', what: 'a text in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8' },
  { magic: '\xfe\xff', what: 'a text in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8' },
]

function refuseOthers(head: Uint8Array, path: string): void {
  const found = others.find(({ magic, at }) => startsWith(head, magic, at))
  if (found) throw new InputRefused(`${path} is ${found.what}`)
}

function startsWith(bytes: Uint8Array, magic: string, at = 0): boolean {
  return Buffer.from(bytes.subarray(at, at + magic.length)).toString('latin1') === magic
}
