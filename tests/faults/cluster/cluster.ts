import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import { createToken } from '../../../server/auth/auth.ts'
import { openPool } from '../../../server/platform/db/pool.ts'
import { call, root } from '../../support/harness.ts'
import { withDatabase } from '../../support/invariants.ts'
import { until } from '../../support/until.ts'
import type { FaultEnvironment } from '../environment.ts'
import { startTunnel } from './link.ts'
import { createNetwork, Machine, type MachineOptions, network } from './machine.ts'

// A cluster, as deploy/cluster describes it: hosts.conf is rendered, and each machine runs the
// commands of its INSTALL.md.

const sharedAddress = `${network}.10`

const hostsFile = `
public_url = http://${sharedAddress}
shared_address = ${sharedAddress}/24
interface = eth0
postgresql = 15
patroni = PATRONI
shared_buffers = 32MB
varnish_memory = 64m
host data1 ${network}.11 database
host data2 ${network}.12 database
host data3 ${network}.13 database
host web1 ${network}.21 service
host web2 ${network}.22 service
host edge1 ${network}.31 edge
host edge2 ${network}.32 edge
`
const backupHost = `host vault1 ${network}.41 backup\n`

/** What Patroni tells about a member. */
interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
  readonly lag?: number | string
}

export interface Cluster {
  readonly databases: readonly Machine[]
  readonly services: readonly Machine[]
  readonly edges: readonly Machine[]
  /** The backup host, if there is one. */
  readonly backups: readonly Machine[]
  /** The URL for readers and editors: the shared address of the edge. */
  readonly url: string
  /** The URL of the first service, without an edge. */
  readonly serviceUrl: string
  /** The database, at the leader. */
  readonly databaseUrl: string
  readonly token: string
  members(): Promise<Member[]>
  /** Returns the machine of the leader. Waits until there is one. */
  leader(): Promise<Machine>
  /** Returns the machines of the synchronous standby and of the other one. */
  standbys(): Promise<{ synchronous: Machine; asynchronous: Machine }>
  /** Waits until all members follow the leader. */
  untilReplicated(): Promise<void>
  /** Waits until all members follow the leader, and all services and the edge answer. */
  untilHealthy(): Promise<void>
  /** Waits until another machine leads. */
  untilOtherLeader(than: Machine): Promise<Machine>
  /** Puts an empty machine into the place of a database host, which is gone for good. */
  replace(database: Machine): Promise<Machine>
}

export interface ClusterOptions {
  /** Changes what is in the machines before they are installed. */
  readonly prepare?: (machine: Machine) => void
  readonly variables?: (name: string) => Record<string, string>
  /** Adds a host for backups. */
  readonly hasBackups?: boolean
}

let hasNetwork = false

/** Renders, installs and starts a cluster. */
export async function startCluster(
  environment: FaultEnvironment,
  { prepare = () => {}, variables = () => ({}), hasBackups = false }: ClusterOptions = {},
): Promise<Cluster> {
  if (!hasNetwork) createNetwork()
  hasNetwork = true
  const hosts = hostsFile + (hasBackups ? backupHost : '')
  const rendered = render(environment.dir, hosts)
  const create = (name: string, address: string) => {
    const options: MachineOptions = {
      name,
      address,
      rendered: join(rendered, name),
      variables: variables(name),
    }
    const machine = new Machine(environment, options)
    prepare(machine)
    return machine
  }
  const [databases, services, edges, backups] = ['data', 'web', 'edge', 'vault'].map((prefix) =>
    hostsIn(hosts)
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name, address }) => create(name, address)),
  ) as [Machine[], Machine[], Machine[], Machine[]]
  const cluster = new RunningCluster({ databases, services, edges, backups, create })
  await onAll([...databases, ...services, ...edges, ...backups], '# Install')
  await onAll(databases, 'PostgreSQL')
  await cluster.untilReplicated()
  await onAll(backups, 'Backups')
  await onAll(services, 'Talkshelf')
  await onAll(edges, 'HAProxy')
  const [first] = services as [Machine]
  const tunnelPort = await startTunnel(environment, first, 5000)
  const password = /^talkshelf=(.*)$/m.exec(readFileSync(join(rendered, 'secrets'), 'utf8'))?.[1]
  cluster.databaseUrl =
    `postgres://talkshelf:${password}@${first.address}:${tunnelPort}/talkshelf` +
    '?sslmode=no-verify'
  await cluster.untilHealthy()
  cluster.token = await makeToken(cluster.databaseUrl)
  return cluster
}

const onAll = (machines: readonly Machine[], title: string) =>
  Promise.all(machines.map((machine) => machine.install(title)))

const hostsIn = (hosts: string) =>
  [...hosts.matchAll(/^host (\S+) (\S+)/gm)].map(([, name = '', address = '']) => ({
    name,
    address,
  }))

/** Runs render.sh, and returns its folder. */
function render(dir: string, hosts: string): string {
  mkdirSync(dir, { recursive: true })
  const [, version = ''] = / (\S+)/.exec(execFileSync('patroni', ['--version'], text)) ?? []
  const file = join(dir, 'hosts.conf')
  writeFileSync(file, hosts.replace('PATRONI', version))
  const folder = join(dir, 'rendered')
  execFileSync('sh', [join(root, 'deploy/cluster/render.sh'), file, folder], text)
  return folder
}

const text = { encoding: 'utf8', stdio: 'pipe' } as const

async function makeToken(url: string): Promise<string> {
  const pool = openPool({ url, connections: 1, applicationName: 'faults' })
  try {
    return (await createToken(pool, { name: 'Edith', role: 'editor', days: 365 })).token
  } finally {
    await pool.close()
  }
}

interface ClusterMachines
  extends Record<'databases' | 'services' | 'edges' | 'backups', Machine[]> {
  readonly create: (name: string, address: string) => Machine
}

class RunningCluster implements Cluster {
  readonly url = `http://${sharedAddress}`
  readonly serviceUrl: string
  databaseUrl = ''
  token = ''
  readonly databases: Machine[]
  readonly services: readonly Machine[]
  readonly edges: readonly Machine[]
  readonly backups: readonly Machine[]
  private readonly create: (name: string, address: string) => Machine

  constructor({ databases, services, edges, backups, create }: ClusterMachines) {
    this.databases = databases
    this.backups = backups
    this.services = services
    this.edges = edges
    this.create = create
    this.serviceUrl = `http://${services[0]?.address}:8000`
  }

  async replace(database: Machine): Promise<Machine> {
    const { name, address } = database
    await database.remove()
    const machine = this.create(name, address)
    this.databases[this.databases.indexOf(database)] = machine
    return machine
  }

  async members(): Promise<Member[]> {
    const errors: unknown[] = []
    for (const { address } of this.databases) {
      try {
        return ((await patroni(address, '/cluster')) as { members: Member[] }).members
      } catch (error) {
        errors.push(error)
      }
    }
    throw new AggregateError(errors, `No Patroni answers: ${errors.join(', ')}`)
  }

  /** Asks each Patroni for itself, because what others know of it may be old. */
  private async leading(): Promise<Machine | undefined> {
    const leads = await Promise.all(
      this.databases.map(async (machine) => {
        const status = await patroni(machine.address, '/primary').catch(() => undefined)
        return status !== undefined && machine
      }),
    )
    const leaders = leads.filter((machine) => machine !== false)
    return leaders.length === 1 ? leaders[0] : undefined
  }

  leader(): Promise<Machine> {
    return until('a leader', () => this.leading(), { limitMs: 120_000, pauseMs: 100 })
  }

  untilOtherLeader(than: Machine): Promise<Machine> {
    return until(
      `another leader than ${than.name}`,
      async () => {
        const members = this.databases.filter((machine) => machine !== than)
        for (const machine of members)
          if (await patroni(machine.address, '/primary').catch(() => undefined)) return machine
        return undefined
      },
      { limitMs: 120_000, pauseMs: 100 },
    )
  }

  standbys(): Promise<{ synchronous: Machine; asynchronous: Machine }> {
    return until(
      'a synchronous standby and another one',
      async () => {
        const members = await this.members()
        const withRole = (role: string) =>
          this.databases.find(({ name }) =>
            members.some((member) => member.name === name && member.role === role),
          )
        const [synchronous, asynchronous] = [withRole('sync_standby'), withRole('replica')]
        return synchronous && asynchronous && { synchronous, asynchronous }
      },
      { limitMs: 120_000, pauseMs: 200 },
    )
  }

  async untilReplicated(): Promise<void> {
    await until(
      'a leader, a synchronous standby and another one that follow it',
      async () => {
        const members = await this.members()
        const roles = members.map(({ role }) => role).sort()
        const timelines = new Set(members.map(({ timeline }) => timeline))
        const followers = members.filter(({ role }) => role !== 'leader')
        const isFine =
          roles.join() === 'leader,replica,sync_standby' &&
          members.every(({ state }) => state === 'running' || state === 'streaming') &&
          timelines.size === 1 &&
          followers.every(({ lag }) => typeof lag === 'number' && lag < 16 << 20)
        if (!isFine) throw new Error(JSON.stringify(members))
        return (await this.leading()) !== undefined
      },
      { limitMs: 300_000, pauseMs: 300 },
    )
  }

  async untilHealthy(): Promise<void> {
    await this.untilReplicated()
    const urls = this.services.map(({ address }) => `http://${address}:8000`)
    for (const url of [...urls, this.url])
      await until(
        `${url} to be ready`,
        async () => {
          const { status, text } = await call(url, 'GET', '/readyz')
          if (status !== 200) throw new Error(text)
          return true
        },
        { limitMs: 300_000, pauseMs: 200 },
      )
    await until(
      'writing through the leader',
      () => withDatabase(this.databaseUrl, (query) => query('select pg_current_wal_lsn()')),
      { pauseMs: 200 },
    )
  }
}

/** Asks a Patroni. Rejects if the status is not 200. */
function patroni(address: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = get(
      { host: address, port: 8008, path, rejectUnauthorized: false, timeout: 2000 },
      (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('error', reject)
        response.on('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`${response.statusCode}`))
          resolve(JSON.parse(body))
        })
      },
    )
    request.on('timeout', () => request.destroy(new Error(`${address} does not answer`)))
    request.on('error', reject)
  })
}
