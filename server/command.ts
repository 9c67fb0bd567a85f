import { type Command, InvalidArgumentError } from 'commander'
import type { Config } from './config.ts'
import type { Pool } from './platform/db/pool.ts'

// What a feature needs to have commands of its own: it adds them to the program, and is given the
// rest.

export interface CommandContext {
  /** Settings from the environment. */
  readonly config: () => Config
  /** Opens connections for a command and closes them after it. */
  readonly withPool: <T>(work: (pool: Pool) => Promise<T>) => Promise<T>
  /** Beside the answer: to standard error. */
  readonly say: (line: string) => void
}

export type AddCommands = (program: Command, context: CommandContext) => void

/** Ends the command with this sentence for the person who typed it, and this exit code. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}

/** Reads an argument that is a number; lists show some as #12. */
export function integerArgument(least: number, limit: number) {
  return (text: string): number => {
    const number = Number(text.replace(/^#/, ''))
    if (!/^#?\d+$/.test(text) || number < least || number > limit)
      throw new InvalidArgumentError(`It takes a whole number from ${least} to ${limit}.`)
    return number
  }
}
