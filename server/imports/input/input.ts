import { constants, type Dirent } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputRefused, type SourceFile } from '../item.ts'
import { decodeText, formatBytes } from './unpack.ts'

// What a person gives, opened: a file, a folder or a stream, packed with gzip or not, becomes text
// that is known to be UTF-8. Nothing is held but the piece at hand, whatever the size.

/** Bytes, but for `files`; of `text` and `line` characters. */
export interface InputLimits {
  /** A text that is taken as a whole. */
  readonly text: number
  readonly line: number
  /** What lies in a folder. */
  readonly files: number
  /** One file, unpacked. */
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
  /** How the first file begins: enough to see what it is. */
  readonly begin: string
  readonly firstPath: string
  readonly files: AsyncIterable<SourceFile>
}

/**
 * Throws `Refused` where there is nothing to read. What is wrong further on is told when it is
 * read.
 */
export async function openInput(
  given: InputSource,
  limit: InputLimits = inputLimits,
): Promise<OpenedInput> {
  if ('stream' in given) return openStream(given.stream, given.name, limit)
  const { path } = given
  const name = basename(path) || path
  const found = await stat(path).catch((error: unknown) => {
    throw explained(error, path)
  })
  if (found.isDirectory()) return openFolder(path, name, limit)
  if (!found.isFile())
    throw new InputRefused(
      `${path} is neither a file nor a folder. What comes through a pipe can be given on standard input`,
    )
  const read = () => decodeText(bytesOf(path, name, 0), name, limit.bytes)
  const begin = await beginOf(read())
  refuseEmpty(begin, name)
  return { name, begin, firstPath: name, files: each([sourceFile(name, read, limit)]) }
}

/**
 * The text of a file as it comes, line ends and all: cells of a table hold either line end, and a
 * list of records can be one long line.
 */
export function textChunks(file: SourceFile): AsyncIterable<string> {
  return 'pieces' in file ? (file as InputFile).pieces() : withEnds(file.lines())
}

/**
 * Without their ends, which are \n or \r\n. Each character is looked at once, in however small
 * pieces it comes.
 */
export async function* splitLines(
  pieces: AsyncIterable<string>,
  path: string,
  limit: number,
): AsyncGenerator<string> {
  let rest = ''
  let line = 1
  const grown = (part: string) => {
    if (rest.length + part.length > limit)
      throw new InputRefused(
        `Line ${line} of ${path} has more than ${formatBytes(limit)}, which is the most for a line. Is it really a text in lines?`,
      )
    return rest + part
  }
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      const whole = grown(piece.slice(from, end))
      rest = ''
      from = end + 1
      line++
      yield whole.endsWith('\r') ? whole.slice(0, -1) : whole
    }
    rest = grown(piece.slice(from))
  }
  if (rest !== '') yield rest
}

interface InputFile extends SourceFile {
  pieces(): AsyncIterable<string>
}

/** Some kilobytes say what a file is. */
const beginLength = 1 << 16

async function openStream(
  stream: AsyncIterable<Uint8Array>,
  name: string,
  limit: InputLimits,
): Promise<OpenedInput> {
  const pieces = decodeText(stream, name, limit.bytes)
  // A stream comes once: what was looked at is kept until it is read.
  const seen: string[] = []
  for (let length = 0; length < beginLength; length += seen.at(-1)?.length ?? 0) {
    const { done, value } = await pieces.next()
    if (done) break
    seen.push(value)
  }
  const begin = seen.join('').slice(0, beginLength)
  refuseEmpty(begin, name)
  async function* read() {
    try {
      for (let piece = seen.shift(); piece !== undefined; piece = seen.shift()) yield piece
      yield* pieces
    } finally {
      await pieces.return(undefined)
    }
  }
  return { name, begin, firstPath: name, files: each([sourceFile(name, read, limit)]) }
}

async function openFolder(folder: string, name: string, limit: InputLimits): Promise<OpenedInput> {
  const paths = await walk(folder, limit.files)
  const read = (path: string) =>
    decodeText(bytesOf(join(folder, path), path, constants.O_NOFOLLOW ?? 0), path, limit.bytes)
  const [firstPath] = paths
  if (firstPath === undefined)
    throw new InputRefused(
      `The folder ${folder} has no file whose name ends in .json. Other formats are given as one file`,
    )
  const files = (function* () {
    for (const path of paths) yield sourceFile(path, () => read(path), limit)
  })()
  return { name, begin: await beginOf(read(firstPath)), firstPath, files: each(files) }
}

/** Deeper than anybody files talks. */
const maxFolders = 32

/**
 * The files in the folder and below, always in the same order. Links are not followed: they can
 * lead out of it, and in a circle.
 */
async function walk(folder: string, limit: number): Promise<string[]> {
  const paths: string[] = []
  let seen = 0
  const into = async (inside: string, depth: number): Promise<void> => {
    if (depth > maxFolders)
      throw new InputRefused(
        `${inside} lies more than ${maxFolders} folders deep. Give the folder in which the talks are`,
      )
    const entries: Dirent[] = await readdir(join(folder, inside), { withFileTypes: true }).catch(
      (error: unknown) => {
        throw explained(error, join(folder, inside))
      },
    )
    seen += entries.length
    if (seen > limit)
      throw new InputRefused(
        `The folder ${folder} holds more than ${limit} files, which is the most. Give its parts one by one`,
      )
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.')) continue
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`
      if (entry.isDirectory()) await into(path, depth + 1)
      else if (entry.isFile() && entry.name.endsWith('.json')) paths.push(path)
    }
  }
  await into('', 0)
  return paths
}

function sourceFile(
  path: string,
  read: () => AsyncIterable<string>,
  limit: InputLimits,
): InputFile {
  let isRead = false
  const pieces = () => {
    if (isRead) throw new Error(`${path} was read before`)
    isRead = true
    return read()
  }
  return {
    path,
    pieces,
    lines: () => splitLines(pieces(), path, limit.line),
    async text() {
      let text = ''
      for await (const piece of pieces()) {
        text += piece
        if (text.length > limit.text)
          throw new InputRefused(
            `${path} has more than ${formatBytes(limit.text)}, which is the most for a file of its kind. Split it`,
          )
      }
      return text
    },
  }
}

async function beginOf(pieces: AsyncIterable<string>): Promise<string> {
  let begin = ''
  for await (const piece of pieces) {
    begin += piece
    if (begin.length >= beginLength) break
  }
  return begin.slice(0, beginLength)
}

function refuseEmpty(begin: string, path: string): void {
  if (begin.length < beginLength && begin.trim() === '') throw new InputRefused(`${path} is empty`)
}

async function* bytesOf(file: string, path: string, flags: number): AsyncGenerator<Uint8Array> {
  try {
    // Without O_NONBLOCK a pipe that took the place of the file would hold us up for ever.
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
    throw explained(error, path)
  }
}

const reasons: Record<string, string> = {
  ENOENT: 'is not there. Look at how it is written',
  ENOTDIR: 'is not there: a part of the path is no folder',
  EACCES: 'may not be read. Change its permissions, or give a copy',
  EPERM: 'may not be read. Change its permissions, or give a copy',
  ELOOP: 'is a symbolic link that leads nowhere, or where none is followed',
  ENAMETOOLONG: 'is too long a path',
}

function explained(error: unknown, path: string): unknown {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (typeof code !== 'string' || typeof syscall !== 'string') return error
  return new InputRefused(`${path} ${reasons[code] ?? `can’t be read (${code})`}`)
}

async function* each<T>(all: Iterable<T>): AsyncGenerator<T> {
  yield* all
}

async function* withEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`
}
