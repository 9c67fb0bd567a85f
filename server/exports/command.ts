import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { InvalidArgumentError, Option } from 'commander'
import { type AddCommands, CommandError } from '../command.ts'
import { type Snapshot, withSnapshot } from '../platform/db/snapshot.ts'
import { inChunks } from '../platform/streams.ts'
import {
  exportCsv,
  exportNdjson,
  exportPyvideo,
  writePyvideoFolder,
  writeSnapshot,
} from './exports.ts'
import { writeFile } from './files.ts'
import { FolderTaken } from './pyvideo.ts'

interface Given {
  readonly format: 'ndjson' | 'csv' | 'pyvideo'
  readonly out?: string
  readonly after?: number
  readonly upTo?: number
  readonly gzip?: true
}

export const exportCommands: AddCommands = (program, { config, say }) => {
  program
    .command('export')
    .description(
      'write the whole archive to standard output, or to a file: as ndjson with all that is needed to make it again',
    )
    .addOption(
      new Option(
        '--format <format>',
        'ndjson has everything; csv has no records that were taken down; pyvideo has live records only',
      )
        .choices(['ndjson', 'csv', 'pyvideo'])
        .default('ndjson'),
    )
    .option('--out <file>', 'a file, or for pyvideo a folder; it has this name when it is whole')
    .option('--after <id>', 'only records with a higher id', wholeId)
    .option('--up-to <id>', 'only records up to this id', wholeId)
    .option('--gzip', 'packed')
    .action(async (given: Given) => {
      const { format, out, gzip } = given
      if (format === 'pyvideo' && out !== undefined && gzip)
        throw new CommandError(
          'A folder is not packed. Leave out --gzip, or leave out --out for one packed file on standard output.',
        )
      const progress = showProgress()
      try {
        await withSnapshot(config().DATABASE_URL, 'talkshelf export', async (db) => {
          if (format === 'pyvideo' && out !== undefined)
            return writePyvideoFolder(db, out, given, progress.count)
          const lines = counted(linesOf(db, given), format, progress.count)
          return out === undefined
            ? print(lines, gzip)
            : void (await writeFile(out, lines, { isPacked: gzip }))
        })
      } catch (error) {
        throw explained(error, out)
      } finally {
        progress.end()
      }
      if (out !== undefined) say(`${out} has ${progress.sum()} records.`)
    })

  program
    .command('snapshot')
    .description(
      'write what everybody may read into a folder, as the server does every night where SNAPSHOT_DIR is set',
    )
    .argument('<folder>', 'made if it is not there; SNAPSHOT_KEEP of them stay')
    .action(async (folder: string) => {
      const { DATABASE_URL: url, SNAPSHOT_KEEP: keep } = config()
      const written = await writeSnapshot({ url, folder, keep }, new Date()).catch(
        (error: unknown) => {
          throw explained(error, folder)
        },
      )
      if (!written)
        throw new CommandError('Another process is writing a snapshot. Wait until it is done.')
      say(`${written.file} has ${written.videos} records in ${written.bytes} bytes.`)
    })
}

function linesOf(db: Snapshot, { format, after, upTo }: Given): AsyncIterable<string> {
  const range = { after, upTo }
  if (format === 'csv') return exportCsv(db, { ...range, drafts: true })
  return format === 'pyvideo'
    ? exportPyvideo(db, range)
    : exportNdjson(db, { ...range, drafts: true, takenDown: true })
}

async function print(lines: AsyncIterable<string>, isPacked: boolean | undefined): Promise<void> {
  const { stdout } = process
  try {
    if (isPacked) await pipeline(inChunks(lines), createGzip(), stdout, { end: false })
    else await pipeline(inChunks(lines), stdout, { end: false })
    // What is still on its way to a pipe would be lost at the end of the process.
    if (stdout.writableNeedDrain) await once(stdout, 'drain')
  } catch (error) {
    // Who reads has enough, as `head` does.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

/** Tells of each record. */
async function* counted(
  lines: AsyncIterable<string>,
  format: Given['format'],
  count: () => void,
): AsyncGenerator<string> {
  let isFirst = true
  for await (const line of lines) {
    if (format === 'ndjson' ? line.startsWith('{"kind":"video"') : format === 'pyvideo' || !isFirst)
      count()
    isFirst = false
    yield line
  }
}

/** For whoever sits before a terminal. */
function showProgress() {
  const { stderr } = process
  let records = 0
  let nextMs = performance.now() + 500
  let isShown = false
  return {
    sum: () => records,
    count() {
      records++
      if (!stderr.isTTY || performance.now() < nextMs) return
      nextMs = performance.now() + 200
      isShown = true
      stderr.write(`\r${records} records`)
    },
    end: () => isShown && stderr.write('\r\u001b[K'),
  }
}

const advice: Record<string, string> = {
  ENOSPC: 'The disk is full: nothing was kept. Name a place on a disk with more room.',
  EDQUOT:
    'The disk is full for this user: nothing was kept. Name a place on a disk with more room.',
  ENOENT: 'Its folder is not there. Make it first.',
  EEXIST: 'A file of this name is there. Name a folder.',
  ENOTDIR: 'A part of the path is a file, and no folder.',
  EISDIR: 'It is a folder. Name a file in it.',
  EACCES: 'This user may not write there.',
  EPERM: 'This user may not write there.',
  EROFS: 'Nobody can write there.',
}

function explained(error: unknown, place: string | undefined): unknown {
  if (error instanceof FolderTaken) return new CommandError(error.message)
  const { code = '', message } = error as NodeJS.ErrnoException
  return advice[code] === undefined
    ? error
    : new CommandError(`${place ?? 'It'} cannot be written: ${message}.\n${advice[code]}`)
}

function wholeId(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id))
    throw new InvalidArgumentError('It takes the id of a record.')
  return id
}
