import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'

// The whole app in a process of its own, like `talkshelf serve`, but it may fetch thumbnails from
// the image server of the test, whose port is the argument.

const config = readConfig(process.env)
const times = timeoutsFor(config.ANSWER_SECONDS)
const pool = openPool({
  url: config.DATABASE_URL,
  connections: config.DATABASE_CONNECTIONS,
  applicationName: 'bombs',
  times,
})
const imagePort = Number(process.argv[2])
const app = createApp(
  config,
  pool,
  { level: config.LOG_LEVEL },
  {
    ports: [imagePort],
    isAllowed: (ip, port) => ip === '127.0.0.1' && port === imagePort,
  },
)
process.once('SIGTERM', async () => {
  await app.close()
  await pool.close()
})
await app.listen({ host: '127.0.0.1', port: 0 })
