import { InvalidArgumentError } from 'commander'
import { type AddCommands, CommandError, type JsonOption, jsonOption } from '../command.ts'
import { printJson } from '../platform/terminal.ts'
import { CopyError, MirrorError, type MirrorOptions, mirror } from './mirror.ts'

/** Adds the command `mirror`. */
export const mirrorCommands: AddCommands = (program, { say, withPool }) => {
  program
    .command('mirror')
    .description(
      'copy the public data of another archive into a folder or a database, and keep the copy up ' +
        'to date',
    )
    .argument('<url>', 'the archive, such as https://talks.example.org', parseSource)
    .argument('[folder]', 'one JSON file for each talk, speaker, tag and event; needs no database')
    .option('--database', 'into the empty database of DATABASE_URL, which can then be served')
    .option('--once', 'end when the copy is complete')
    .addOption(jsonOption())
    .action(async (source: string, folder: string | undefined, options: Options) => {
      if ((folder === undefined) !== (options.database === true))
        throw new CommandError('Name a folder, or add --database.', 2)
      const stopping = new AbortController()
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())
      const run = (into: MirrorOptions['into']) =>
        mirror({ source, into, isOnce: options.once === true, signal: stopping.signal, say })
      try {
        const copied = await (folder === undefined ? withPool(run, { answerSeconds }) : run(folder))
        if (options.json) await printJson({ source, folder: folder ?? null, ...copied })
      } catch (error) {
        if (error instanceof MirrorError || error instanceof CopyError)
          throw new CommandError(error.message)
        throw error
      }
    })
}

/** A page of long texts takes a while to be indexed. */
const answerSeconds = 120

interface Options extends JsonOption {
  readonly database?: boolean
  readonly once?: boolean
}

function parseSource(text: string): string {
  const url = URL.parse(text)
  const hasMore = url && url.username + url.password + url.search + url.hash !== ''
  if (!url || !/^https?:$/.test(url.protocol) || hasMore)
    throw new InvalidArgumentError(
      'Expected the URL of an archive, such as https://talks.example.org',
    )
  return url.href.replace(/\/+$/, '')
}
