import { spawn } from 'node:child_process'
import type { PostgresProgram } from '../platform/db/programs.ts'
import { BackupError } from './manifest.ts'

// Runs pg_dump and pg_restore as child processes that end with this process, however it ends: a
// restore that continued alone would not be verified.

const maxErrorLength = 4000

/** The largest output of pg_restore --list that is plausible for an archive. */
const maxOutputLength = 16 * 1024 * 1024

// The standard input of this script ends when this process closes it or dies, also by SIGKILL.
const guardScript = `
exec 3<&0
"$@" 3<&- </dev/null &
program=$!
{ while read -r line <&3; do :; done; kill "$program"; } >/dev/null 2>&1 &
guard=$!
wait "$program"
code=$?
kill "$guard" 2>/dev/null
exit "$code"`

export interface RunningProgram {
  readonly stdout: AsyncIterable<Buffer>
  /** Rejects with the error output if the program fails. */
  readonly ended: Promise<void>
}

/** Starts a program. Aborting the signal terminates it. */
export function runProgram(
  { file }: PostgresProgram,
  args: string[],
  environment: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): RunningProgram {
  const child = spawn('/bin/sh', ['-c', guardScript, 'guard', file, ...args], {
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let errorOutput = ''
  child.stderr.on('data', (data: Buffer) => {
    errorOutput = (errorOutput + data.toString()).slice(-maxErrorLength)
  })
  child.stdin.on('error', () => {})
  signal?.addEventListener('abort', () => child.stdin.end())
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', (error) => reject(new BackupError(`Cannot run ${file}: ${error.message}`)))
    child.on('close', (code, signalName) => {
      if (code === 0) return resolve()
      const reason = errorOutput.trim() || 'no error output'
      reject(new BackupError(`${file} ended with ${code ?? signalName}:\n${reason}`))
    })
  })
  // Callers await the end after the output; a rejection before that must not count as unhandled.
  ended.catch(() => {})
  return { stdout: child.stdout, ended }
}

/** Runs a program and returns its output, which must be short. */
export async function programOutput(
  program: PostgresProgram,
  args: string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const { stdout, ended } = runProgram(program, args, environment)
  let text = ''
  for await (const chunk of stdout) {
    text += chunk.toString()
    if (text.length > maxOutputLength)
      throw new BackupError(`${program.file}: the output is too long`)
  }
  await ended
  return text
}
