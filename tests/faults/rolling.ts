import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { call } from '../support/harness.ts'
import { told } from './kills.ts'
import {
  type Fault,
  freePort,
  launch,
  readiness,
  startDatabase,
  startFaultService,
} from './stage.ts'
import { countedWrites, startWorkload } from './workload.ts'

// Two processes behind HAProxy, restarted in turn under load, as in a deployment: nobody notices.

const haproxy = '/usr/sbin/haproxy'

export const rollingRestart: Fault = {
  name: 'rolling restart behind HAProxy',
  limitS: { quick: 60, full: 600 },
  missing: () => (existsSync(haproxy) ? undefined : 'HAProxy is not installed'),
  async run(stage) {
    const database = await startDatabase(stage)
    const environment = { DATABASE_URL: database.serviceUrl }
    const services = [
      await startFaultService(stage, environment),
      await startFaultService(stage, environment),
    ]
    const [first] = services
    if (!first) throw new Error('no service')
    const [front, status] = [await freePort(), await freePort()]
    const ready = await readiness(first.url)
    const config = join(stage.dir, 'haproxy.cfg')
    writeFileSync(
      config,
      configuration({
        front,
        status,
        ready,
        servers: services.map(({ url }) => new URL(url).host),
      }),
    )
    launch(stage, [haproxy, '-db', '-f', config], {
      log: 'haproxy.log',
      environment: { PATH: process.env.PATH },
    })
    await allUp(status, services.length)

    const workload = await startWorkload({
      url: `http://127.0.0.1:${front}`,
      token: stage.token,
      workers: 24,
      writes: 0.2,
    })
    const enough = stage.quick ? 2000 : 50_000
    const stops: number[] = []
    while (stops.length < services.length || workload.tries.length < enough)
      for (const service of services) {
        const before = workload.tries.length
        stops.push(await service.stop())
        await service.start()
        await allUp(status, services.length)
        await workload.progress(20)
        // Restarts are spread over the load: about ten rounds in the full run.
        while (workload.tries.length < before + enough / 20) await sleep(10)
      }
    await workload.stop()
    const failed = workload.tries.filter(({ status }) => ![200, 201, 412].includes(status))
    const count = `${failed.length} of ${workload.tries.length} requests failed in ${stops.length} restarts (readiness: ${ready})`
    if (failed.length > 0)
      throw new Error(
        `${count}: ${JSON.stringify(countedWrites(failed))}, such as ${JSON.stringify(failed[0])}`,
      )
    const figures = await workload.verify(database.serviceUrl)
    return `${count}, a stop took ${(Math.max(...stops) / 1000).toFixed(1)} s at most, ${told(figures)}`
  },
}

interface Proxy {
  front: number
  status: number
  ready: string
  servers: string[]
}

const configuration = ({ front, status, ready, servers }: Proxy) => `
global
  maxconn 1000
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 15s
  timeout check 2s
  # A connection that was refused is tried elsewhere: nothing had been sent. A request that was sent is never repeated.
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
  bind 127.0.0.1:${status}
  stats enable
  stats uri /
`

async function allUp(port: number, count: number): Promise<void> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const reply = await call(`http://127.0.0.1:${port}`, 'GET', '/;csv').catch(() => undefined)
    if (reply?.text.match(/^services,s\d+,.*,UP,/gm)?.length === count) return
    if (performance.now() > deadline)
      throw new Error(`HAProxy does not see ${count} services:\n${reply?.text}`)
    await sleep(50)
  }
}
