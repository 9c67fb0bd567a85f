import { constants, type Dirent } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputRefused, type SourceFile } from '../item.ts'
import { decodeText, formatBytes } from './unpack.ts'

// Opens a file, a folder or a stream, optionally packed with gzip, as UTF-8 text. Only one chunk is
// in memory, whatever the size.

/** The limits of an input. Reading more throws `InputRefused`. */
export interface InputLimits {
  /** Characters of a text that is read as a whole. */
  readonly text: number
  /** Characters of a line. */
  readonly line: number
  /** Entries of a folder. */
  readonly files: number
  /** Bytes of a file, unpacked. */
  readonly bytes: number
}

export const inputLimits: InputLimits = {
  text: 64 << 20,
  line: 1 << 20,
  files: 200_000,
  bytes: 8 * 2 ** 30,
}

export type InputSource =
  | { readonly path: string }
  | { readonly stream: AsyncIterable<Uint8Array>; readonly name: string }

export interface OpenedInput {
  readonly name: string
  /** The first kilobytes of the first file, for the detection of its format. */
  readonly head: string
  readonly firstPath: string
  readonly files: AsyncIterable<SourceFile>
}

/**
 * Opens an input and reads its beginning. Throws `InputRefused` if it can't be opened. Later errors
 * are thrown when the files are read.
 */
export async function openInput(
  source: InputSource,
  limits: InputLimits = inputLimits,
): Promise<OpenedInput> {
  if ('stream' in source) return openStream(source.stream, source.name, limits)
  const { path } = source
  const name = basename(path) || path
  const stats = await stat(path).catch((error: unknown) => {
    throw translateError(error, path)
  })
  if (stats.isDirectory()) return openFolder(path, name, limits)
  if (!stats.isFile())
    throw new InputRefused(
      `${path} is not a file or folder. To import from a pipe, use standard input: -`,
    )
  const read = () => decodeText(readBytes(path, name, 0), name, limits.bytes)
  const head = await readHead(read())
  refuseEmpty(head, name)
  return { name, head, firstPath: name, files: toAsync([sourceFile(name, read, limits)]) }
}

/**
 * Reads the text of a file in chunks, including line ends: the cells of a table can contain either
 * line end, and a list of records can be one long line.
 */
export function textChunks(file: SourceFile): AsyncIterable<string> {
  return 'chunks' in file ? (file as InputFile).chunks() : withLineEnds(file.lines())
}

/** Splits text into lines without \n or \r\n. Takes linear time, however small the chunks are. */
export async function* splitLines(
  chunks: AsyncIterable<string>,
  path: string,
  maxLength: number,
): AsyncGenerator<string> {
  let rest = ''
  let lineNumber = 1
  const append = (part: string) => {
    if (rest.length + part.length > maxLength)
      throw new InputRefused(
        `Line ${lineNumber} of ${path} has more than ${formatBytes(maxLength)}, ` +
          'the limit for a line. Does the file have line breaks?',
      )
    return rest + part
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      const line = append(chunk.slice(start, end))
      rest = ''
      start = end + 1
      lineNumber++
      yield line.endsWith('\r') ? line.slice(0, -1) : line
    }
    rest = append(chunk.slice(start))
  }
  if (rest !== '') yield rest
}

interface InputFile extends SourceFile {
  chunks(): AsyncIterable<string>
}

/** Characters that are enough to detect a format. */
const headLength = 1 << 16

async function openStream(
  stream: AsyncIterable<Uint8Array>,
  name: string,
  limits: InputLimits,
): Promise<OpenedInput> {
  const chunks = decodeText(stream, name, limits.bytes)
  // A stream can be read only once, so its beginning is buffered.
  const buffered: string[] = []
  for (let length = 0; length < headLength; length += buffered.at(-1)?.length ?? 0) {
    const { done, value } = await chunks.next()
    if (done) break
    buffered.push(value)
  }
  const head = buffered.join('').slice(0, headLength)
  refuseEmpty(head, name)
  async function* read() {
    try {
      for (let chunk = buffered.shift(); chunk !== undefined; chunk = buffered.shift()) yield chunk
      yield* chunks
    } finally {
      await chunks.return(undefined)
    }
  }
  return { name, head, firstPath: name, files: toAsync([sourceFile(name, read, limits)]) }
}

async function openFolder(folder: string, name: string, limits: InputLimits): Promise<OpenedInput> {
  const paths = await listJsonFiles(folder, limits.files)
  const read = (path: string) =>
    decodeText(readBytes(join(folder, path), path, constants.O_NOFOLLOW ?? 0), path, limits.bytes)
  const [firstPath] = paths
  if (firstPath === undefined)
    throw new InputRefused(
      `The folder ${folder} has no .json files. Import files of other formats one by one`,
    )
  const files = (function* () {
    for (const path of paths) yield sourceFile(path, () => read(path), limits)
  })()
  return { name, head: await readHead(read(firstPath)), firstPath, files: toAsync(files) }
}

const maxFolderDepth = 32

/**
 * Lists the .json files in a folder and its subfolders, sorted. The files of a folder come before
 * those of its subfolders, which they may be about. Skips hidden files, and symbolic links, which
 * could lead out of the folder or in a circle.
 */
async function listJsonFiles(folder: string, maxEntries: number): Promise<string[]> {
  const paths: string[] = []
  let entryCount = 0
  const walk = async (subfolder: string, depth: number): Promise<void> => {
    if (depth > maxFolderDepth)
      throw new InputRefused(
        `${subfolder} is more than ${maxFolderDepth} folders deep. Import one of its parents`,
      )
    const absolute = join(folder, subfolder)
    const entries: Dirent[] = await readdir(absolute, { withFileTypes: true }).catch(
      (error: unknown) => {
        throw translateError(error, absolute)
      },
    )
    entryCount += entries.length
    if (entryCount > maxEntries)
      throw new InputRefused(
        `The folder ${folder} has more than ${maxEntries} files. Import its subfolders one by one`,
      )
    const shown = entries
      .filter(({ name }) => !name.startsWith('.'))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const pathOf = ({ name }: Dirent) => (subfolder === '' ? name : `${subfolder}/${name}`)
    for (const entry of shown)
      if (entry.isFile() && entry.name.endsWith('.json')) paths.push(pathOf(entry))
    for (const entry of shown) if (entry.isDirectory()) await walk(pathOf(entry), depth + 1)
  }
  await walk('', 0)
  return paths
}

function sourceFile(
  path: string,
  read: () => AsyncIterable<string>,
  limits: InputLimits,
): InputFile {
  let isRead = false
  const chunks = () => {
    if (isRead) throw new Error(`${path} was read before`)
    isRead = true
    return read()
  }
  return {
    path,
    chunks,
    lines: () => splitLines(chunks(), path, limits.line),
    async text() {
      let text = ''
      for await (const chunk of chunks()) {
        text += chunk
        if (text.length > limits.text)
          throw new InputRefused(
            `${path} has more than ${formatBytes(limits.text)}, the limit of its format. Split it`,
          )
      }
      return text
    },
  }
}

async function readHead(chunks: AsyncIterable<string>): Promise<string> {
  let head = ''
  for await (const chunk of chunks) {
    head += chunk
    if (head.length >= headLength) break
  }
  return head.slice(0, headLength)
}

function refuseEmpty(head: string, path: string): void {
  if (head.length < headLength && head.trim() === '')
    throw new InputRefused(`${path} is empty`, 'empty')
}

async function* readBytes(file: string, path: string, flags: number): AsyncGenerator<Uint8Array> {
  try {
    // Without O_NONBLOCK, opening would hang if the file was replaced by a pipe.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags)
    try {
      if (!(await handle.stat()).isFile()) throw new InputRefused(`${path} is no longer a file`)
      for (;;) {
        const buffer = Buffer.allocUnsafe(1 << 16)
        const { bytesRead } = await handle.read(buffer)
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
      }
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw translateError(error, path)
  }
}

const reasons: Record<string, string> = {
  ENOENT: 'does not exist. Check the path',
  ENOTDIR: 'does not exist: a part of the path is not a folder',
  EACCES: 'can’t be read: permission denied',
  EPERM: 'can’t be read: permission denied',
  ELOOP: 'is a symbolic link that can’t be followed',
  ENAMETOOLONG: 'is too long a path',
}

function translateError(error: unknown, path: string): unknown {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (typeof code !== 'string' || typeof syscall !== 'string') return error
  return new InputRefused(`${path} ${reasons[code] ?? `can’t be read (${code})`}`)
}

async function* toAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

async function* withLineEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`
}
