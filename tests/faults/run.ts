// npm run faults -- [--quick] [parts of the names of faults...]
//
// Runs each fault against the real service.

import { bulkEditKilled } from './bulk-edit.ts'
import { clockSteps } from './clock.ts'
import { simulatedDays } from './days.ts'
import { importKilled } from './imports.ts'
import { databaseKilled, serviceKilled } from './kills.ts'
import { cutNetwork, silentNetwork, slowNetwork } from './network.ts'
import { everythingDeleted } from './point-in-time.ts'
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
    clockSteps,
    simulatedDays,
    rollingRestart,
    everythingDeleted,
    slowConnections,
  ],
})
