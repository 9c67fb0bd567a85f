import assert from 'node:assert/strict'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, category } from '../../support/harness.ts'
import { commandsIn } from '../../support/shell-blocks.ts'
import { until } from '../../support/until.ts'
import type { Fault } from '../environment.ts'
import { fill, mountDiskAt } from '../resources.ts'
import { responsesDuring, type Workload } from '../workload.ts'
import type { Cluster } from './cluster.ts'
import { startLink } from './link.ts'
import { descendants, type Machine, sendSignal } from './machine.ts'
import { type ClusterFault, clusterFault, type Scene } from './play.ts'

// What can go wrong in a cluster, and what must happen then.

/** Writes may stop for this long if another machine has to lead. */
const gapGoalS = 14
/** A former leader that only its peers cannot reach may have more log, and the others wait. */
const peersGapGoalS = 22
/** How long a fault goes on where nothing else tells. */
const faultMs = 12_000

function standbyKilled(kind: 'synchronous' | 'asynchronous'): ClusterFault {
  return {
    name: `${kind} standby killed`,
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const standby = (await cluster.standbys())[kind]
      standby.kill()
      await goesOn(workload)
      await standby.boot()
    },
  }
}

const machines: readonly ClusterFault[] = [
  {
    name: 'leader machine killed',
    isQuick: true,
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      leader.kill()
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      await leader.boot()
    },
  },
  {
    name: 'leader machine frozen',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      leader.signal('SIGSTOP')
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      leader.signal('SIGCONT')
    },
  },
  standbyKilled('synchronous'),
  standbyKilled('asynchronous'),
  {
    name: 'both standbys killed',
    isQuick: true,
    async strike({ cluster, workload }) {
      const standbys = Object.values(await cluster.standbys())
      for (const machine of standbys) machine.kill()
      await writesMustStop(workload)
      for (const machine of standbys) await machine.boot()
    },
  },
  {
    name: 'leader killed a second after the synchronous standby',
    async strike({ cluster }) {
      const leader = await cluster.leader()
      const { synchronous } = await cluster.standbys()
      synchronous.kill()
      await sleep(1000)
      leader.kill()
      await sleep(faultMs)
      await leader.boot()
      await synchronous.boot()
    },
  },
  {
    name: 'service machine killed',
    isQuick: true,
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const machine = cluster.services[1] as Machine
      machine.kill()
      await goesOn(workload)
      await machine.boot()
    },
  },
  {
    name: 'edge machine killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const machine = await edgeWithAddress(cluster)
      machine.kill()
      await goesOn(workload)
      await machine.boot()
    },
  },
  {
    // The other Varnish takes over when nobody can answer it.
    name: 'leader and edge machine killed at once',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const machines = [await cluster.leader(), await edgeWithAddress(cluster)] as const
      for (const machine of machines) machine.kill()
      await cluster.untilOtherLeader(machines[0])
      await goesOn(workload)
      for (const machine of machines) await machine.boot()
    },
  },
]

const programs: readonly ClusterFault[] = [
  {
    // Etcd has its quorum, so the leader stays.
    name: 'PostgreSQL of both standbys killed',
    async strike({ cluster, workload }) {
      const standbys = Object.values(await cluster.standbys())
      for (const machine of standbys) {
        const pid = postmaster(machine)
        machine.killUnit('patroni', { stays: true })
        // It is no child of Patroni.
        for (const each of [pid, ...descendants(pid)]) sendSignal(each, 'SIGKILL')
      }
      await writesMustStop(workload)
      const [service] = cluster.services as [Machine]
      const { stdout } = service.try('/usr/local/sbin/talkshelf', 'doctor')
      assert.match(stdout, /^ERROR +Standbys +No synchronous standby: writes wait/m)
      for (const machine of standbys) await machine.start('patroni')
    },
  },
  {
    name: 'postmaster of the leader killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      sendSignal(postmaster(leader), 'SIGKILL')
      await goesOn(workload)
    },
  },
  {
    name: 'PostgreSQL of the leader killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const pid = postmaster(await cluster.leader())
      for (const each of [pid, ...descendants(pid)]) sendSignal(each, 'SIGKILL')
      await goesOn(workload)
    },
  },
  {
    // PostgreSQL goes on without it, and must not acknowledge what the new leader does not have.
    name: 'Patroni of the leader killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      leader.killMain('patroni', { stays: true })
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      await leader.start('patroni')
    },
  },
  {
    name: 'etcd of two machines killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      const two = cluster.databases.filter((machine) => machine !== leader)
      for (const machine of two) machine.killUnit('etcd', { stays: true })
      // Longer than the lock of the leader lives.
      await sleep(faultMs)
      await goesOn(workload)
      for (const machine of two) await machine.start('etcd')
    },
  },
  {
    name: 'leader of etcd killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const machine = await until('the leader of etcd', () =>
        cluster.databases.find((each) => leadsEtcd(each)),
      )
      machine.killUnit('etcd', { stays: true })
      await sleep(faultMs)
      await goesOn(workload)
      await machine.start('etcd')
    },
  },
  {
    name: 'HAProxy killed on a service machine and on the edge',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const edge = await edgeWithAddress(cluster)
      for (const machine of [cluster.services[0] as Machine, edge]) {
        machine.killUnit('haproxy')
        await goesOn(workload)
      }
    },
  },
  {
    name: 'Varnish killed',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const edge = await edgeWithAddress(cluster)
      edge.killUnit('varnish')
      await goesOn(workload)
    },
  },
]

const networks: readonly ClusterFault[] = [
  {
    name: 'leader cut off from all',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      for (const chain of ['INPUT', 'OUTPUT'])
        leader.iptables('-A', chain, chain === 'INPUT' ? '-i' : '-o', 'eth0', '-j', 'DROP')
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      leader.iptables('-F')
    },
  },
  {
    name: 'leader cut off from its peers',
    isQuick: true,
    goalS: peersGapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      cutFromPeers(cluster, leader)
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      leader.iptables('-F')
    },
  },
  {
    name: 'leader cut off from its peers, etcd heals first',
    goalS: peersGapGoalS,
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      cutFromPeers(cluster, leader)
      await cluster.untilOtherLeader(leader)
      for (const chain of ['INPUT', 'OUTPUT'])
        for (const direction of ['--dport', '--sport'])
          leader.iptables('-I', chain, '-p', 'tcp', direction, '2379:2380', '-j', 'ACCEPT')
      await sleep(9000)
      await goesOn(workload)
      leader.iptables('-F')
    },
  },
  {
    name: 'a fifth of the packets lost',
    async strike({ cluster, workload }) {
      const rule = ['INPUT', '-i', 'eth0', '-m', 'statistic', '--mode', 'random']
      for (const machine of cluster.databases)
        machine.iptables('-A', ...rule, '--probability', '0.2', '-j', 'DROP')
      await sleep(faultMs)
      for (const machine of cluster.databases) machine.iptables('-F')
      await goesOn(workload)
    },
  },
  {
    name: 'network of the leader slow (300 ms each way)',
    async strike({ environment, cluster, workload }) {
      const leader = await cluster.leader()
      const link = await startLink(environment, leader, { host: leader.address, port: 5432 })
      const rule = ['PREROUTING', '-i', 'eth0', '-p', 'tcp', '--dport', '5432', '-j', 'REDIRECT']
      const toLink = [...rule, '--to-ports', String(link.port)]
      link.delay(300)
      leader.iptables('-t', 'nat', '-A', ...toLink)
      // Only new connections go this way.
      disconnect(leader)
      await sleep(faultMs)
      leader.iptables('-t', 'nat', '-D', ...toLink)
      link.delay(0)
      disconnect(leader)
      await goesOn(workload)
    },
  },
]

/** The disks that `options` mounted, of the scene that is played. */
let disks: { machine: Machine; path: string }[] = []

const disksAndClocks: readonly ClusterFault[] = [
  {
    name: 'disk of etcd full on the leader',
    goalS: gapGoalS,
    options: (environment) => ({
      prepare: (machine) => mountSmallDisk(environment, machine, 'var/lib/etcd', 'etcd', 400),
    }),
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      const ballast = fillDisk(leader)
      await sleep(faultMs)
      await goesOn(workload)
      rmSync(ballast)
    },
  },
  {
    name: 'disk of the write-ahead log full on the leader',
    goalS: gapGoalS,
    options: (environment) => ({
      prepare: (machine) =>
        mountSmallDisk(environment, machine, 'var/lib/postgresql', 'postgres', 1500),
    }),
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      const ballast = fillDisk(leader)
      await until(
        'PostgreSQL to stop, because it cannot write its log',
        () => {
          leader.try(...psql('select pg_switch_wal()'))
          return readPostgresLog(leader).includes('PANIC')
        },
        { limitMs: 120_000, pauseMs: 200 },
      )
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      rmSync(ballast)
    },
  },
  {
    name: 'clock of the leader steps (+2 h, -2 h)',
    goalS: gapGoalS,
    options: () => ({ prepare: preparePostgresClock }),
    async strike({ cluster, workload }) {
      const leader = await cluster.leader()
      for (const step of ['+2h', '-2h', '+0']) {
        setClock(leader, step)
        await until(`the clock of the leader to step to ${step}`, () => {
          const { stdout } = leader.try(
            ...psql('select extract(epoch from clock_timestamp()) * 1000'),
          )
          const hours = (Number(stdout) - Date.now()) / 3_600_000
          return stdout !== '' && Math.abs(hours - Number.parseInt(step, 10)) < 0.1
        })
        await goesOn(workload)
      }
    },
  },
  {
    name: 'clock of a service machine steps (+2 h, -2 h)',
    goalS: gapGoalS,
    options: () => ({
      variables: (name) => (name.startsWith('web') ? fakeTime : {}),
      prepare: (machine) => setClock(machine, '+0'),
    }),
    async strike({ cluster, workload }) {
      const machine = cluster.services[0] as Machine
      for (const step of ['+2h', '-2h', '+0']) {
        setClock(machine, step)
        await until(`the clock of the service to step to ${step}`, async () => {
          const { headers } = await call(cluster.serviceUrl, 'GET', '/healthz')
          const hours = (Date.parse(String(headers.date)) - Date.now()) / 3_600_000
          return Math.abs(hours - Number.parseInt(step, 10)) < 0.1
        })
        await goesOn(workload)
      }
    },
  },
]

const operations: readonly ClusterFault[] = [
  {
    name: 'switchover',
    isQuick: true,
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      await switchOver(cluster)
      await goesOn(workload)
    },
  },
  {
    name: 'rolling restarts',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      for (const machine of cluster.services) {
        await machine.restart('talkshelf')
        await cluster.untilHealthy()
        await goesOn(workload)
      }
      const leader = await cluster.leader()
      for (const machine of cluster.databases) {
        if (machine === leader) continue
        await machine.restart('patroni')
        await cluster.untilHealthy()
        await goesOn(workload)
      }
      await switchOver(cluster)
      await leader.restart('patroni')
      await cluster.untilHealthy()
      await goesOn(workload)
    },
  },
  {
    name: 'leader machine replaced by a new one',
    goalS: gapGoalS,
    async strike({ cluster, workload }) {
      const lost = await cluster.leader()
      lost.kill()
      const leader = await cluster.untilOtherLeader(lost)
      await goesOn(workload)
      const [forget = '', prepare = ''] = commandsIn('docs/cluster.md', 'Replace a host')
      const example = 'lost=node3 address=10.0.0.13'
      assert.ok(forget.includes(example))
      const names = `lost=${lost.name} address=${lost.address}`
      await leader.runCommands(forget.replace(example, names))
      const machine = await cluster.replace(lost)
      await machine.install('# Install')
      await machine.runCommands(prepare)
      await machine.install('PostgreSQL')
      await cluster.untilHealthy()
      await goesOn(workload)
    },
  },
  {
    name: 'leader machine killed amid an import and a rename',
    goalS: gapGoalS,
    async strike(scene) {
      const { cluster, workload } = scene
      const finished = await startImportAndRename(scene)
      const leader = await cluster.leader()
      leader.kill()
      await cluster.untilOtherLeader(leader)
      await goesOn(workload)
      await leader.boot()
      await cluster.untilHealthy()
      await finished()
    },
  },
]

export const clusterFaults: readonly Fault[] = [
  ...machines,
  ...programs,
  ...networks,
  ...disksAndClocks,
  ...operations,
].map(clusterFault)

/** Waits for writes after the fault. */
const goesOn = (workload: Workload) => workload.progress(50, 120_000)

/** Waits until no write has been acknowledged for three seconds; then none may be. */
async function writesMustStop(workload: Workload): Promise<void> {
  const from = performance.now()
  let [last, since] = [workload.acknowledged(), from]
  await until(
    'writes to stop',
    () => {
      if (workload.acknowledged() !== last) {
        last = workload.acknowledged()
        since = performance.now()
      }
      return performance.now() - since > 3000
    },
    { limitMs: 60_000 },
  )
  await sleep(faultMs / 2)
  assert.equal(workload.acknowledged(), last, 'a write was acknowledged without a standby')
  const { statuses } = responsesDuring(workload, from, performance.now(), 'PATCH')
  assert.ok(statuses[503], `writes were answered ${JSON.stringify(statuses)}, not with 503`)
}

/** Returns the edge machine that has the shared address. */
const edgeWithAddress = (cluster: Cluster) =>
  until('an edge machine to have the shared address', () =>
    cluster.edges.find((machine) => machine.hasSharedAddress()),
  )

function postmaster(machine: Machine): number {
  const file = join(machine.root, 'var/lib/postgresql/15/talkshelf/postmaster.pid')
  return Number(readFileSync(file, 'utf8').split('\n')[0])
}

const tls = [
  '--cacert=/etc/talkshelf/ca.crt',
  '--cert=/etc/etcd/host.crt',
  '--key=/etc/etcd/host.key',
]

function leadsEtcd(machine: Machine): boolean {
  const endpoint = `--endpoints=https://${machine.address}:2379`
  const status = ['etcdctl', ...tls, endpoint, 'endpoint', 'status', '--write-out=json']
  const { stdout } = machine.try('env', 'ETCDCTL_API=3', ...status)
  const [entry] = JSON.parse(stdout || '[]') as {
    Status: { leader: number; header: { member_id: number } }
  }[]
  return entry !== undefined && entry.Status.leader === entry.Status.header.member_id
}

function cutFromPeers(cluster: Cluster, leader: Machine): void {
  for (const { address } of cluster.databases)
    if (address !== leader.address) {
      leader.iptables('-A', 'INPUT', '-s', address, '-j', 'DROP')
      leader.iptables('-A', 'OUTPUT', '-d', address, '-j', 'DROP')
    }
}

const psql = (statement: string) =>
  ['runuser', '-u', 'postgres', '--', 'psql', '-Atc', statement] as const

/** Ends the connections of clients and standbys. */
function disconnect(machine: Machine): void {
  machine.run(
    ...psql(`
      select count(pg_terminate_backend(pid))
      from pg_stat_activity
      where client_addr is not null and pid <> pg_backend_pid()`),
  )
}

/** Moves the leader to the synchronous standby. */
export async function switchOver(cluster: Cluster): Promise<void> {
  const leader = await cluster.leader()
  const { synchronous } = await cluster.standbys()
  leader.run(
    ...['patronictl', '-c', '/etc/patroni/config.yml', 'switchover', '--force'],
    ...['--master', leader.name, '--candidate', synchronous.name],
  )
  await cluster.untilOtherLeader(leader)
}

function mountSmallDisk(
  environment: Scene['environment'],
  machine: Machine,
  path: string,
  user: string,
  megabytes: number,
): void {
  if (!machine.name.startsWith('data')) return
  mountDiskAt(environment, join(machine.root, path), megabytes, 16_384)
  machine.chown(user, path)
  disks = [...disks.filter((disk) => disk.machine.name !== machine.name), { machine, path }]
}

function fillDisk(machine: Machine): string {
  const disk = disks.find((each) => each.machine === machine)
  assert.ok(disk, `${machine.name} has no small disk`)
  return fill(join(machine.root, disk.path))
}

/** Patroni prints what PostgreSQL prints. */
const readPostgresLog = (machine: Machine) =>
  readFileSync(join(machine.root, '../../..', `${machine.name}-patroni.log`), 'utf8')

const [library = ''] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
const clockFile = 'run/faketime/clock'

const fakeTime: Record<string, string> = {
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: `/${clockFile}`,
  FAKETIME_NO_CACHE: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
}

/**
 * Makes PostgreSQL of a machine read its own clock. Patroni keeps the right one, because it cannot
 * sleep with this library.
 */
function preparePostgresClock(machine: Machine): void {
  if (!machine.name.startsWith('data')) return
  setClock(machine, '+0')
  const program = 'usr/lib/postgresql/15/bin/postgres'
  renameSync(join(machine.root, program), join(machine.root, `${program}.real`))
  const variables = Object.entries(fakeTime).map(([name, value]) => `${name}=${value}`)
  const script = `#!/bin/sh\nexec env ${variables.join(' ')} /${program}.real "$@"\n`
  writeFileSync(join(machine.root, program), script, { mode: 0o755 })
}

function setClock(machine: Machine, step: string): void {
  mkdirSync(join(machine.root, 'run/faketime'), { recursive: true })
  writeFileSync(join(machine.root, clockFile), step)
}

/**
 * Starts an import of new talks and a rename of a speaker who has many. Returns a function that
 * waits until both are complete, and checks them.
 */
async function startImportAndRename({ cluster }: Scene): Promise<() => Promise<void>> {
  const { token } = cluster
  const post = async (path: string, body: object, method = 'POST') => {
    const reply = await call(cluster.url, method, `/api/v2/${path}`, { token, body })
    assert.ok(reply.status < 300, reply.text)
    return reply.json
  }
  const talks = (word: string, count: number) => {
    const lines = Array.from(
      { length: count },
      (_, number) => `${word}-${number},${word} talk ${number},${word} Speaker,${category}`,
    )
    return `key,title,speakers,event\n${lines.join('\n')}\n`
  }
  const get = async (path: string) =>
    (await call(cluster.serviceUrl, 'GET', `/api/v2/${path}`, { token })).json
  const hasState = (id: number, state: string) =>
    until(`import ${id} to be ${state}`, async () => (await get(`import/${id}`)).state === state, {
      limitMs: 180_000,
      pauseMs: 200,
    })
  const begin = async (word: string, count: number) => {
    const { id } = await post('import', { text: talks(word, count) })
    await hasState(id, 'planned')
    await post(`import/${id}/apply`, {})
    return id as number
  }
  const before = await begin('Before', 400)
  await hasState(before, 'applied')
  const amid = await begin('Amid', 600)
  await post('speaker/before-speaker', { name: 'Later Speaker' }, 'PATCH')
  return async () => {
    await hasState(amid, 'applied')
    await until(
      'the rename to reach all talks',
      async () => (await get('speaker/later-speaker')).talks === 400,
      { limitMs: 120_000, pauseMs: 300 },
    )
    assert.equal((await get('speaker/amid-speaker')).talks, 600, 'each talk was imported once')
  }
}
