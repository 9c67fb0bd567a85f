import { spawn } from 'node:child_process'
import type { PostgresProgram } from '../platform/db/programs.ts'
import { BackupError } from './manifest.ts'

// pg_dump and pg_restore as children of ours, which end when we do, however that is: a restore that
// went on alone would be one that nobody checks.

const maxWords = 4000

// The guard's standard input ends when we end it, or are gone, kill -9 included.
const guarded = `
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
  /** Fails with what the program said, unless all is well. */
  readonly ended: Promise<void>
}

export function runProgram(
  { file }: PostgresProgram,
  args: string[],
  environment: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): RunningProgram {
  const child = spawn('/bin/sh', ['-c', guarded, 'guard', file, ...args], {
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (data: Buffer) => {
    said = (said + data.toString()).slice(-maxWords)
  })
  child.stdin.on('error', () => {})
  signal?.addEventListener('abort', () => child.stdin.end())
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', (error) => reject(new BackupError(`${file} cannot be run: ${error.message}`)))
    child.on('close', (code, by) => {
      if (code === 0) resolve()
      else
        reject(
          new BackupError(
            `${file} ended with ${code ?? by}:\n${said.trim() || 'It said nothing.'}`,
          ),
        )
    })
  })
  ended.catch(() => {}) // Whoever reads what it writes first hears of it later.
  return { stdout: child.stdout, ended }
}

/** What the program writes, which must be short. */
export async function programOutput(
  program: PostgresProgram,
  args: string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const { stdout, ended } = runProgram(program, args, environment)
  let text = ''
  for await (const chunk of stdout) {
    text += chunk.toString()
    if (text.length > maxOutput)
      throw new BackupError(`${program.file} says more than any archive has to say`)
  }
  await ended
  return text
}

const maxOutput = 16 * 1024 * 1024
