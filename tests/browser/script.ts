import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Runs a script in a process of its own. Throws if it fails. The path is relative to this folder. */
export async function runScript(file: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${file} ended with ${code}`)
}
