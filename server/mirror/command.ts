import { InvalidArgumentError } from 'commander'
import { type AddCommands, CommandError } from '../command.ts'
import { MirrorFolderError } from './folder.ts'
import { MirrorError, mirror } from './mirror.ts'

/** Adds the command `mirror`. */
export const mirrorCommands: AddCommands = (program, { say }) => {
  program
    .command('mirror')
    .description(
      'copy the public data of another archive into a folder, and keep the copy up to date; ' +
        'needs no database',
    )
    .argument('<url>', 'the archive, such as https://talks.example.org', parseSource)
    .argument('<folder>', 'one JSON file for each talk, speaker, tag and event')
    .option('--once', 'end when the copy is complete')
    .action(async (source: string, folder: string, { once = false }: { once?: boolean }) => {
      const stopping = new AbortController()
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())
      try {
        await mirror({ source, folder, isOnce: once, signal: stopping.signal, say })
      } catch (error) {
        if (error instanceof MirrorError || error instanceof MirrorFolderError)
          throw new CommandError(error.message)
        throw error
      }
    })
}

function parseSource(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '')
    throw new InvalidArgumentError(
      'Expected the URL of an archive, such as https://talks.example.org',
    )
  return url.href.replace(/\/+$/, '')
}
