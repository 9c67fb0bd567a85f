import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { licenceId, parseDataLicence } from '@talkshelf/web'
import { InvalidArgumentError, Option } from 'commander'
import {
  type AddCommands,
  CommandError,
  invalidArguments,
  type JsonOption,
  jsonOption,
} from '../command.ts'
import { type Snapshot, withSnapshot } from '../platform/db/snapshot.ts'
import { describeWriteError } from '../platform/files.ts'
import { inChunks } from '../platform/streams.ts'
import { printJson } from '../platform/terminal.ts'
import {
  exportCsv,
  exportNdjson,
  exportPyvideo,
  writePyvideoFolder,
  writeSnapshot,
} from './exports.ts'
import { writeFileAtomically } from './files.ts'
import { FolderExistsError } from './pyvideo.ts'

// `withSnapshot` opens a database transaction with a consistent view; the command `snapshot`
// writes a compressed export of the public records.

interface ExportCommandOptions extends JsonOption {
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
      'export the archive to standard output or to a file; ' +
        'an ndjson export can be imported into an empty archive',
    )
    .addOption(
      new Option(
        '--format <format>',
        'output format: ndjson includes all records, csv leaves out records that were taken ' +
          'down, pyvideo includes only live records',
      )
        .choices(['ndjson', 'csv', 'pyvideo'])
        .default('ndjson'),
    )
    .option('--out <file>', 'write to this file (pyvideo: this folder) once the export is complete')
    .option('--after <id>', 'export only records with an id above this one', parseRecordId)
    .option('--up-to <id>', 'export only records up to this id', parseRecordId)
    .option('--gzip', 'compress the output with gzip')
    .option('--json', 'print what was written to --out as JSON')
    .action(async (options: ExportCommandOptions) => {
      const { format, out, gzip, json } = options
      if (json && out === undefined)
        throw new CommandError('--json needs --out: the output is the export.', invalidArguments)
      if (format === 'pyvideo' && out !== undefined && gzip)
        throw new CommandError(
          '--gzip cannot compress a folder. Remove --gzip, or remove --out to write a single ' +
            'compressed file to standard output.',
          invalidArguments,
        )
      const progress = showProgress()
      try {
        const { DATABASE_URL: url, DATA_LICENSE: license } = config()
        await withSnapshot(url, 'talkshelf export', async (db) => {
          if (format === 'pyvideo' && out !== undefined)
            return writePyvideoFolder(db, out, options, progress.count)
          const lines = countRecords(
            exportLines(db, options, idOf(license)),
            format,
            progress.count,
          )
          if (out === undefined) await print(lines, gzip)
          else await writeFileAtomically(out, lines, { isGzipped: gzip })
        })
      } catch (error) {
        throw toCommandError(error, out)
      } finally {
        progress.end()
      }
      if (out === undefined) return
      const records = progress.total()
      if (json) await printJson({ file: out, format, records })
      say(`Exported ${records} records to ${out}.`)
    })
}

const addSnapshotCommand: AddCommands = (program, { config, say }) => {
  program
    .command('snapshot')
    .description(
      'write a snapshot of all public records to a folder, ' +
        'as the server does every night if SNAPSHOT_DIR is set',
    )
    .argument('<folder>', 'created if missing; only the newest SNAPSHOT_KEEP snapshots are kept')
    .addOption(jsonOption())
    .action(async (folder: string, { json }: JsonOption) => {
      const { DATABASE_URL: url, SNAPSHOT_KEEP: keep, DATA_LICENSE: license } = config()
      const target = { url, folder, keep, license: idOf(license) }
      const written = await writeSnapshot(target, new Date()).catch((error: unknown) => {
        throw toCommandError(error, folder)
      })
      if (!written)
        throw new CommandError('Another process is already writing a snapshot. Try again later.')
      if (json) await printJson(written)
      say(`Wrote ${written.videos} records (${written.bytes} bytes) to ${written.file}.`)
    })
}

/** Returns what programs get of the setting of the licence. */
function idOf(setting: string): string | undefined {
  const licence = parseDataLicence(setting)
  return licence && licenceId(licence)
}

function exportLines(
  db: Snapshot,
  { format, after, upTo }: ExportCommandOptions,
  license: string | undefined,
): AsyncIterable<string> {
  const range = { after, upTo }
  if (format === 'csv') return exportCsv(db, { ...range, drafts: true })
  return format === 'pyvideo'
    ? exportPyvideo(db, range)
    : exportNdjson(db, { ...range, drafts: true, takenDown: true, license })
}

async function print(lines: AsyncIterable<string>, isGzipped: boolean | undefined): Promise<void> {
  const { stdout } = process
  try {
    if (isGzipped) await pipeline(inChunks(lines), createGzip(), stdout, { end: false })
    else await pipeline(inChunks(lines), stdout, { end: false })
    // Output that is still buffered would be lost when the process exits.
    if (stdout.writableNeedDrain) await once(stdout, 'drain')
  } catch (error) {
    // The reader has closed the pipe, as `head` does.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

type Format = ExportCommandOptions['format']

/** Yields all lines, and calls `count` for each that is a record. */
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

/** Turns an expected error into one with a hint; returns any other unchanged. */
function toCommandError(error: unknown, path = 'to standard output'): unknown {
  const message =
    error instanceof FolderExistsError ? error.message : describeWriteError(error, path)
  return message === undefined ? error : new CommandError(message)
}

function parseRecordId(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id))
    throw new InvalidArgumentError('Expected the id of a record.')
  return id
}
