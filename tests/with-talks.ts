// npm run with-talks -- FILE COMMAND...
//
// Imports the talks of a file once, and runs commands that would otherwise each import them: they
// use the database of TALKS_DATABASE_URL.

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
    const startedMs = performance.now()
    const child = spawn('sh', ['-c', command], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, TALKS_DATABASE_URL: talks.url },
    })
    const [code] = await once(child, 'exit')
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
    const result = code === 0 ? '' : `failed with ${code} after `
    console.log(`=== ${command}: ${result}${seconds} s`)
    if (code !== 0) process.exitCode = 1
  }
} finally {
  await talks.stop()
}
