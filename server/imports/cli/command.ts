import { importFormats, importVerdicts, Problem } from '@talkshelf/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type AddCommands,
  type CommandContext,
  CommandError,
  integerArgument,
  type JsonOption,
  jsonOption,
} from '../../command.ts'
import { print } from '../../platform/terminal.ts'
import { escapeLines } from '../../platform/terminal-escape.ts'
import { readDate } from '../formats/text.ts'
import { csvTemplate, InputRefused } from '../imports.ts'
import { type ApplyCommandOptions, applyCommand, redoCommand, undoCommand } from './apply.ts'
import {
  commandOrigin,
  finishPlan,
  type ImportCommandOptions,
  importCommand,
  openSource,
} from './import.ts'
import {
  type DecideCommandOptions,
  decideCommand,
  decideFieldsCommand,
  discardCommand,
  listCommand,
  refusedCommand,
  type ShowCommandOptions,
  showCommand,
  stopCommand,
} from './show.ts'

// The arguments, help texts and exit codes of `talkshelf import` and `talkshelf imports`.

const exitCodes = `
Exit codes:
  0    success
  1    error: the file can't be read, the database is unavailable, or there is no such import
  2    invalid arguments
  3    a decision is needed; nothing was applied or undone
  4    talks were refused; the others, if any, were applied
  130  interrupted with Ctrl-C`

const examples = `
Examples:
  talkshelf import talks.csv                     show the plan, and ask before writing
  talkshelf import data/ --dry-run               only show the plan
  talkshelf import channel.info.json --apply     apply unless a decision is needed
  yt-dlp -J URL | talkshelf import - --category 'Example Days 2031'
  talkshelf import --template csv > talks.csv    print a table to fill in (csv-all: all columns)

Edits made here are never overwritten unless you decide so.
An empty cell of a table leaves the field as it is. In a table that was exported from here, with its
columns id and updated, an emptied cell clears the field.
Every import can be undone: talkshelf imports undo N`

/** Adds the commands of imports to the program. */
export const importCommands: AddCommands = (program, context) => {
  addImportCommand(program, context)
  const imports = program
    .command('imports')
    .description('list, show, apply and undo imports')
    .addHelpText('after', exitCodes)
  addReadingCommands(imports, context)
  addWritingCommands(imports, context)
}

function addImportCommand(program: Command, context: CommandContext): void {
  program
    .command('import')
    .description('import talks: show what would change, then apply it')
    .argument('[input]', 'a file, a folder, a URL (https://...), or - for standard input')
    .addOption(
      new Option('--format <format>', 'file format; detected by default').choices(importFormats),
    )
    .option('--category <title>', 'category of talks that have none in the file', textArgument(255))
    .option(
      '--language <language>',
      'language of talks that have none in the file',
      textArgument(100),
    )
    .option(
      '--source <name>',
      'source of the keys; a later import from the same source updates the same records',
      textArgument(100),
    )
    .option(
      '--recorded <day>',
      'day of talks that have none in the file, such as 2031-05-17; replaces the day of upload',
      dayArgument,
    )
    .option('--keep-titles', 'do not look for speakers in the titles of a playlist')
    .option('--draft', 'create new records as drafts, which only editors see')
    .addOption(
      new Option('--dry-run', 'show the plan and do not ask; it can be applied later').conflicts([
        'apply',
        'yes',
      ]),
    )
    .option('--apply', 'apply without asking, unless a decision is needed')
    .option('--yes', 'apply without asking; in conflicts, edits made here are kept')
    .addOption(
      new Option('--template <format>', 'print an example file')
        .choices(['csv', 'csv-all'])
        .conflicts('json'),
    )
    .addOption(jsonOption())
    .addHelpText('after', `${examples}\n${exitCodes}`)
    .action(
      withReadableErrors(
        (
          input: string | undefined,
          options: ImportCommandOptions & { template?: 'csv' | 'csv-all' },
        ) => runImport(input, options, context),
      ),
    )
}

async function runImport(
  input: string | undefined,
  options: ImportCommandOptions & { template?: 'csv' | 'csv-all' },
  context: CommandContext,
): Promise<void> {
  if (options.template !== undefined) {
    if (input !== undefined) throw new CommandError('--template cannot be combined with a file.', 2)
    await print(csvTemplate(options.template).trimEnd())
    return
  }
  if (input === undefined)
    throw new CommandError(
      'Nothing to import: give a file, a folder, a URL, or - for standard input.\n' +
        "See 'talkshelf import --help'.",
      2,
    )
  await importCommand(input, options, context)
}

function addReadingCommands(imports: Command, context: CommandContext): void {
  imports
    .command('list')
    .description('list imports, newest first')
    .addOption(
      new Option('--limit <count>', 'number of imports')
        .default(20)
        .argParser(integerArgument(1, 1000)),
    )
    .addOption(jsonOption())
    .action(
      withReadableErrors((options: { limit: number } & JsonOption) =>
        listCommand(options, context),
      ),
    )

  addNumbered(
    imports,
    'refused',
    'print the refused talks as CSV, to correct and import them again',
  ).action(withReadableErrors((id: number) => refusedCommand(id, context)))

  addNumbered(imports, 'show', 'show the talks of an import')
    .option('--all', 'show every talk, with its notes')
    .addOption(
      new Option('--verdict <verdict>', 'show only talks with this verdict').choices(
        importVerdicts,
      ),
    )
    .option('--touched', 'show only talks that were not undone because they changed since')
    .option('--warnings', 'show only talks with warnings')
    .option('--json', 'print every talk as JSON: {"import": ..., "talks": [...]}')
    .action(
      withReadableErrors((id: number, options: ShowCommandOptions) =>
        showCommand(id, options, context),
      ),
    )
}

function addWritingCommands(imports: Command, context: CommandContext): void {
  addNumbered(imports, 'apply', 'apply a planned import, or continue a stopped one')
    .option('--yes', 'do not ask; in conflicts, edits made here are kept')
    .addOption(jsonOption())
    .action(
      withReadableErrors((id: number, options: ApplyCommandOptions) =>
        applyCommand(id, options, context),
      ),
    )

  addNumbered(imports, 'stop', 'stop an import after the current batch')
    .addOption(jsonOption())
    .action(
      withReadableErrors((id: number, options: JsonOption) => stopCommand(id, options, context)),
    )

  addNumbered(imports, 'undo', 'undo an import; records that changed since are kept and listed')
    .option('--yes', 'do not ask')
    .addOption(jsonOption())
    .action(
      withReadableErrors((id: number, options: ApplyCommandOptions) =>
        undoCommand(id, options, context),
      ),
    )

  addNumbered(imports, 'redo', 'apply an undone import again')
    .addOption(jsonOption())
    .action(
      withReadableErrors((id: number, options: JsonOption) => redoCommand(id, options, context)),
    )

  addNumbered(imports, 'discard', 'delete an import that was never applied').action(
    withReadableErrors((id: number) => discardCommand(id, context)),
  )

  addNumbered(imports, 'decide', 'resolve conflicts before the import is applied')
    .argument(
      '[position]',
      'number of the talk in the import: 12 for #12; without it, all conflicts are decided',
      integerArgument(1, 2_147_483_647),
    )
    .option(
      '--take <fields>',
      'comma-separated fields to take from the file; for all conflicts: theirs or mine',
      fieldsArgument,
    )
    .option(
      '--field <fields>',
      'comma-separated fields to decide for all conflicts',
      fieldsArgument,
    )
    .option('--keep', 'keep everything as it is here')
    .addOption(
      new Option(
        '--same [record]',
        'the talk is the record that it resembles, or the one with this id',
      )
        .argParser(integerArgument(1, Number.MAX_SAFE_INTEGER))
        .conflicts('notSame'),
    )
    .option('--not-same', 'the talk is another one, and becomes a new record')
    .action(
      withReadableErrors(
        (id: number, position: number | undefined, options: DecideCommandOptions) =>
          position === undefined
            ? decideFieldsCommand(id, options, context)
            : decideCommand(id, position, options, context),
      ),
    )
}

/** What the command of matches uses of that of imports. */
export const importSteps = { openSource, finishPlan, commandOrigin, withReadableErrors }

/** Wraps an action so that refused files and problems end the command with their message. */
function withReadableErrors<A extends unknown[]>(action: (...args: A) => Promise<void>) {
  return async (...args: A): Promise<void> => {
    try {
      await action(...args)
    } catch (error) {
      if (error instanceof InputRefused) throw new CommandError(escapeLines(error.message))
      if (!(error instanceof Problem)) throw error
      throw new CommandError(
        `${escapeLines(error.message)}. To see all imports: talkshelf imports list`,
      )
    }
  }
}

function addNumbered(imports: Command, name: string, description: string): Command {
  return imports
    .command(name)
    .description(description)
    .argument('<number>', 'number of the import', integerArgument(1, Number.MAX_SAFE_INTEGER))
}

function textArgument(maxLength: number) {
  return (text: string): string => {
    if (text.trim() === '' || text.length > maxLength)
      throw new InvalidArgumentError(`It takes 1 to ${maxLength} characters.`)
    return text.trim()
  }
}

function dayArgument(text: string): string {
  const day = readDate(text.trim())
  if (day === undefined || day !== text.trim())
    throw new InvalidArgumentError('It takes a day such as 2031-05-17.')
  return day
}

function fieldsArgument(text: string): string[] {
  return text.split(',').map((field) => field.trim())
}
