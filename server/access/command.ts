import type { AuditOrigin } from '../auth/auth.ts'
import {
  type AddCommands,
  CommandError,
  invalidArguments,
  type JsonOption,
  jsonOption,
} from '../command.ts'
import { printJson } from '../platform/terminal.ts'
import { restrictAccess, saveAccess } from './access.ts'

// `talkshelf access`: keeps revoked tokens revoked when a database is restored.

/** How long a statement may take, in seconds, as with ANSWER_SECONDS. */
const answerSeconds = 60

/** Adds the commands that save who has access, and restrict a restored database to it. */
export function accessCommands(
  program: Parameters<AddCommands>[0],
  { withPool, say }: Parameters<AddCommands>[1],
  operator: () => AuditOrigin,
): void {
  const access = program
    .command('access')
    .description('save who has access, and restrict a restored database to it')

  access
    .command('save')
    .description('write to a file which tokens work and who can sign in; no secrets')
    .argument('<file>', 'path of the new file; it must not exist')
    .action((file: string) =>
      withPool(
        async (pool) => {
          const { tokens, people } = await saveAccess(pool, file)
          say(`Saved the access of ${tokens} tokens and ${people} people to ${file}.`)
        },
        { answerSeconds },
      ),
    )

  access
    .command('restrict')
    .description('take away all access that a file does not grant, and end all sessions')
    .argument('[file]', 'file of `talkshelf access save`')
    .option('--all', 'take away all access instead')
    .addOption(jsonOption())
    .action((file: string | undefined, { all, json }: { all?: true } & JsonOption) => {
      if ((file === undefined) === (all === undefined))
        throw new CommandError(
          'Name the file of who has access, or use --all to take away all access.',
          invalidArguments,
        )
      return withPool(
        async (pool) => {
          const counts = await restrictAccess(pool, file, operator())
          if (json) await printJson(counts)
          for (const [kind, label] of Object.entries(labels))
            say(`${label}: ${counts[kind as keyof typeof labels]}`)
          if (all)
            say(
              'Nobody has access now. `talkshelf person list` shows people; ' +
                '`person enable ID` and `person link ID --reset` let one in again.',
            )
        },
        { answerSeconds },
      )
    })
}

const labels = {
  tokens: 'Tokens revoked',
  people: 'People disabled',
  roles: 'Roles lowered',
  mail_addresses: 'Mail addresses removed, to which links could be sent',
  passkeys: 'Passkeys removed',
  accounts: 'Connected accounts removed',
  event_editors: 'Editors of an event removed',
  sessions: 'Sessions ended',
  links: 'Sign-in links and challenges removed',
  speaker_links: 'Links of speakers revoked',
} as const
