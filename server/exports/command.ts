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
import { writeFileAtomically } from './files.ts'
import { FolderExistsError } from './pyvideo.ts'

interface ExportCommandOptions {
  readonly format: 'ndjson' | 'csv' | 'pyvideo'
  readonly out?: string
  readonly after?: number
  readonly upTo?: number
  readonly gzip?: true
}

/** Adds the commands `export` and `snapshot`. */
export const exportCommands: AddCommands = (program, context) => {
  addExportCommand(program, context)
  addSnapshotCommand(program, context)
}

const addExportCommand: AddCommands = (program, { config, say }) => {
  program
    .command('export')
    .description(
      'write the whole archive to standard output, or to a file: ' +
        'as ndjson with all that is needed to make it again',
    )
    .addOption(
      new Option(
        '--format <format>',
        'ndjson has everything; csv has no records that were taken down; ' +
          'pyvideo has live records only',
      )
        .choices(['ndjson', 'csv', 'pyvideo'])
        .default('ndjson'),
    )
    .option('--out <file>', 'a file, or for pyvideo a folder; it has this name when it is whole')
    .option('--after <id>', 'only records with a higher id', parseRecordId)
    .option('--up-to <id>', 'only records up to this id', parseRecordId)
    .option('--gzip', 'packed')
    .action(async (options: ExportCommandOptions) => {
      const { format, out, gzip } = options
      if (format === 'pyvideo' && out !== undefined && gzip)
        throw new CommandError(
          'A folder is not packed. Leave out --gzip, or leave out --out for one packed file ' +
            'on standard output.',
        )
      const progress = showProgress()
      try {
        await withSnapshot(config().DATABASE_URL, 'talkshelf export', async (db) => {
          if (format === 'pyvideo' && out !== undefined)
            return writePyvideoFolder(db, out, options, progress.count)
          const lines = countRecords(exportLines(db, options), format, progress.count)
          if (out === undefined) await print(lines, gzip)
          else await writeFileAtomically(out, lines, { isGzipped: gzip })
        })
      } catch (error) {
        throw toCommandError(error, out)
      } finally {
        progress.end()
      }
      if (out !== undefined) say(`${out} has ${progress.total()} records.`)
    })
}

const addSnapshotCommand: AddCommands = (program, { config, say }) => {
  program
    .command('snapshot')
    .description(
      'write what everybody may read into a folder, ' +
        'as the server does every night where SNAPSHOT_DIR is set',
    )
    .argument('<folder>', 'made if it is not there; SNAPSHOT_KEEP of them stay')
    .action(async (folder: string) => {
      const { DATABASE_URL: url, SNAPSHOT_KEEP: keep } = config()
      const written = await writeSnapshot({ url, folder, keep }, new Date()).catch(
        (error: unknown) => {
          throw toCommandError(error, folder)
        },
      )
      if (!written)
        throw new CommandError('Another process is writing a snapshot. Wait until it is done.')
      say(`${written.file} has ${written.videos} records in ${written.bytes} bytes.`)
    })
}

function exportLines(
  db: Snapshot,
  { format, after, upTo }: ExportCommandOptions,
): AsyncIterable<string> {
  const range = { after, upTo }
  if (format === 'csv') return exportCsv(db, { ...range, drafts: true })
  return format === 'pyvideo'
    ? exportPyvideo(db, range)
    : exportNdjson(db, { ...range, drafts: true, takenDown: true })
}

async function print(lines: AsyncIterable<string>, isGzipped: boolean | undefined): Promise<void> {
  const { stdout } = process
  try {
    if (isGzipped) await pipeline(inChunks(lines), createGzip(), stdout, { end: false })
    else await pipeline(inChunks(lines), stdout, { end: false })
    // Text that a pipe has not taken yet would be lost at the end of the process.
    if (stdout.writableNeedDrain) await once(stdout, 'drain')
  } catch (error) {
    // The reader has closed the pipe, as `head` does.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

type Format = ExportCommandOptions['format']

/** Passes lines on, and calls `count` for each that is a record. */
async function* countRecords(
  lines: AsyncIterable<string>,
  format: Format,
  count: () => void,
): AsyncGenerator<string> {
  let isFirst = true
  for await (const line of lines) {
    if (isRecord(line, format, isFirst)) count()
    isFirst = false
    yield line
  }
}

function isRecord(line: string, format: Format, isFirst: boolean): boolean {
  if (format === 'ndjson') return line.startsWith('{"kind":"video"')
  return format === 'pyvideo' || !isFirst
}

/** Shows the number of records while they are written, if standard error is a terminal. */
function showProgress() {
  const { stderr } = process
  let records = 0
  let nextUpdateMs = performance.now() + 500
  let isVisible = false
  return {
    total: () => records,
    count() {
      records++
      if (!stderr.isTTY || performance.now() < nextUpdateMs) return
      nextUpdateMs = performance.now() + 200
      isVisible = true
      stderr.write(`\r${records} records`)
    },
    end: () => isVisible && stderr.write('\r\u001b[K'),
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
  EROFS: 'The file system is read-only.',
}

/** Turns an expected error into one with advice; returns any other unchanged. */
function toCommandError(error: unknown, path: string | undefined): unknown {
  if (error instanceof FolderExistsError) return new CommandError(error.message)
  const { code = '', message } = error as NodeJS.ErrnoException
  return advice[code] === undefined
    ? error
    : new CommandError(`${path ?? 'It'} cannot be written: ${message}.\n${advice[code]}`)
}

function parseRecordId(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id))
    throw new InvalidArgumentError('It takes the id of a record.')
  return id
}
