import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Runs the black-box hardening check against the real command with its usual timeouts.

const script = fileURLToPath(new URL('../../../shared/conformance/hardening.mjs', import.meta.url))
const skip = existsSync(script) ? false : 'the hardening check is not at hand'

/**
 * ANSWER_SECONDS of each attempt: the default, and more if checks failed. Some checks measure
 * response times, and the machine may be busy or stall.
 */
const attempts = ['3', '9', '27']

test('passes the hardening check', { skip, timeout: 590_000 }, async (t) => {
  const [first = '', ...others] = attempts
  let output = await check(t, { ANSWER_SECONDS: first })
  for (const ANSWER_SECONDS of others) {
    const failed = failedIn(output).join(',')
    if (failed === '') break
    t.diagnostic(`again: ${failed}`)
    output = await check(t, { ANSWER_SECONDS }, '--only', failed)
  }
  assert.match(output, /^[1-9]\d* passed, 0 failed/m)
})

test('counts every request against the limit of its IP address', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const environment = { ANSWER_SECONDS: '3', POINTS_PER_MINUTE: '20' }
  assert.match(await check(t, environment), /^1 passed, 0 failed/m)
})

/** Runs the checks against a server and a database of their own, and returns what they print. */
async function check(
  t: TestContext,
  environment: Record<string, string>,
  ...args: string[]
): Promise<string> {
  const database = await freshDatabase(t)
  const DATABASE_URL = database.url
  const token = async (role: string) => {
    const { stdout } = await runCommand(['token', 'create', '--name', role, '--role', role], {
      DATABASE_URL,
    })
    return stdout.trim()
  }
  const tokens = [await token('editor'), await token('admin')]
  const server = await spawnServer({ DATABASE_URL, ...environment })
  const child = spawn(process.execPath, [script, server.url, ...tokens, ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  await once(child, 'close')
  for (const line of output.trim().split('\n')) if (!/^(ok|skip) /.test(line)) t.diagnostic(line)
  await server.stop()
  await checkInvariants(database.url)
  return output
}

function failedIn(output: string): string[] {
  return [...output.matchAll(/^FAIL ([\w-]+):/gm)].map(([, name = '']) => name)
}
