import type { Db } from '../platform/db/db.ts'
import type { MountPage } from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import { readCanary } from './queries.ts'

const canaryPath = '/edge/canary'

/** Mounts the canary, which the purger changes and reads through the edge. */
export function edgeRoutes(mountPage: MountPage, db: Db): void {
  mountPage(
    canaryPath,
    async () => ({
      body: (await readCanary(db)).canary,
      headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' },
      edge: () => ({ seconds: 86_400, keys: ['canary'] }),
    }),
    { cost: requestCosts.read },
  )
}

/** Reads the canary at a URL of the archive. */
export async function fetchCanary(url: string): Promise<string> {
  const response = await fetch(url + canaryPath, {
    redirect: 'error',
    signal: AbortSignal.timeout(5000),
  })
  let text = ''
  // Leaving the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('latin1')
    if (text.length > 100) break
  }
  if (!response.ok) throw new Error(`The edge answered the canary with ${response.status}`)
  return text
}
