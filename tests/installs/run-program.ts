import { spawn } from 'node:child_process'
import { once } from 'node:events'

const defaultMaxMs = 20 * 60_000

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Ends the program after this time. */
  readonly maxMs?: number
}

/**
 * Runs a program to its end. Returns what it prints to standard output; throws with all of its
 * output if it fails.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { maxMs = defaultMaxMs, ...options }: RunOptions = {},
): Promise<string> {
  const child = spawn(program, args, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: maxMs,
  })
  let [stdout, all] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    all += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (all += text))
  const [code, signal] = await once(child, 'close')
  if (code !== 0)
    throw new Error(`${[program, ...args].join(' ')}\nended with ${code ?? signal}:\n${all}`)
  return stdout
}
