// What `npm run faults` runs: node tests/faults/run.ts [--quick] [parts of the names of faults...]
// Plays each fault against the real entity. As far as the system lets us, all of it happens in
// namespaces of our own: other ports, processes, mounts and shared memory than everybody else's,
// and the kernel takes them away with us, whatever happens.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../support/harness.ts'
import { installMissing } from '../support/install.ts'
import { clockSteps } from './clock.ts'
import { simulatedDays } from './days.ts'
import { importKilled } from './imports.ts'
import { databaseKilled, serviceKilled } from './kills.ts'
import { cutNetwork, silentNetwork, slowNetwork } from './network.ts'
import { everythingDeleted } from './point-in-time.ts'
import { diskFull, logDiskFull, noConnections } from './resources.ts'
import { rollingRestart } from './rolling.ts'
import { slowConnections } from './slow.ts'
import { type Fault, type FaultEnvironment, makeTemplate, system } from './stage.ts'

const faults: Fault[] = [
  serviceKilled,
  databaseKilled,
  importKilled,
  slowNetwork,
  cutNetwork,
  silentNetwork,
  noConnections,
  diskFull,
  logDiskFull,
  clockSteps,
  simulatedDays,
  rollingRestart,
  everythingDeleted,
  slowConnections,
]

const prefix = 'talkshelf-faults-'
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, inside: { type: 'string' } },
  allowPositionals: true,
})
process.exitCode = values.inside === undefined ? await outside() : await inside(values.inside)

async function outside(): Promise<number> {
  removeOld()
  installMissing([
    { package: 'haproxy', program: 'haproxy' },
    { package: 'faketime', program: 'faketime' },
    { package: 'slowhttptest', program: 'slowhttptest' },
    { package: 'pgbackrest', program: 'pgbackrest' },
    { package: 'iproute2', program: 'ip' },
  ])
  const dir = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
  chmodSync(dir, 0o755) // postgres, a user of its own, must get in.
  process.on('exit', () =>
    rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
  )
  const shelter = namespaces()
  if (shelter.length === 0) console.log('No namespaces of our own can be made here: going without')
  const again = [process.execPath, import.meta.filename, ...process.argv.slice(2), '--inside', dir]
  const [program, ...args] = [...shelter, ...again] as [string, ...string[]]
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => child.kill(shelter.length > 0 ? 'SIGKILL' : 'SIGTERM'))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/**
 * A command that runs another one in namespaces of its own, and dies with us; empty where that is
 * not allowed.
 */
function namespaces(): string[] {
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

/** What a run left behind that was itself killed with -9: nothing but its folder. */
function removeOld(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = new RegExp(`^${prefix}(\\d+)-`).exec(name) ?? []
    const path = join(tmpdir(), name)
    // Somebody whose processes we cannot see may share the folder with us.
    const isOld =
      pid && !existsSync(`/proc/${pid}`) && statSync(path).mtimeMs < Date.now() - 3_600_000
    if (isOld) rmSync(path, { recursive: true, force: true })
  }
}

async function inside(dir: string): Promise<number> {
  const begin = performance.now()
  const chosen = faults.filter(
    ({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
  )
  const count = { passed: 0, failed: 0, skipped: 0 }
  console.log(
    `Node ${process.versions.node}, ${chosen.length} faults${values.quick ? ', quick' : ''}`,
  )
  const { template, token } = await makeTemplate(dir)
  for (const [index, fault] of chosen.entries()) {
    const why = values.quick && fault.fullOnly ? 'only in the full run' : fault.missing?.()
    if (why !== undefined) {
      count.skipped++
      console.log(`skip  ${fault.name}: ${why}`)
      continue
    }
    const start = performance.now()
    const seconds = () => `${((performance.now() - start) / 1000).toFixed(0)} s`
    const stageDir = join(dir, String(index))
    mkdirSync(stageDir)
    system('chown', '--reference', template, stageDir)
    const undo: (() => unknown)[] = []
    let isOver = false
    // One that was not done in time may still start something.
    const atEnd = (step: () => unknown) => void (isOver ? step() : undo.push(step))
    const stage: FaultEnvironment = {
      quick: values.quick,
      dir: stageDir,
      template,
      token,
      surprises: [],
      atEnd,
    }
    try {
      const told = await within(fault.limitS[values.quick ? 'quick' : 'full'], fault.run(stage))
      if (stage.surprises.length > 0) throw new Error('all was well, but')
      count.passed++
      console.log(`ok    ${fault.name} (${seconds()}): ${told}`)
    } catch (error) {
      count.failed++
      console.log(
        `FAIL  ${fault.name} (${seconds()}): ${error instanceof Error ? error.message : error}`,
      )
      for (const surprise of stage.surprises) console.log(surprise)
    }
    isOver = true
    for (const step of undo.reverse()) await step()
    rmSync(stageDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
  const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
  console.log(
    `${count.passed} passed, ${count.failed} failed${skipped}, ${((performance.now() - begin) / 1000).toFixed(0)} s`,
  )
  process.exit(count.failed > 0 ? 1 : 0)
}

async function within<T>(limitS: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not done within ${limitS} s`)), limitS * 1000)
  work.catch(() => {}) // When the time is up nobody listens any more.
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
