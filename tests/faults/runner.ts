import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../support/harness.ts'
import { installMissing } from '../support/install.ts'
import { type Fault, type FaultEnvironment, makeTemplate, system } from './environment.ts'

// Runs faults against the real service. Where the system allows it, all of it runs in namespaces of
// its own (network, processes, mounts, shared memory), which the kernel removes in any case.

const prefix = 'talkshelf-faults-'
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, inside: { type: 'string' } },
  allowPositionals: true,
})

export interface FaultRun {
  /** The script that is running. */
  readonly file: string
  readonly faults: readonly Fault[]
  /** Programs that are installed if they are missing. */
  readonly programs: Parameters<typeof installMissing>[0]
}

/** Runs the faults whose names contain one of the arguments, or all. Sets the exit code. */
export async function runFaults({ file, faults, programs }: FaultRun): Promise<void> {
  const { inside: dir } = values
  process.exitCode = dir === undefined ? await outside(file, programs) : await inside(dir, faults)
}

async function outside(file: string, programs: FaultRun['programs']): Promise<number> {
  removeOld()
  installMissing(programs)
  const dir = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user.
  process.on('exit', () =>
    rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
  )
  const unshare = namespaceCommand()
  if (unshare.length === 0) console.log('Namespaces cannot be created here: running without')
  const command = [process.execPath, file, ...process.argv.slice(2), '--inside', dir]
  const [program, ...args] = [...unshare, ...command] as [string, ...string[]]
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => child.kill(unshare.length > 0 ? 'SIGKILL' : 'SIGTERM'))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/**
 * Returns a command that runs another one in namespaces of its own, and ends with this process.
 * Empty if namespaces are not allowed.
 */
function namespaceCommand(): string[] {
  const unshare = [
    'unshare',
    '--net',
    '--mount',
    '--pid',
    '--ipc',
    '--fork',
    '--kill-child',
    '--mount-proc',
  ]
  const asUser = process.getuid?.() === 0 ? [] : ['--map-current-user', '--keep-caps']
  const setUp = [
    'sh',
    '-c',
    'ip link set lo up && mount -t tmpfs tmpfs /dev/shm && exec "$@"',
    'sh',
  ]
  const command = ['setpriv', '--pdeathsig', 'KILL', ...unshare, ...asUser, ...setUp]
  return spawnSync(command[0] as string, [...command.slice(1), 'true']).status === 0 ? command : []
}

/** Removes the folders of runs that were killed with -9. */
function removeOld(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = new RegExp(`^${prefix}(\\d+)-`).exec(name) ?? []
    const path = join(tmpdir(), name)
    // The process may be in a namespace that we cannot see, so only old folders are removed.
    const isOld =
      pid && !existsSync(`/proc/${pid}`) && statSync(path).mtimeMs < Date.now() - 3_600_000
    if (isOld) rmSync(path, { recursive: true, force: true })
  }
}

async function inside(dir: string, faults: readonly Fault[]): Promise<number> {
  const startedMs = performance.now()
  const chosen = faults.filter(
    ({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
  )
  const count = { passed: 0, failed: 0, skipped: 0 }
  console.log(
    `Node ${process.versions.node}, ${chosen.length} faults${values.quick ? ', quick' : ''}`,
  )
  const { template, token } = await makeTemplate(dir)
  for (const [index, fault] of chosen.entries()) {
    const reason = values.quick && fault.fullOnly ? 'only in the full run' : fault.missing?.()
    if (reason === undefined) {
      const hasPassed = await play(fault, { dir: join(dir, String(index)), template, token })
      count[hasPassed ? 'passed' : 'failed']++
    } else {
      count.skipped++
      console.log(`skip  ${fault.name}: ${reason}`)
    }
  }
  const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
  console.log(
    `${count.passed} passed, ${count.failed} failed${skipped}, ` +
      `${((performance.now() - startedMs) / 1000).toFixed(0)} s`,
  )
  process.exit(count.failed > 0 ? 1 : 0)
}

/** Runs a fault in a folder of its own, and prints its result. Returns whether it passed. */
async function play(
  fault: Fault,
  folders: Pick<FaultEnvironment, 'dir' | 'template' | 'token'>,
): Promise<boolean> {
  const startedMs = performance.now()
  const { dir, template } = folders
  mkdirSync(dir)
  system('chown', '--reference', template, dir)
  const undo: (() => unknown)[] = []
  const unexpected: string[] = []
  let isOver = false
  // A fault that exceeded its time limit may still start something.
  const atEnd = (step: () => unknown) => void (isOver ? step() : undo.push(step))
  const print = (result: string, detail: unknown) => {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
    console.log(`${result.padEnd(5)} ${fault.name} (${seconds} s): ${detail}`)
  }
  try {
    const limitS = fault.limitS[values.quick ? 'quick' : 'full']
    const environment = { ...folders, quick: values.quick, unexpected, atEnd }
    const summary = await within(limitS, fault.run(environment))
    if (unexpected.length > 0) throw new Error('the fault passed, but')
    print('ok', summary)
    return true
  } catch (error) {
    print('FAIL', error instanceof Error ? error.message : error)
    for (const event of unexpected) console.log(event)
    printLogs(dir)
    return false
  } finally {
    isOver = true
    for (const step of undo.reverse()) await step()
    rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

/** Prints the last lines of the logs of a fault: they show what it was doing when it failed. */
function printLogs(dir: string): void {
  for (const name of readdirSync(dir).filter((entry) => entry.endsWith('.log'))) {
    const lines = readFileSync(join(dir, name), 'utf8').trimEnd().split('\n').slice(-12)
    console.log([`${name} ends:`, ...lines].join('\n      '))
  }
}

async function within<T>(limitS: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not done within ${limitS} s`)), limitS * 1000)
  work.catch(() => {}) // After the timeout its rejection has no other handler.
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
