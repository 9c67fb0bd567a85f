import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allTargets } from './targets.ts'

// Runs the inputs in a worker process (worker.ts) and monitors it: an input that takes too much CPU
// time, hangs or ends the process is a finding too, and a new worker continues with the other
// inputs.

export interface FuzzFinding {
  readonly target: string
  readonly kind: 'failure' | 'slow' | 'memory' | 'hang' | 'crash'
  readonly signature: string
  readonly detail: string
  /** Base64. */
  readonly input: string
}

export interface TargetResult {
  readonly name: string
  readonly inputs: number
  readonly branches: number
  /** The seeds, and the inputs that were kept because they reached new branches. */
  readonly corpusSize: number
  readonly cpuSeconds: number
  readonly slowest: { readonly cpuMs: number; readonly bytes: number }
}

export interface FuzzOptions {
  /** The number of inputs of all targets together. */
  readonly inputs: number
  readonly seed: number
  /** Runs only targets whose names contain one of these texts. */
  readonly only?: readonly string[]
  /** A migrated database, for the targets that need the service. */
  readonly databaseUrl: string
  /** The folder for inputs of findings. */
  readonly save?: string | undefined
  /** Runs this input only. Base64. */
  readonly input?: string | undefined
  /** The limit of CPU time per input, on a machine of usual speed. */
  readonly maxCpuMs?: number
  /** The CPU time after which an input counts as a hang, and the process is killed. */
  readonly hangCpuSeconds?: number
  readonly onProgress?: (text: string) => void
}

export interface Job {
  readonly names: readonly string[]
  readonly plan: readonly {
    readonly inputs: number
    /** The number of inputs that an earlier worker has run. */
    readonly skip: number
    /** Runs this input only. Base64. */
    readonly input?: string
  }[]
  readonly seed: number
  readonly databaseUrl: string
  readonly maxCpuMs: number
  readonly currentFile: string
}

/** The messages of the worker. */
export type Report =
  | { readonly finding: FuzzFinding }
  | { readonly progress: { readonly target: number; readonly done: number } }
  | { readonly done: Omit<TargetResult, 'name'> & { readonly target: number } }
  | { readonly end: true }

/** Longer than a busy machine stalls. */
const maxSilenceMs = 120_000
/** CPU time that a worker may need before its first input. A slow machine has needed 3 s. */
const maxStartCpuSeconds = 60
const maxRestarts = 5

/** Runs inputs against the chosen targets. Returns figures and findings. */
export async function fuzz(
  options: FuzzOptions,
): Promise<{ results: TargetResult[]; findings: FuzzFinding[] }> {
  const { only = [], onProgress = () => {}, hangCpuSeconds = 15, maxCpuMs = 1000 } = options
  const isChosen = ({ name, isPlanted }: (typeof allTargets)[number]) =>
    only.length === 0
      ? !isPlanted
      : only.some((word) => (isPlanted ? name === word : name.includes(word)))
  const chosen = allTargets.filter(isChosen)
  if (chosen.length === 0) throw new Error(`No target matches ${only.join(' or ')}`)
  const totalShare = chosen.reduce((sum, { share = 1 }) => sum + share, 0)
  const plan = chosen.map(({ share = 1 }) => ({
    inputs: Math.ceil((options.inputs * share) / totalShare),
    skip: 0,
    ...(options.input !== undefined && { input: options.input }),
  }))
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-fuzz-'))
  const results: TargetResult[] = []
  const findings: FuzzFinding[] = []
  const add = (finding: FuzzFinding) => {
    findings.push(finding)
    onProgress(explain(finding, options.seed))
    if (options.save === undefined) return
    mkdirSync(options.save, { recursive: true })
    const name = `${finding.target}-${findings.length}`.replaceAll(/[^\w-]+/g, '-')
    writeFileSync(join(options.save, `${name}.bin`), Buffer.from(finding.input, 'base64'))
    writeFileSync(join(options.save, `${name}.txt`), explain(finding, options.seed))
  }
  const restarts = new Map<number, number>()
  try {
    for (;;) {
      const currentFile = join(folder, 'current')
      writeFileSync(currentFile, '')
      const names = chosen.map(({ name }) => name)
      const { seed, databaseUrl } = options
      const job: Job = { names, plan, seed, databaseUrl, maxCpuMs, currentFile }
      const ended = await runWorker(job, hangCpuSeconds, (report) => {
        if ('finding' in report) add(report.finding)
        if ('progress' in report)
          (plan[report.progress.target] as { skip: number }).skip = report.progress.done
        if ('done' in report) {
          const { target, ...result } = report.done
          results.push({ name: names[target] as string, ...result })
          ;(plan[target] as { skip: number }).skip = Number.MAX_SAFE_INTEGER
          onProgress(`${names[target]}: ${result.inputs} inputs, ${result.branches} branches`)
        }
      })
      if (ended === undefined) return { results, findings }
      const stopped = readCurrent(currentFile)
      if (!stopped) throw new Error(`The worker could not start:\n${ended.detail}`)
      const target = names[stopped.target] as string
      add({
        target,
        kind: ended.kind,
        signature: ended.kind,
        detail: ended.detail,
        input: stopped.input.toString('base64'),
      })
      // The next worker continues with the other targets, and with other inputs for this one.
      const count = (restarts.get(stopped.target) ?? 0) + 1
      restarts.set(stopped.target, count)
      const targetPlan = plan[stopped.target] as { skip: number; inputs: number }
      targetPlan.skip =
        count > maxRestarts
          ? Number.MAX_SAFE_INTEGER
          : Math.min(targetPlan.inputs, targetPlan.skip + 1000)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns how the worker ended; undefined if it completed its job. */
async function runWorker(job: Job, hangCpuSeconds: number, onReport: (report: Report) => void) {
  const coverage = new URL('coverage.ts', import.meta.url).href
  const file = join(import.meta.dirname, 'worker.ts')
  const flags = ['--expose-gc', '--max-old-space-size=1024', '--import', coverage]
  const child = spawn(process.execPath, [...flags, file], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, FUZZ_JOB: JSON.stringify(job) },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let output = ''
  let isDone = false
  child.stderr?.on('data', (data: Buffer) => (output = (output + data).slice(-4000)))
  child.on('message', (report: Report) => {
    if ('end' in report) isDone = true
    else onReport(report)
  })
  const exit = once(child, 'exit')
  const hang = await Promise.race([
    exit.then(() => undefined),
    detectHang(child, job.currentFile, hangCpuSeconds),
  ])
  kill()
  const [code, signal] = await exit
  process.off('exit', kill)
  if (hang !== undefined) return { kind: 'hang' as const, detail: hang }
  if (isDone) return undefined
  return { kind: 'crash' as const, detail: `The process ended with ${signal ?? code}:\n${output}` }
}

/** Waits until an input takes too long. Measures CPU time, because machines stall. */
async function detectHang(
  child: ChildProcess,
  currentFile: string,
  hangCpuSeconds: number,
): Promise<string | undefined> {
  let last = { sequence: -1, cpuSeconds: 0, atMs: performance.now() }
  while (child.exitCode === null && child.signalCode === null) {
    await sleep(250)
    const cpuSeconds = cpuSecondsOf(child.pid)
    const sequence = readCurrent(currentFile)?.sequence ?? 0
    if (cpuSeconds === undefined) return undefined
    if (sequence !== last.sequence) last = { sequence, cpuSeconds, atMs: performance.now() }
    const maxCpuSeconds = sequence === 0 ? maxStartCpuSeconds : hangCpuSeconds
    if (cpuSeconds - last.cpuSeconds > maxCpuSeconds)
      return `not finished after ${maxCpuSeconds} s of CPU time`
    if (performance.now() - last.atMs > maxSilenceMs)
      return `no result within ${maxSilenceMs / 1000} s`
  }
  return undefined
}

/** Reads the user and system CPU time of a process from /proc. */
function cpuSecondsOf(pid: number | undefined): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return undefined
  }
}

/** Reads the input that the worker is running. */
function readCurrent(
  file: string,
): { sequence: number; target: number; input: Buffer } | undefined {
  const head = Buffer.alloc(12)
  const fd = openSync(file, 'r')
  try {
    if (readSync(fd, head, 0, 12, 0) < 12) return undefined
    const input = Buffer.alloc(head.readUInt32LE(8))
    readSync(fd, input, 0, input.length, 12)
    return { sequence: head.readUInt32LE(0), target: head.readUInt32LE(4), input }
  } finally {
    closeSync(fd)
  }
}

/** Describes a finding and how to reproduce it. */
export function explain({ target, kind, detail, input }: FuzzFinding, seed: number): string {
  const shown =
    input.length > 4000
      ? `${input.slice(0, 4000)}… (${input.length} characters; --save DIR saves all)`
      : input
  const command = `npm run fuzz -- --only '${target}' --input ${shown}`
  return `${kind.toUpperCase()} in ${target} (seed ${seed})\n${detail}\nReproduce: ${command}\n`
}
