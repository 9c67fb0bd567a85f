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
import { repeatFailed } from '../support/repeat-failed.ts'
import { type Fault, type FaultEnvironment, makeTemplate, system } from './environment.ts'

// Runs faults against the real service. Where the system allows it, all of it runs in namespaces of
// its own (network, processes, mounts, shared memory), which the kernel removes in any case.

const prefix = 'talkshelf-faults-'
const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    runs: { type: 'string', default: '1' },
    inside: { type: 'string' },
  },
  allowPositionals: true,
})

interface FaultGroup {
  readonly faults: readonly Fault[]
  /** Programs that are installed if they are missing. */
  readonly programs: Parameters<typeof installMissing>[0]
  /** Whether the faults have databases of their own, and need no template. */
  readonly withoutTemplate?: boolean
  /** Returns lines to print after the last fault. */
  report?(): string[]
}

export interface FaultRun extends FaultGroup {
  /** The script that is running. */
  readonly file: string
  /** Faults that run only if the first argument is the name of their group. */
  readonly groups?: Readonly<Record<string, FaultGroup>>
}

/** Runs the faults whose names contain one of the arguments, or all. Sets the exit code. */
export async function runFaults({ file, groups = {}, ...all }: FaultRun): Promise<void> {
  const { inside: dir } = values
  const named = groups[positionals[0] ?? '']
  const group = named ?? all
  const words = named ? positionals.slice(1) : positionals
  process.exitCode =
    dir === undefined ? await outside(file, group.programs) : await inside(dir, group, words)
}

async function outside(file: string, programs: FaultGroup['programs']): Promise<number> {
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
  // The shell stays: as the first process it reaps those whose parents were killed.
  const setUp = [
    'sh',
    '-c',
    'ip link set lo up && mount -t tmpfs tmpfs /dev/shm && { FAULTS_NAMESPACE=1 "$@" & wait $!; }',
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

async function inside(dir: string, group: FaultGroup, words: string[]): Promise<number> {
  const startedMs = performance.now()
  const runs = Number(values.runs)
  if (!Number.isInteger(runs) || runs < 1) throw new Error('--runs takes a number from 1 on')
  const chosen = group.faults
    .filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
    .flatMap((fault) => Array.from({ length: runs }, () => fault))
  if (chosen.length === 0) {
    const names = group.faults.map(({ name }) => `  ${name}`)
    console.error(['No fault has such a name. There are:', ...names].join('\n'))
    process.exit(2)
  }
  const count = { passed: 0, failed: 0, skipped: 0 }
  console.log(
    `Node ${process.versions.node}, ${chosen.length} faults${values.quick ? ', quick' : ''}`,
  )
  const { template, token } = group.withoutTemplate
    ? { template: dir, token: '' }
    : await makeTemplate(dir)
  for (const [index, fault] of chosen.entries()) {
    const isLeftOut = values.quick && fault.fullOnly && words.length === 0
    const reason = isLeftOut ? 'only in the full run' : fault.missing?.()
    if (reason === undefined) {
      const attempt = (name: string) => play(fault, { dir: join(dir, name), template, token })
      let hasPassed = await attempt(String(index))
      if (!hasPassed && repeatFailed) {
        hasPassed = await attempt(`${index}-again`)
        if (hasPassed) console.log(`FLAKY: passed only the second time: ${fault.name}`)
      }
      count[hasPassed ? 'passed' : 'failed']++
    } else {
      count.skipped++
      console.log(`skip  ${fault.name}: ${reason}`)
    }
  }
  for (const line of group.report?.() ?? []) console.log(line)
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
