import { spawn } from 'node:child_process'
import type { Program } from '../platform/db/programs.ts'
import { BackupError } from './manifest.ts'

// pg_dump and pg_restore as children of ours, which end when we do, however that is: a restore that went on alone would be one that nobody checks.

const mostWords = 4000

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

export interface Running {
  readonly stdout: AsyncIterable<Buffer>
  /** Fails with what the program said, unless all is well. */
  readonly ended: Promise<void>
}

export function run({ file }: Program, args: string[], environment: NodeJS.ProcessEnv, signal?: AbortSignal): Running {
  const child = spawn('/bin/sh', ['-c', guarded, 'guard', file, ...args], { env: environment, stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (data: Buffer) => {
    said = (said + data.toString()).slice(-mostWords)
  })
  child.stdin.on('error', () => {})
  signal?.addEventListener('abort', () => child.stdin.end())
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', (error) => reject(new BackupError(`${file} cannot be run: ${error.message}`)))
    child.on('close', (code, by) => {
      if (code === 0) resolve()
      else reject(new BackupError(`${file} ended with ${code ?? by}:\n${said.trim() || 'It said nothing.'}`))
    })
  })
  ended.catch(() => {}) // Whoever reads what it writes first hears of it later.
  return { stdout: child.stdout, ended }
}

/** What the program writes, which must be short. */
export async function output(program: Program, args: string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const { stdout, ended } = run(program, args, environment)
  let text = ''
  for await (const chunk of stdout) {
    text += chunk.toString()
    if (text.length > mostOutput) throw new BackupError(`${program.file} says more than any archive has to say`)
  }
  await ended
  return text
}

const mostOutput = 16 * 1024 * 1024
