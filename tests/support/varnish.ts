import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './harness.ts'
import { until } from './until.ts'

// A real Varnish with the configuration that operators get.

export const edgeToken = 'a-token-of-the-tests'

export interface Varnish {
  readonly url: string
  readonly process: ChildProcess
  /** Returns the counters of varnishstat. */
  counters(): Record<string, number>
  stop(): Promise<void>
}

/** Tells why Varnish cannot be started; false if it can. */
export function varnishMissing(): string | false {
  const { status } = spawnSync('varnishd', ['-V'])
  return status === 0 ? false : 'varnishd is not installed: apt install varnish varnish-modules'
}

/** Starts Varnish on a port, in front of a server that may be started later. */
export async function startVarnish(port: number, originPort: number): Promise<Varnish> {
  const folder = mkdtempSync(join(tmpdir(), 'varnish-'))
  const vcl = readFileSync(join(root, 'deploy/edge/varnish.vcl'), 'utf8')
  writeFileSync(
    join(folder, 'test.vcl'),
    vcl.replaceAll('.port = "8000"', `.port = "${originPort}"`),
  )
  const child = spawn(
    'varnishd',
    [
      '-F',
      '-n',
      folder,
      '-f',
      join(folder, 'test.vcl'),
      '-a',
      `127.0.0.1:${port}`,
      '-j',
      'none',
      '-s',
      'malloc,256m',
      '-T',
      'none',
    ],
    { env: { ...process.env, EDGE_TOKEN: edgeToken }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output = (output + data).slice(-5000)))
  const url = `http://127.0.0.1:${port}`
  await until(`Varnish to start: ${output}`, async () => {
    if (child.exitCode !== null) throw new Error(output)
    return (await fetch(`${url}/healthz`)).status > 0
  })
  return {
    url,
    process: child,
    counters() {
      const { stdout } = spawnSync('varnishstat', ['-n', folder, '-1', '-j'], { encoding: 'utf8' })
      const { counters = {} } = JSON.parse(stdout) as {
        counters?: Record<string, { value: number }>
      }
      return Object.fromEntries(Object.entries(counters).map(([name, { value }]) => [name, value]))
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
