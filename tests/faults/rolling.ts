import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { call } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { type Fault, launch, readiness, startDatabase, startFaultService } from './environment.ts'
import { summarize } from './kills.ts'
import { countByStatus, startWorkload } from './workload.ts'

// Two processes behind HAProxy are restarted in turn under load, as in a deployment: no request
// fails.

const haproxy = '/usr/sbin/haproxy'

export const rollingRestart: Fault = {
  name: 'rolling restart behind HAProxy',
  limitS: { quick: 240, full: 600 },
  missing: () => (existsSync(haproxy) ? undefined : 'HAProxy is not installed'),
  async run(environment) {
    const database = await startDatabase(environment)
    // A request must fail because of a restart only, not because the machine stalls for seconds.
    const variables = { DATABASE_URL: database.serviceUrl, ANSWER_SECONDS: '30' }
    const services = [
      await startFaultService(environment, variables),
      await startFaultService(environment, variables),
    ]
    const [first] = services
    if (!first) throw new Error('no service')
    const [front, statusPort] = [await freePort(), await freePort()]
    const ready = await readiness(first.url)
    const config = join(environment.dir, 'haproxy.cfg')
    writeFileSync(
      config,
      configuration({
        front,
        statusPort,
        ready,
        servers: services.map(({ url }) => new URL(url).host),
      }),
    )
    launch(environment, [haproxy, '-db', '-f', config], {
      log: 'haproxy.log',
      variables: { PATH: process.env.PATH },
    })
    await untilUp(statusPort, services.length)

    const workload = await startWorkload({
      url: `http://127.0.0.1:${front}`,
      token: environment.token,
      workers: 24,
      writes: 0.2,
    })
    const { attempts } = workload
    const minRequests = environment.quick ? 2000 : 50_000
    const stops: number[] = []
    while (stops.length < services.length || attempts.length < minRequests)
      for (const service of services) {
        const before = attempts.length
        stops.push(await service.stop())
        await service.start()
        await untilUp(statusPort, services.length)
        await workload.progress(20)
        // Restarts are spread over the load: about ten rounds in the full run.
        const goal = before + minRequests / 20
        await until(`${goal} requests`, () => attempts.length >= goal, { limitMs: 120_000 })
      }
    await workload.stop()
    const failed = attempts.filter(({ status }) => ![200, 201, 412].includes(status))
    const count =
      `${failed.length} of ${attempts.length} requests failed in ${stops.length} restarts ` +
      `(readiness: ${ready})`
    if (failed.length > 0)
      throw new Error(
        `${count}: ${JSON.stringify(countByStatus(failed))}, ` +
          `for example ${JSON.stringify(failed[0])}`,
      )
    const figures = await workload.verify(database.serviceUrl)
    const slowestStop = (Math.max(...stops) / 1000).toFixed(1)
    return `${count}, a stop took ${slowestStop} s at most, ${summarize(figures)}`
  },
}

interface HaproxyOptions {
  front: number
  statusPort: number
  ready: string
  servers: string[]
}

const configuration = ({ front, statusPort, ready, servers }: HaproxyOptions) => `
global
  maxconn 1000
defaults
  mode http
  timeout connect 20s
  timeout client 60s
  timeout server 60s
  timeout check 20s
  # A refused connection is retried on the other server, because nothing was sent. A request that
  # was sent is never repeated.
  retries 3
  option redispatch 1
frontend front
  bind 127.0.0.1:${front}
  default_backend services
backend services
  balance roundrobin
  option httpchk GET ${ready}
  http-check expect status 200
  default-server check inter 250ms fall 2 rise 1
${servers.map((address, number) => `  server s${number} ${address}`).join('\n')}
frontend status
  bind 127.0.0.1:${statusPort}
  stats enable
  stats uri /
`

/** Waits until HAProxy considers this many services available. */
async function untilUp(statusPort: number, count: number): Promise<void> {
  await until(`${count} services behind HAProxy`, async () => {
    const { text } = await call(`http://127.0.0.1:${statusPort}`, 'GET', '/;csv')
    if (text.match(/^services,s\d+,.*,UP,/gm)?.length !== count) throw new Error(text)
    return true
  })
}
