import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Finds a free port below the range of ephemeral ports, so that no connection takes it while a
 * killed program is restarted.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false)
    if (isFree) await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
}
