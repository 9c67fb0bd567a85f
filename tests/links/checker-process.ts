import { startLinkChecks } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { connectWorld } from './remote-world.ts'

// node checker-process.ts DATABASE_URL WORLD: checks links until it is killed, as a server does.
// Prints the verdict of each check.

const [url = '', address = ''] = process.argv.slice(2)
const pool = openPool({ url, connections: 5, applicationName: 'links' })
startLinkChecks(pool, {
  everyMs: 200,
  userAgent: () => 'Talkshelf/0 (+https://talks.example)',
  youtubeKey: undefined,
  guard: connectWorld(JSON.parse(address)).guard,
  // Shorter than some gaps: then several processes check the same host.
  leaseSeconds: 3,
  onChecked: (host, verdict) => console.log(`${host} ${verdict}`),
  onError: (error) => console.error(error),
})
