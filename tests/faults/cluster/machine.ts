import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root as repository } from '../../support/harness.ts'
import { until } from '../../support/until.ts'
import { type FaultEnvironment, type FaultProgram, launch, system } from '../environment.ts'
import { readUnit, type Unit } from './unit.ts'

// A machine of a cluster: a network namespace, and the file system of this machine with changes of
// its own (an overlay). It runs the commands of an INSTALL.md, and the units that these start.

export const network = '10.77.0'
const bridge = 'br0'

/** Programs that INSTALL.md calls, and that must not run here. The real ones are installed. */
const stubs: Record<string, string> = {
  'apt-get': ':',
  npm: ':',
  // Asks this process, which plays systemd, and waits until it is done.
  systemctl: `
request=/run/systemctl/$$
echo "$@" >$request.new
mv $request.new $request
while [ -e $request ]; do sleep 0.05; done
read code <$request.code
exit "$code"`,
}

interface RunningUnit {
  readonly unit: Unit
  program?: FaultProgram
  isWanted: boolean
  /** Counts starts, so that an earlier one does not go on. */
  starts: number
}

export interface MachineOptions {
  readonly name: string
  readonly address: string
  /** The folder that render.sh wrote for this host. */
  readonly rendered: string
  /** Variables for all units, such as LD_PRELOAD. */
  readonly variables?: Record<string, string>
}

/** Creates the network in which the machines are; this process has its first address. */
export function createNetwork(): void {
  mkdirSync('/run/netns', { recursive: true })
  // The names of namespaces are seen in this mount namespace only.
  system('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns')
  ip('link', 'add', bridge, 'type', 'bridge')
  ip('addr', 'add', `${network}.1/24`, 'dev', bridge)
  ip('link', 'set', bridge, 'up')
}

const ip = (...args: string[]) => system('ip', ...args)

/** Counts machines, so that their names are unique in this run. */
let machines = 0

export class Machine {
  readonly name: string
  readonly address: string
  /** The root of its file system. */
  readonly root: string
  private readonly namespace: string
  /** Its end of the cable to the bridge. */
  private readonly cable: string
  private readonly environment: FaultEnvironment
  private readonly variables: Record<string, string>
  private readonly units = new Map<string, RunningUnit>()
  private isDown = false
  private isRemoved = false

  constructor(environment: FaultEnvironment, options: MachineOptions) {
    this.environment = environment
    this.name = options.name
    this.address = options.address
    this.variables = options.variables ?? {}
    this.namespace = `${options.name}-${++machines}`
    this.cable = `v${machines}`
    this.root = join(environment.dir, 'machines', this.name, 'root')
    this.connect()
    this.mount()
    cpSync(options.rendered, join(this.root, 'root/rendered'), { recursive: true })
    environment.atEnd(() => this.remove())
  }

  /** Creates its network, with a cable to the bridge. */
  private connect(): void {
    const { cable, namespace } = this
    ip('netns', 'add', namespace)
    ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    ip('link', 'set', cable, 'master', bridge, 'up')
    const inside = (...args: string[]) => ip('-n', this.namespace, ...args)
    inside('addr', 'add', `${this.address}/24`, 'dev', 'eth0')
    inside('link', 'set', 'lo', 'up')
    inside('link', 'set', 'eth0', 'up')
  }

  private mount(): void {
    const folder = join(this.environment.dir, 'machines', this.name)
    mkdirSync(folder, { recursive: true })
    system('mount', '-t', 'tmpfs', 'tmpfs', folder)
    for (const name of ['upper', 'work', 'root']) mkdirSync(join(folder, name))
    const layers = `lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work`
    system('mount', '-t', 'overlay', 'overlay', '-o', layers, this.root)
    system('mount', '--bind', '/proc', join(this.root, 'proc'))
    // Without devices such as a watchdog, which would reset the real machine.
    system('mount', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', join(this.root, 'dev'))
    for (const name of ['null', 'zero', 'full', 'random', 'urandom']) {
      writeFileSync(join(this.root, 'dev', name), '')
      system('mount', '--bind', `/dev/${name}`, join(this.root, 'dev', name))
    }
    mkdirSync(join(this.root, 'dev/shm'))
    system('mount', '-t', 'tmpfs', 'tmpfs', join(this.root, 'dev/shm'))
    for (const path of ['run/systemctl', 'run/haproxy', 'run/postgresql', 'opt/talkshelf/stubs'])
      mkdirSync(join(this.root, path), { recursive: true })
    this.chown('postgres', 'run/postgresql')
    for (const [name, script] of Object.entries(stubs))
      this.writeProgram(join('opt/talkshelf/stubs', name), script)
    // The data is on the disk of this machine, with its fsync.
    for (const [path, user] of [
      ['var/lib/postgresql', 'postgres'],
      ['var/lib/etcd', 'etcd'],
    ] as const) {
      const data = join(this.environment.dir, 'data', this.name, path)
      mkdirSync(data, { recursive: true })
      mkdirSync(join(this.root, path), { recursive: true })
      system('mount', '--bind', data, join(this.root, path))
      this.chown(user, path)
    }
    // What npm would install.
    const modules = join(this.root, 'opt/talkshelf/node_modules')
    mkdirSync(join(modules, '.bin'), { recursive: true })
    mkdirSync(join(modules, 'talkshelf'))
    cpSync(join(repository, 'deploy'), join(modules, 'talkshelf/deploy'), { recursive: true })
    const server = `${process.execPath} ${join(repository, 'server/main.ts')}`
    this.writeProgram('opt/talkshelf/node_modules/.bin/talkshelf', `exec ${server} "$@"`)
  }

  private writeProgram(path: string, script: string): void {
    writeFileSync(join(this.root, path), `#!/bin/sh\n${script}\n`)
    chmodSync(join(this.root, path), 0o755)
  }

  chown(user: string, path: string): void {
    system('chroot', this.root, 'chown', `${user}:`, `/${path}`)
  }

  /** Returns a command that runs another one on this machine. */
  inside(...command: string[]): string[] {
    return ['ip', 'netns', 'exec', this.namespace, '/usr/sbin/chroot', this.root, ...command]
  }

  /** Runs a program to its end, and throws if it fails. */
  run(...command: string[]): string {
    const [program, ...args] = this.inside(...command) as [string, ...string[]]
    return execFileSync(program, args, {
      encoding: 'utf8',
      stdio: 'pipe',
      cwd: '/',
      timeout: 60_000,
    })
  }

  /** Runs a program to its end, whether it succeeds or not. */
  try(...command: string[]): SpawnSyncReturns<string> {
    const [program, ...args] = this.inside(...command) as [string, ...string[]]
    return spawnSync(program, args, { encoding: 'utf8', cwd: '/', timeout: 30_000 })
  }

  /** Adds or removes rules of its firewall. */
  iptables(...rule: string[]): void {
    ip('netns', 'exec', this.namespace, 'iptables', '--wait', ...rule)
  }

  /** Runs the commands of a section of its INSTALL.md; the first section has no title. */
  async install(title: string): Promise<void> {
    const text = readFileSync(join(this.root, 'root/rendered/INSTALL.md'), 'utf8')
    const section = text.split(/^## /m).find((part) => part.startsWith(title))
    const [, commands] = /^```sh\n(.*?)^```/ms.exec(section ?? '') ?? []
    if (commands === undefined) throw new Error(`${this.name} has no commands for ${title}`)
    await this.runCommands(`cd /root/rendered\n${commands}`)
  }

  /** Runs commands of a document as root. Returns what they print; throws if one of them fails. */
  async runCommands(commands: string): Promise<string> {
    const log = join(this.environment.dir, `${this.name}-commands.log`)
    const from = existsSync(log) ? statSync(log).size : 0
    const program = launch(this.environment, this.inside('sh', '-exc', commands), {
      log: `${this.name}-commands.log`,
      variables: { PATH: `/opt/talkshelf/stubs:${systemPath}`, LC_ALL: 'C' },
    })
    let isDone = false
    program.exited.then(() => {
      isDone = true
    })
    await until(
      `the commands of ${this.name}`,
      async () => {
        await this.answerSystemctl()
        return isDone
      },
      { limitMs: 600_000 },
    )
    const output = readFileSync(log, 'utf8').slice(from)
    if (program.child.exitCode !== 0)
      throw new Error(`Commands of ${this.name} failed:\n${output.slice(-8000)}`)
    return output
  }

  private async answerSystemctl(): Promise<void> {
    const folder = join(this.root, 'run/systemctl')
    for (const request of readdirSync(folder)) {
      if (/[.]/.test(request)) continue
      const [command = '', ...words] = readFileSync(join(folder, request), 'utf8').trim().split(' ')
      const names = words.filter((word) => !word.startsWith('--') && !word.endsWith('.timer'))
      let code = 0
      for (const name of names) code ||= await this.systemctl(command, name, words)
      writeFileSync(join(folder, `${request}.code`), `${code}\n`)
      rmSync(join(folder, request))
    }
  }

  private async systemctl(command: string, name: string, words: string[]): Promise<number> {
    if (command === 'stop') await this.stopUnit(name)
    else if (command === 'restart' || words.includes('--now')) await this.restart(name)
    else if (command === 'start') {
      const unit = readUnit(this.root, name, this.name)
      if (!unit.isOneshot) await this.start(name)
      else {
        const { child, exited } = this.launchIn(unit, unit.command)
        await exited
        return child.exitCode ?? 1
      }
    }
    return 0
  }

  // --- Units

  /** Starts a unit, and again whenever it ends. */
  async start(name: string): Promise<void> {
    const running = this.units.get(name) ?? {
      unit: readUnit(this.root, name, this.name),
      isWanted: false,
      starts: 0,
    }
    this.units.set(name, running)
    if (running.isWanted) return
    running.isWanted = true
    running.starts++
    void this.supervise(running)
  }

  private async supervise(running: RunningUnit): Promise<void> {
    const { unit, starts } = running
    const isWanted = () => running.isWanted && running.starts === starts && !this.isDown
    for (; isWanted(); await sleep(unit.restartMs)) {
      let isPrepared = true
      for (const step of unit.before) {
        const { child, exited } = this.launchIn(unit, step)
        await exited
        isPrepared &&= child.exitCode === 0
      }
      if (!isPrepared || !isWanted()) continue
      running.program = this.launchIn(unit, unit.command)
      await running.program.exited
    }
  }

  private launchIn(unit: Unit, command: readonly string[]): FaultProgram {
    const { LD_PRELOAD: preload, ...variables } = this.variables
    const asUser =
      unit.user === 'root'
        ? []
        : ['setpriv', `--reuid=${unit.user}`, `--regid=${unit.user}`, '--init-groups']
    const withPreload = preload === undefined ? [] : ['env', `LD_PRELOAD=${preload}`]
    return launch(this.environment, this.inside(...asUser, ...withPreload, ...command), {
      log: `${this.name}-${unit.name}.log`,
      variables: { PATH: systemPath, LC_ALL: 'C', ...unit.variables, ...variables },
    })
  }

  /** Ends a unit as systemd does, and does not start it again. */
  async stopUnit(name: string): Promise<void> {
    const running = this.units.get(name)
    if (!running) return
    running.isWanted = false
    running.program?.child.kill('SIGTERM')
    await running.program?.exited
  }

  async restart(name: string): Promise<void> {
    await this.stopUnit(name)
    await this.start(name)
  }

  /** Sends SIGKILL to all processes of a unit. It is started again, unless `stays` is set. */
  killUnit(name: string, { stays = false } = {}): void {
    const running = this.units.get(name)
    if (!running) throw new Error(`${this.name} does not run ${name}`)
    if (stays) running.isWanted = false
    const pid = running.program?.child.pid
    if (pid !== undefined)
      for (const each of [pid, ...descendants(pid)]) sendSignal(each, 'SIGKILL')
  }

  /** Sends SIGKILL to the main process of a unit only. */
  killMain(name: string, { stays = false } = {}): void {
    const running = this.units.get(name)
    if (!running) throw new Error(`${this.name} does not run ${name}`)
    if (stays) running.isWanted = false
    running.program?.child.kill('SIGKILL')
  }

  // --- The machine

  /** Returns the ids of all its processes. */
  pids(): number[] {
    return execFileSync('ip', ['netns', 'pids', this.namespace], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean)
      .map(Number)
  }

  /** Sends a signal to all its processes, and to those that they start meanwhile. */
  signal(signal: NodeJS.Signals): void {
    for (let round = 0; round < 5; round++) for (const pid of this.pids()) sendSignal(pid, signal)
  }

  /** Kills all its processes at once, as if it had lost power. */
  kill(): void {
    this.isDown = true
    this.signal('SIGKILL')
    // What a machine in its place would not know.
    rmSync(join(this.root, 'run/haproxy-master.sock'), { force: true })
    rmSync(join(this.root, 'run/keepalived.pid'), { force: true })
    for (const path of globSync(join(this.root, 'run/postgresql/.s.PGSQL*'))) rmSync(path)
    try {
      for (const address of this.extraAddresses())
        ip('-n', this.namespace, 'addr', 'del', address, 'dev', 'eth0')
    } catch {
      // It has none.
    }
  }

  hasSharedAddress(): boolean {
    return !this.isDown && this.extraAddresses().length > 0
  }

  private extraAddresses(): string[] {
    const text = execFileSync(
      'ip',
      ['-n', this.namespace, '-o', '-4', 'addr', 'show', 'dev', 'eth0'],
      { encoding: 'utf8' },
    )
    return [...text.matchAll(/inet (\S+)/g)]
      .map(([, address = '']) => address)
      .filter((address) => !address.startsWith(`${this.address}/`))
  }

  /** Starts everything that ran when it was killed. */
  async boot(): Promise<void> {
    this.isDown = false
    for (const running of this.units.values())
      if (running.isWanted) {
        running.isWanted = false
        await this.start(running.unit.name)
      }
  }

  /** Ends it for good, and removes its disk. */
  async remove(): Promise<void> {
    if (this.isRemoved) return
    this.isRemoved = true
    this.isDown = true
    for (const running of this.units.values()) running.isWanted = false
    await until(`${this.name} to end`, () => {
      this.signal('SIGKILL')
      return this.pids().length === 0
    })
    // The kernel removes a namespace some time later, and its cable with it.
    ip('link', 'del', this.cable)
    ip('netns', 'del', this.namespace)
    for (const path of ['var/lib/postgresql', 'var/lib/etcd'])
      system('umount', '--recursive', '--lazy', join(this.root, path))
    system('umount', '--recursive', '--lazy', this.root)
    system('umount', '--lazy', join(this.root, '..'))
    rmSync(join(this.environment.dir, 'data', this.name), { recursive: true, force: true })
  }
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Sends a signal to a process, if it still runs. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
  }
}

/** Returns the processes that a process started, and those that they started. */
export function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    const pids = children.split(' ').filter(Boolean).map(Number)
    return pids.flatMap((child) => [child, ...descendants(child)])
  } catch {
    return []
  }
}
