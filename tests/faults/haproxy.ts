import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { call } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { type FaultEnvironment, type FaultService, launch, readiness } from './environment.ts'

// HAProxy in front of several servers, as in a deployment.

const haproxy = '/usr/sbin/haproxy'

/** Returns why HAProxy cannot be started on this machine. */
export const haproxyMissing = () => (existsSync(haproxy) ? undefined : 'HAProxy is not installed')

export interface LoadBalancer {
  readonly url: string
  /** The path of the readiness check. */
  readonly ready: string
  /** Waits until this many servers are available. */
  untilUp(count: number): Promise<void>
}

/** Starts HAProxy in front of these servers, and waits until all of them are available. */
export async function startHaproxy(
  environment: Pick<FaultEnvironment, 'atEnd' | 'dir'>,
  services: readonly Pick<FaultService, 'url'>[],
): Promise<LoadBalancer> {
  const [first] = services
  if (!first) throw new Error('no service')
  const [front, statusPort] = [await freePort(), await freePort()]
  const ready = await readiness(first.url)
  const config = join(environment.dir, 'haproxy.cfg')
  const servers = services.map(({ url }) => new URL(url).host)
  writeFileSync(config, configuration({ front, statusPort, ready, servers }))
  launch(environment, [haproxy, '-db', '-f', config], {
    log: 'haproxy.log',
    variables: { PATH: process.env.PATH },
  })
  const balancer = {
    url: `http://127.0.0.1:${front}`,
    ready,
    untilUp: (count: number) => untilUp(statusPort, count),
  }
  await balancer.untilUp(services.length)
  return balancer
}

interface ConfigurationOptions {
  front: number
  statusPort: number
  ready: string
  servers: string[]
}

const configuration = ({ front, statusPort, ready, servers }: ConfigurationOptions) => `
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
