// npm run follow -- [--quick] [parts of names...]
//
// Proves what followers of the archive rely on, with real parts: the change feed and webhooks
// under concurrent writers and kills.

import { runFaults } from '../faults/runner.ts'
import { feedUnderFaults, feedWriterCost } from './feed.ts'
import { webhooksUnderFaults } from './webhooks.ts'

await runFaults({
  file: import.meta.filename,
  programs: [{ package: 'iproute2', program: 'ip' }],
  faults: [feedUnderFaults, feedWriterCost, webhooksUnderFaults],
})
