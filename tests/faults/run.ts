// npm run faults -- [cluster] [--quick] [--runs N] [parts of the names of faults...]
//
// Runs each fault against the real service, N times. With `cluster`, runs the faults of a cluster
// from deploy/cluster instead: only as root, on Debian.

import { bulkEditKilled } from './bulk-edit.ts'
import { clockSteps } from './clock.ts'
import { clusterFaults } from './cluster/faults.ts'
import { clusterReport } from './cluster/play.ts'
import { clusterRestored } from './cluster/restore.ts'
import { bitsFlipped, fsyncFails, pagesTorn } from './damage.ts'
import { simulatedDays } from './days.ts'
import { importKilled } from './imports.ts'
import { databaseKilled, serviceKilled } from './kills.ts'
import { cutNetwork, silentNetwork, slowNetwork } from './network.ts'
import { everythingDeleted } from './point-in-time.ts'
import { majorUpgrade } from './postgresql-upgrade.ts'
import { diskFull, logDiskFull, noConnections } from './resources.ts'
import { rollingRestart } from './rolling.ts'
import { runFaults } from './runner.ts'
import { slowConnections } from './slow.ts'

await runFaults({
  file: import.meta.filename,
  programs: [
    { package: 'haproxy', program: 'haproxy' },
    { package: 'faketime', program: 'faketime' },
    { package: 'slowhttptest', program: 'slowhttptest' },
    { package: 'pgbackrest', program: 'pgbackrest' },
    { package: 'strace', program: 'strace' },
    { package: 'iproute2', program: 'ip' },
  ],
  faults: [
    serviceKilled,
    databaseKilled,
    importKilled,
    bulkEditKilled,
    slowNetwork,
    cutNetwork,
    silentNetwork,
    noConnections,
    diskFull,
    logDiskFull,
    fsyncFails,
    bitsFlipped,
    pagesTorn,
    clockSteps,
    simulatedDays,
    rollingRestart,
    everythingDeleted,
    majorUpgrade,
    slowConnections,
  ],
  groups: {
    cluster: {
      programs: [
        { package: 'postgresql-15', program: 'pg_ctlcluster' },
        { package: 'patroni', program: 'patroni' },
        // Libraries of Patroni, which have no program: for etcd, and for its TLS.
        { package: 'python3-etcd', program: '../lib/python3/dist-packages/etcd' },
        { package: 'python3-idna', program: '../lib/python3/dist-packages/idna' },
        { package: 'etcd-server', program: 'etcd' },
        { package: 'etcd-client', program: 'etcdctl' },
        { package: 'haproxy', program: 'haproxy' },
        { package: 'varnish-modules', program: 'varnishd' },
        { package: 'keepalived', program: 'keepalived' },
        { package: 'iptables', program: 'iptables' },
        { package: 'iproute2', program: 'ip' },
        { package: 'curl', program: 'curl' },
        { package: 'pgbackrest', program: 'pgbackrest' },
        { package: 'faketime', program: 'faketime' },
      ],
      faults: [...clusterFaults, clusterRestored],
      withoutTemplate: true,
      report: clusterReport,
    },
  },
})
