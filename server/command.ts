import { Problem } from '@talkshelf/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config } from './config.ts'
import type { Pool } from './platform/db/pool.ts'
import { keepOutputForDocument, printJson } from './platform/terminal.ts'

// Shared by the features that add commands to the program.

export interface CommandContext {
  /** Reads the settings from the environment. */
  readonly config: () => Config
  /**
   * Opens connections for a command and closes them after it. Statements may take as long as with
   * this ANSWER_SECONDS; default: the setting.
   */
  readonly withPool: <T>(
    work: (pool: Pool) => Promise<T>,
    options?: { readonly answerSeconds?: number },
  ) => Promise<T>
  /** Prints a line to standard error. Standard output is for the result of the command. */
  readonly say: (line: string) => void
}

/** Adds the commands of a feature to the program. */
export type AddCommands = (program: Command, context: CommandContext) => void

/** Exit code of a command whose arguments are invalid. */
export const invalidArguments = 2

/** Ends the command with a message for the user and an exit code. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}

/** Returns a parser for a number in a range. Accepts a leading #, as lists print ids as #12. */
export function integerArgument(min: number, max: number) {
  return (text: string): number => {
    const number = Number(text.replace(/^#/, ''))
    if (!/^#?\d+$/.test(text) || number < min || number > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
    return number
  }
}

/** Parses the name of a person or program. */
export function nameArgument(text: string): string {
  if (text.trim() === '' || text.length > 100)
    throw new InvalidArgumentError('Expected 1 to 100 characters.')
  return text.trim()
}

/** Options of a command that prints its result for programs, too. */
export interface JsonOption {
  readonly json?: true
}

/** The option of a command that prints its result for programs, too. */
export const jsonOption = () => new Option('--json', 'print the result as JSON')

/**
 * Does the work of a command. With `--json`, prints the result that `read` returns, also if the
 * work fails, and everything else to standard error.
 */
export async function withResult(
  { json }: JsonOption,
  read: () => Promise<unknown>,
  work: () => Promise<void>,
): Promise<void> {
  if (!json) return work()
  keepOutputForDocument()
  try {
    await work()
  } finally {
    await printJson(await read())
  }
}

/** Prints rows as a table to standard output. `titles` has the titles of the columns. */
export function printTable<Key extends string>(
  titles: Readonly<Record<Key, string>>,
  rows: readonly Readonly<Record<NoInfer<Key>, unknown>>[],
): void {
  const keys = Object.keys(titles) as Key[]
  const lines = [titles, ...rows].map((row) => keys.map((key) => String(row[key] ?? '-')))
  const widths = keys.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}

/** Explains why the server cannot listen. Returns an unknown error unchanged. */
export function listenError(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new CommandError(
      `${message}\nAnother program uses this port, or Talkshelf is already running. ` +
        'Stop it, or choose another PORT.',
    )
  if (['ENOTFOUND', 'EAI_AGAIN', 'EINVAL', 'EADDRNOTAVAIL'].includes(code))
    return new CommandError(
      `${message}\nThe server cannot listen there. Check HOST: it must be an address of this ` +
        'machine, such as 127.0.0.1, or 0.0.0.0 for all of them.',
    )
  return code === 'EACCES'
    ? new CommandError(`${message}\nThe server cannot listen there. Check HOST and PORT.`)
    : error
}

/** Converts a problem to a CommandError with its message. */
export async function asCommandError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof Problem ? new CommandError(error.message) : error
  }
}
