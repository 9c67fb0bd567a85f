// What `npm run with-talks -- FILE COMMAND...` runs. Loads the talks of a file once, and runs
// commands that would each load them for itself: what they find in TALKS_DATABASE_URL they load no
// more.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from './support/harness.ts'
import { loadTalks } from './support/talks.ts'

const [file, ...commands] = process.argv.slice(2)
if (file === undefined || commands.length === 0) {
  console.error('Give a file of talks and the commands: npm run with-talks -- FILE COMMAND...')
  process.exit(2)
}
const talks = await loadTalks(file)
try {
  for (const command of commands) {
    console.log(`\n=== ${command}`)
    const beganMs = performance.now()
    const child = spawn('sh', ['-c', command], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, TALKS_DATABASE_URL: talks.url },
    })
    const [code] = await once(child, 'exit')
    console.log(
      `=== ${command}: ${code === 0 ? '' : `failed with ${code} after `}${((performance.now() - beganMs) / 1000).toFixed(0)} s`,
    )
    if (code === 0) continue
    process.exitCode = 1
    break
  }
} finally {
  await talks.stop()
}
