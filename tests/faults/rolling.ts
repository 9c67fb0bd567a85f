import { until } from '../support/until.ts'
import { type Fault, startDatabase, startFaultService } from './environment.ts'
import { haproxyMissing, startHaproxy } from './haproxy.ts'
import { summarize } from './kills.ts'
import { countByStatus, startWorkload } from './workload.ts'

// Two processes behind HAProxy are restarted in turn under load, as in a deployment: no request
// fails.

export const rollingRestart: Fault = {
  name: 'rolling restart behind HAProxy',
  limitS: { quick: 240, full: 600 },
  missing: haproxyMissing,
  async run(environment) {
    const database = await startDatabase(environment)
    // A request must fail because of a restart only, not because the machine stalls for seconds.
    const variables = { DATABASE_URL: database.serviceUrl, ANSWER_SECONDS: '30' }
    const services = [
      await startFaultService(environment, variables),
      await startFaultService(environment, variables),
    ]
    const balancer = await startHaproxy(environment, services)
    const workload = await startWorkload({
      url: balancer.url,
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
        await balancer.untilUp(services.length)
        await workload.progress(20)
        // Restarts are spread over the load: about ten rounds in the full run.
        const goal = before + minRequests / 20
        await until(`${goal} requests`, () => attempts.length >= goal, { limitMs: 120_000 })
      }
    await workload.stop()
    const failed = attempts.filter(({ status }) => ![200, 201, 412].includes(status))
    const count =
      `${failed.length} of ${attempts.length} requests failed in ${stops.length} restarts ` +
      `(readiness: ${balancer.ready})`
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
