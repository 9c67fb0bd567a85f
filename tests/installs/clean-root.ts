import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../support/until.ts'

// A fresh Debian with a running systemd, in a container of systemd-nspawn that shares only the
// network of this machine.

/** What a Debian has after an installation, as far as the pages rely on it. */
const packages = ['ca-certificates', 'dbus', 'iproute2', 'systemd-sysv']

/** Variables and the working folder are kept here between commands. */
const state = '/root/.shell-state'

export interface CleanRoot {
  /** The root folder, seen from this machine. */
  readonly folder: string
  /**
   * Runs commands in a shell that ends at the first failure. Variables and the working folder stay
   * for the next commands. Returns what they print; throws with it if they fail.
   */
  run(commands: string): Promise<string>
  stop(): Promise<void>
}

/** Creates the archive of an installed Debian, from which clean roots are made. */
export async function createBase(file: string): Promise<void> {
  const options = [
    '--quiet',
    '--variant=apt',
    '--dpkgopt=force-unsafe-io',
    `--include=${packages.join(',')}`,
  ]
  await promisify(execFile)('mmdebstrap', [...options, 'bookworm', file])
}

export interface RootOptions {
  readonly folder: string
  /** The archive that `createBase` wrote. */
  readonly base: string
  readonly environment: Readonly<Record<string, string>>
  /** Folders of this machine that can be read at these paths. */
  readonly mounts?: Readonly<Record<string, string>>
}

/** Unpacks a Debian and boots it. */
export async function startRoot(options: RootOptions): Promise<CleanRoot> {
  const { folder, base, environment, mounts = {} } = options
  mkdirSync(folder)
  execFileSync('tar', ['--extract', '--file', base, '--directory', folder])
  const variables = Object.entries(environment).map(
    ([name, value]) => `export ${name}='${value}'\n`,
  )
  writeFileSync(join(folder, state), `${variables.join('')}cd /root\n`)
  // It must not outlive this process.
  const machine = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'systemd-nspawn', '--quiet'],
      '--boot',
      `--directory=${folder}`,
      `--machine=talkshelf-${process.pid}`,
      '--register=no',
      '--timezone=off',
      '--keep-unit',
      '--resolv-conf=copy-host',
      '--console=pipe',
      ...Object.entries(mounts).map(([path, source]) => `--bind-ro=${source}:${path}`),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [machine.stdout, machine.stderr])
    stream.on('data', (data: Buffer) => (output = (output + data).slice(-5000)))
  const pid = await until('systemd to start', () => {
    if (machine.exitCode !== null) throw new Error(`systemd-nspawn ended:\n${output}`)
    return childOf(machine)
  })
  const enter = ['--target', String(pid), '--all', '--wdns=/root']
  await until('systemd to be ready', () => {
    const { status } = spawnSync('nsenter', [...enter, 'systemctl', 'is-system-running'])
    return status === 0
  })

  return {
    folder,
    async run(commands) {
      const script = `set -eu -o pipefail; set -a; . ${state}\n${commands}\n{ export -p; echo "cd '$PWD'"; } >${state}`
      const child = spawn(
        'nsenter',
        [
          ...enter,
          ...['env', '--ignore-environment', 'HOME=/root', 'USER=root', 'LANG=C.UTF-8'],
          'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          'DEBIAN_FRONTEND=noninteractive',
          ...['bash', '-c', script],
        ],
        { stdio: ['ignore', 'pipe', 'pipe'] },
      )
      let [stdout, all] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text
        all += text
      })
      child.stderr.setEncoding('utf8').on('data', (text: string) => (all += text))
      const [code] = await once(child, 'close')
      if (code !== 0) throw new Error(`${commands}\nended with ${code}:\n${all}`)
      return stdout
    },
    async stop() {
      if (machine.exitCode === null && machine.signalCode === null) {
        // systemd ends with this signal without waiting for anything.
        process.kill(pid, 'SIGKILL')
        await once(machine, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the process that a process has started as the first one. */
function childOf({ pid }: ChildProcess): number | undefined {
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const [child] = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ')
    if (child && readFileSync(`/proc/${child}/comm`, 'utf8').trim() === 'systemd')
      return Number(child)
  }
  return undefined
}
