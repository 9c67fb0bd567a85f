import { importFormats, importVerdicts, Problem } from '@talkshelf/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type AddCommands, CommandError, integerArgument } from '../../command.ts'
import { csvTemplate, InputRefused } from '../imports.ts'
import { applyCommand, undoCommand } from './apply.ts'
import { type ImportCommandOptions, importCommand } from './import.ts'
import {
  type DecideCommandOptions,
  decideCommand,
  listCommand,
  type ShowCommandOptions,
  showCommand,
  stopCommand,
} from './show.ts'
import { print } from './terminal.ts'
import { escapeLines } from './terminal-escape.ts'

// `talkshelf import` and `talkshelf imports`: their arguments, and what they end with.

const exitCodes = `
Exit codes:
  0    done, or planned
  1    failed: the file can't be read, the database is away, there is no such import
  2    the arguments are wrong
  3    a decision is needed, and nothing was applied or undone
  4    applied, and some talks were refused
  130  stopped by Ctrl-C`

const examples = `
Examples:
  talkshelf import talks.csv                     show what would be written, and ask
  talkshelf import data/ --dry-run               only show it
  talkshelf import channel.info.json --apply     write it where nothing is to be decided
  yt-dlp -J ADDRESS | talkshelf import - --category 'Example Days 2031'
  talkshelf import --template csv > talks.csv    a table to fill in

What people wrote here is never overwritten unless you decide so, and every import can be taken back: 'talkshelf imports undo N'.`

export const importCommands: AddCommands = (program, context) => {
  ending(program.command('import'))
    .description('load talks from a file: first a plan is made and shown, then it is applied')
    .argument('[what]', 'a file, a folder, an address (https://...), or - for standard input')
    .addOption(
      new Option(
        '--format <format>',
        'how to read it; without it, it is recognised by its content',
      ).choices(importFormats),
    )
    .option('--category <title>', 'the category of talks for which the file names none', text(255))
    .option(
      '--language <language>',
      'the language of talks for which the file names none',
      text(100),
    )
    .option(
      '--source <name>',
      'what the keys of its talks belong to; the next import of the same source finds the same records',
      text(100),
    )
    .option('--draft', 'new records are drafts, which only editors see')
    .addOption(
      new Option('--dry-run', 'plan and show it, and never ask; it can be applied later').conflicts(
        ['apply', 'yes'],
      ),
    )
    .option('--apply', 'apply it without asking, where nothing is to be decided')
    .option('--yes', 'apply it in any case; what is undecided stays as it is here')
    .addOption(new Option('--template <format>', 'print a file to begin with').choices(['csv']))
    .addHelpText('after', `${examples}\n${exitCodes}`)
    .action(
      explained(
        async (what: string | undefined, options: ImportCommandOptions & { template?: string }) => {
          if (options.template !== undefined) {
            if (what !== undefined)
              throw new CommandError(
                'A template is printed, and nothing is imported: leave one of the two away.',
                2,
              )
            await print(csvTemplate().trimEnd())
          } else if (what === undefined)
            throw new CommandError(
              "Say what to import: a file, a folder, an address, or - for standard input. 'talkshelf import --help' tells more.",
              2,
            )
          else await importCommand(what, options, context)
        },
      ),
    )

  const imports = ending(program.command('imports'))
    .description('see, apply and take back what was imported')
    .addHelpText('after', exitCodes)

  imports
    .command('list')
    .description('list imports, the newest first')
    .addOption(
      new Option('--limit <count>', 'how many').default(20).argParser(integerArgument(1, 1000)),
    )
    .action(explained((options: { limit: number }) => listCommand(options.limit, context)))

  numbered(imports, 'show', 'see what an import does, talk by talk')
    .option('--all', 'every talk, with its notes')
    .addOption(new Option('--verdict <verdict>', 'only these').choices(importVerdicts))
    .option(
      '--touched',
      'only those that were not undone, because somebody touched them in between',
    )
    .option('--json', 'as JSON: {"import": ..., "talks": [...]}, with every talk')
    .action(
      explained((id: number, options: ShowCommandOptions) => showCommand(id, options, context)),
    )

  numbered(imports, 'apply', 'apply an import that was planned, or go on with one that was stopped')
    .option('--yes', 'do not ask; what is undecided stays as it is here')
    .action(
      explained((id: number, options: { yes?: boolean }) =>
        applyCommand(id, options.yes === true, context),
      ),
    )

  numbered(
    imports,
    'stop',
    'stop an import that is being applied, after the batch under way',
  ).action(explained((id: number) => stopCommand(id, context)))

  numbered(
    imports,
    'undo',
    'take an import back; what somebody has touched since stays, and is listed',
  )
    .option('--yes', 'do not ask')
    .action(
      explained((id: number, options: { yes?: boolean }) =>
        undoCommand(id, options.yes === true, context),
      ),
    )

  numbered(
    imports,
    'decide',
    'say what shall become of a talk that is in conflict, before it is applied',
  )
    .argument(
      '<position>',
      "the talk's number in the import, as the list shows it: #12 is 12",
      integerArgument(1, 2_147_483_647),
    )
    .option(
      '--take <fields>',
      'fields in which the file is right, with commas between them',
      fields,
    )
    .option('--keep', 'everything stays as it is here')
    .addOption(new Option('--same', 'it is the record that it looks like').conflicts('notSame'))
    .option('--not-same', 'it is another talk, and becomes a record of its own')
    .action(
      explained((id: number, position: number, options: DecideCommandOptions) =>
        decideCommand(id, position, options, context),
      ),
    )
}

/** What is wrong is for the person who typed the command. */
function explained<A extends unknown[]>(action: (...args: A) => Promise<void>) {
  return async (...args: A): Promise<void> => {
    try {
      await action(...args)
    } catch (error) {
      if (error instanceof InputRefused) throw new CommandError(escapeLines(error.message))
      if (!(error instanceof Problem)) throw error
      throw new CommandError(
        `${escapeLines(error.message)}. 'talkshelf imports list' shows what there is.`,
      )
    }
  }
}

function numbered(imports: Command, name: string, description: string): Command {
  return imports
    .command(name)
    .description(description)
    .argument('<number>', 'of the import', integerArgument(1, Number.MAX_SAFE_INTEGER))
}

/** Wrong arguments end with a code of their own. */
function ending(command: Command): Command {
  return command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
}

function text(limit: number) {
  return (given: string): string => {
    if (given.trim() === '' || given.length > limit)
      throw new InvalidArgumentError(`It takes 1 to ${limit} characters.`)
    return given.trim()
  }
}

function fields(given: string): string[] {
  return given.split(',').map((field) => field.trim())
}
