// npm run links -- [--quick] [parts of names...]
//
// Checks link health where it takes too long for each change: the lives of sources, and simulated
// years with wrong answers and troubles of hosts.

import { runFaults } from '../faults/runner.ts'
import { livesPure, manyTalks, simulatedYears, yearTable } from './simulations.ts'
import { livesThroughWorld, pace } from './through-world.ts'

await runFaults({
  file: import.meta.filename,
  programs: [],
  faults: [livesPure, livesThroughWorld, pace, simulatedYears, manyTalks],
  report: yearTable,
})
