import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Runs the conformance check of the v2 API against a server started with the real command. The
// check is a separate script that knows nothing of this code. It is kept outside of the repository,
// and the tests are skipped without it.

const script = fileURLToPath(new URL('../../../shared/conformance/v2.mjs', import.meta.url))
const skip = existsSync(script) ? false : 'the conformance check is not available'

for (const path of ['', '/archive'])
  test(`passes the conformance check${path && ` when mounted under ${path}`}`, {
    skip,
    timeout: 300_000,
  }, async (t) => {
    const database = await freshDatabase(t)
    const { stdout: token } = await runCommand(
      ['token', 'create', '--name', 'conformance', '--role', 'editor'],
      {
        DATABASE_URL: database.url,
      },
    )
    const server = await spawnServer({
      DATABASE_URL: database.url,
      ...(path && { PUBLIC_URL: `https://talks.example.org${path}` }),
    })
    const check = spawn(process.execPath, [script, server.url + path, token.trim()])
    let output = ''
    for (const stream of [check.stdout, check.stderr]) stream.on('data', (data) => (output += data))
    const [code] = await once(check, 'close')
    const failures = output.split('\n').filter((line) => !line.startsWith('ok '))
    assert.equal(code, 0, failures.join('\n'))
    assert.match(output, /^\d{2,} passed, 0 failed$/m)
    t.diagnostic(output.trim().split('\n').at(-1) ?? '')
    await server.stop()
    await checkInvariants(database.url)
  })
