import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { root } from './harness.ts'

// Starts the OpenID Connect provider of tests, and signs in there as a browser would.

/** Starts a provider that ends with the test file, unless it is stopped before. */
export async function startProvider(clientSecret: string, redirectUrl: string, port = '0') {
  const child = spawn(
    process.execPath,
    ['--no-warnings', 'tests/support/openid-server.ts', clientSecret, redirectUrl, port],
    { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const [issuer] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  after(stop)
  return {
    issuer,
    process: child,
    stop,
    /** Sets what the next ID tokens say. Without tampering they say the truth. */
    async tamper(tampering: object): Promise<void> {
      const body = JSON.stringify(tampering)
      const { status } = await fetch(`${issuer}/tamper`, { method: 'POST', body })
      assert.equal(status, 204)
    },
    /** Signs in at the provider. Returns the path and query to which it redirects the browser. */
    async signIn(authorizationUrl: string, account: string): Promise<string> {
      const cookies = new Map<string, string>()
      let url = new URL(authorizationUrl)
      url.searchParams.set('login_hint', account)
      for (let step = 1; url.origin === issuer; step++) {
        assert.ok(step <= 10, `too many redirects: ${url}`)
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const reply = await fetch(url, { redirect: 'manual', headers: { cookie } })
        for (const set of reply.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
          cookies.set(name, value)
        }
        const location = reply.headers.get('location')
        assert.ok(location, `${reply.status} ${url}: ${await reply.text()}`)
        url = new URL(location, url)
      }
      return url.pathname + url.search
    },
  }
}
