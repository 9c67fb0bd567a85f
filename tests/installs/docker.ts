import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { until } from '../support/until.ts'
import { runProgram } from './run-program.ts'

// A Docker of its own: its programs, images, containers and volumes are in one folder, and nothing
// of this machine is changed but for the bridges of the networks while they exist.

/** Debian 13 has Docker with compose 2. Its programs run on Debian 12, but not its runc. */
const suite = 'trixie'
const packages = ['docker.io', 'docker-cli', 'docker-buildx', 'docker-compose']

const maxStopMs = 60_000

export interface Docker {
  /**
   * Runs commands in a shell that ends at the first failure, without the variables of this machine.
   * Returns what they print; throws with it if they fail.
   */
  run(commands: string, workingFolder?: string): Promise<string>
  /** Stops the daemon and what it has started, and removes its folder. */
  stop(): Promise<void>
}

/** Unpacks the programs of Docker, without installing them. */
export async function unpackDocker(folder: string): Promise<void> {
  const options = ['--quiet', '--variant=extract', `--include=${packages.join(',')}`]
  await runProgram('mmdebstrap', [...options, suite, folder])
}

/** Starts a Docker daemon with its data in this folder. `programs` is what is unpacked. */
export async function startDocker(folder: string, programs: string): Promise<Docker> {
  const config = join(folder, 'config')
  mkdirSync(join(config, 'cli-plugins'), { recursive: true })
  for (const plugin of ['docker-buildx', 'docker-compose'])
    symlinkSync(
      join(programs, 'usr/libexec/docker/cli-plugins', plugin),
      join(config, 'cli-plugins', plugin),
    )
  const socket = `unix://${join(folder, 'docker.sock')}`
  const bin = join(programs, 'usr/bin')
  const environment = {
    HOME: folder,
    LANG: 'C.UTF-8',
    // First the programs of this machine: its runc.
    PATH: `/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:${bin}:${join(programs, 'usr/sbin')}`,
    DOCKER_HOST: socket,
    DOCKER_CONFIG: config,
    BUILDKIT_PROGRESS: 'plain',
  }
  const settings = join(folder, 'daemon.json')
  writeFileSync(settings, '{}\n')
  const log = join(folder, 'daemon.log')
  const daemon = spawn(
    join(programs, 'usr/sbin/dockerd'),
    [
      ...['--config-file', settings, '--host', socket, '--pidfile', join(folder, 'daemon.pid')],
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
      ...['--init-path', join(bin, 'docker-init')],
      ...['--userland-proxy-path', join(programs, 'usr/sbin/docker-proxy')],
      // It opens ports with a program instead of rules in the firewall of this machine.
      ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false'],
    ],
    { env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const output = createWriteStream(log)
  daemon.stdout.pipe(output, { end: false })
  daemon.stderr.pipe(output, { end: false })

  const run = (commands: string, workingFolder = folder) =>
    runProgram('bash', ['-c', `set -eu -o pipefail\n${commands}`], {
      cwd: workingFolder,
      env: environment,
    })

  const isStopped = () => daemon.exitCode !== null || daemon.signalCode !== null
  async function stop() {
    if (!isStopped()) {
      const stopped = once(daemon, 'exit')
      daemon.kill('SIGTERM')
      const timer = setTimeout(() => daemon.kill('SIGKILL'), maxStopMs)
      await stopped
      clearTimeout(timer)
    }
    output.end()
    await until('all processes of Docker to end', () => killRest(folder))
    unmountAll(folder)
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    await until('the Docker daemon to answer', async () => {
      if (isStopped()) throw new Error(`dockerd ended:\n${readFileSync(log, 'utf8').slice(-3000)}`)
      await run('docker version')
      return true
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { run, stop }
}

/** Returns the processes that have a path in their arguments. */
export function processesWith(path: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path)
      } catch {
        // It has ended meanwhile.
        return false
      }
    })
    .map(Number)
}

/** Kills what a daemon left when it ended: the processes that watch containers, and containers. */
function killRest(folder: string): boolean {
  const left = processesWith(folder)
  // The first process of a container takes the others with it.
  const first = left.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').map(Number),
    ),
  )
  for (const pid of [...left, ...first]) if (pid > 0) process.kill(pid, 'SIGKILL')
  return left.length === 0
}

function unmountAll(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
  for (const path of mounts.reverse()) execFileSync('umount', ['--lazy', path])
}
