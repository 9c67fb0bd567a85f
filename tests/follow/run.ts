// npm run follow -- [--quick] [parts of names...]
//
// Proves what followers of the archive rely on, with real parts: the change feed under concurrent
// writers and kills, streams of it with many clients, webhooks, mirrors, and Varnish that is purged
// after changes.

import { runFaults } from '../faults/runner.ts'
import { edgeOriginDead, edgePurgerCutOff, edgeStaleness } from './edge.ts'
import { feedUnderFaults, feedWriterCost } from './feed.ts'
import { mirrorUnderKills } from './mirror.ts'
import { manyStreams } from './streams.ts'
import { webhooksUnderFaults } from './webhooks.ts'

await runFaults({
  file: import.meta.filename,
  programs: [
    { package: 'iproute2', program: 'ip' },
    // It depends on varnish.
    { package: 'varnish-modules', program: 'varnishd' },
  ],
  faults: [
    feedUnderFaults,
    feedWriterCost,
    manyStreams,
    webhooksUnderFaults,
    mirrorUnderKills,
    edgeStaleness,
    edgePurgerCutOff,
    edgeOriginDead,
  ],
})
