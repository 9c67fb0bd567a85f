import assert from 'node:assert/strict'
import { globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { call } from '../../support/harness.ts'
import { checkInvariants, withDatabase } from '../../support/invariants.ts'
import { commandsIn } from '../../support/shell-blocks.ts'
import type { Fault } from '../environment.ts'
import { startWorkload } from '../workload.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { switchOver } from './faults.ts'
import type { Machine } from './machine.ts'
import { startMirror } from './play.ts'

// All records of a cluster are deleted by mistake. It goes back to the second before with the
// commands of docs/cluster.md, and its restore drill is run.

export const clusterRestored: Fault = {
  name: 'everything is deleted, the cluster goes back to the second before',
  limitS: { quick: 1200, full: 1200 },
  fullOnly: true,
  missing: () =>
    process.getuid?.() !== 0 || process.env.FAULTS_NAMESPACE === undefined
      ? 'only root can create the machines'
      : undefined,
  async run(environment) {
    const cluster = await startCluster(environment, { hasBackups: true })
    const [vault] = cluster.backups as [Machine]
    const { url, serviceUrl, databaseUrl, token } = cluster
    const workload = await startWorkload({ url, token, workers: 8, staleMs: 1e9, hasProxies: true })
    const mirror = startMirror(environment, serviceUrl)
    const revoked = await makeToken(cluster, 'revoked')
    const kept = await makeToken(cluster, 'kept')
    await workload.progress(1000, 300_000)
    if (!environment.quick) await fillDisk(databaseUrl)
    await vault.install('First backup')
    const [service] = cluster.services as [Machine]
    const doctor = await service.runCommands('talkshelf doctor')
    for (const check of ['Checksums', 'Durability', 'WAL archive', 'Standbys'])
      assert.match(doctor, new RegExp(`^ok +${check} `, 'm'))
    await workload.progress(1000, 300_000)
    await workload.stop()

    const { moment, before } = await withDatabase(databaseUrl, async (query) => ({
      before: await contentOf(cluster),
      moment: String((await query('select clock_timestamp()::text as moment'))[0]?.moment),
    }))
    const later = await startWorkload({ url, token, workers: 8, staleMs: 1e9, hasProxies: true })
    await later.progress(300, 300_000)
    await later.stop()
    await withDatabase(databaseUrl, async (query) => {
      await query('truncate video cascade')
      await query(`update token set revoked = now() where id = ${revoked.id}`)
    })
    await mirror.compare()

    const { seconds, bytes } = await goBack(cluster, moment)
    assert.equal(await contentOf(cluster), before, 'records differ from those of that second')
    const { acknowledged } = await workload.verify(databaseUrl)
    await checkInvariants(databaseUrl)
    const statusOf = async ({ secret }: { secret: string }) =>
      (await call(serviceUrl, 'GET', '/api/v2/import', { token: secret })).status
    assert.equal(await statusOf(revoked), 401, 'a revoked token works again')
    assert.equal(await statusOf(kept), 200)

    // Other changes with the numbers that the mirror has seen.
    const again = await startWorkload({ url, token, workers: 8, staleMs: 1e9, hasProxies: true })
    await again.progress(300, 300_000)
    await again.stop()
    const files = await mirror.compare()
    const log = readFileSync(join(environment.dir, 'mirror.log'), 'utf8')
    assert.match(log, /The archive was restored from a backup/)

    // The settings of the restore must not stop a standby that it becomes.
    await switchOver(cluster)
    await cluster.untilHealthy()
    const drill = await drillTwice(cluster, vault)
    return (
      `back at ${moment}: every record as it was, ${acknowledged} acknowledged writes present; ` +
      `${seconds.toFixed(1)} s for ${(bytes / 1e6).toFixed(0)} MB ` +
      `(${((seconds * 1e9) / bytes).toFixed(0)} s per GB), revoked token refused, ` +
      `mirror of ${files} files noticed and is equal. Drill: ${drill}`
    )
  },
}

/** Makes the database as large as that of 100,000 records: 1 GB. */
const fillDisk = (databaseUrl: string) =>
  withDatabase(databaseUrl, (query) =>
    query(`
      create table filler as
      select n, md5(n::text) || md5(n || 'b') || md5(n || 'c') || md5(n || 'd') as text
      from generate_series(1, 6000000) as n`),
  )

async function makeToken({ databaseUrl, services }: Cluster, name: string) {
  const [service] = services as [Machine]
  const output = await service.runCommands(
    `talkshelf token create --name ${name} --role editor --days 9`,
  )
  const [secret] = /^talkshelf_\w{49}$/m.exec(output) ?? assert.fail(output)
  const [row] = await withDatabase(databaseUrl, (query) =>
    query(`select id from token where name = '${name}'`),
  )
  return { secret, id: Number(row?.id) }
}

/** Returns all records, also drafts, as the archive exports them. */
async function contentOf({ serviceUrl, token }: Cluster): Promise<string> {
  const { status, text } = await call(serviceUrl, 'GET', '/api/v2/export.ndjson', { token })
  assert.equal(status, 200)
  const lines = text.trim().split('\n')
  assert.ok(lines.length > 8, `an export of ${lines.length} lines`)
  // The first line has the time of the export.
  return lines.slice(1).join('\n')
}

/** Follows "Restore" in docs/cluster.md. */
async function goBack(cluster: Cluster, moment: string) {
  const commands = commandsIn('docs/cluster.md', 'Restore')
  assert.equal(commands.length, 9)
  const [
    save = '',
    stopService = '',
    stopDatabase = '',
    restore = '',
    giveBack = '',
    copy = '',
    restrict = '',
    startService = '',
    backup = '',
  ] = commands
  const [service] = cluster.services as [Machine]
  const [vault] = cluster.backups as [Machine]
  const leader = await cluster.leader()
  const standbys = cluster.databases.filter((machine) => machine !== leader)
  await service.runCommands(save)
  for (const machine of cluster.services) await machine.runCommands(stopService)
  for (const machine of [...standbys, leader]) await machine.runCommands(stopDatabase)
  const startedMs = performance.now()
  const example = '2026-11-15 10:45:41+00'
  assert.ok(restore.includes(example))
  await leader.runCommands(restore.replace(example, moment))
  const seconds = (performance.now() - startedMs) / 1000
  await leader.runCommands(giveBack)
  await cluster.leader()
  for (const machine of standbys) await machine.runCommands(copy)
  await cluster.untilReplicated()
  await service.runCommands(restrict)
  for (const machine of cluster.services) await machine.runCommands(startService)
  await cluster.untilHealthy()
  await vault.runCommands(backup)
  const [row] = await withDatabase(cluster.databaseUrl, (query) =>
    query('select sum(pg_database_size(oid))::float8 as bytes from pg_database'),
  )
  return { seconds, bytes: Number(row?.bytes) }
}

const drillCommand = '/etc/talkshelf/restore-drill.sh'

/** Runs the restore drill, and again without a part of the log. Returns what the first one printed. */
async function drillTwice(cluster: Cluster, vault: Machine): Promise<string> {
  const output = await vault.runCommands(drillCommand)
  const [report] = /^\d+ talks, .*$/m.exec(output) ?? []
  assert.ok(report, output)
  const segments = () =>
    globSync('var/lib/pgbackrest/archive/talkshelf/15-1/*/*', { cwd: vault.root })
      .filter((path) => /[/][0-9A-F]{24}-/.test(path))
      .sort()
  const leader = await cluster.leader()
  for (let count = 0; count < 3; count++) {
    await withDatabase(cluster.databaseUrl, (query) =>
      query('update maintenance set finished = finished'),
    )
    await leader.runCommands("runuser -u postgres -- psql -Atc 'select pg_switch_wal()'")
  }
  const before = segments().length
  await leader.runCommands('runuser -u postgres -- pgbackrest --stanza=talkshelf check')
  const [missing] = segments().slice(-2)
  assert.ok(missing && segments().length > before, segments().join('\n'))
  rmSync(join(vault.root, missing))
  await assert.rejects(vault.runCommands(drillCommand), /one in between is missing/)
  return report
}
