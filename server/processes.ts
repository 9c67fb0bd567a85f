import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { collectFromProcesses } from './platform/ops/metrics.ts'

/**
 * Runs this same command in several processes that share the port. One that ends by itself is
 * replaced; a signal reaches all, and the first process ends last. Only in the others does this
 * return true.
 */
export async function runProcesses(count: number): Promise<boolean> {
  if (count <= 1 || cluster.isWorker) return true
  collectFromProcesses()
  let stopping = false
  for (let number = 0; number < count; number++) cluster.fork()
  cluster.on('exit', async (worker, code, signal) => {
    if (stopping) return
    process.stderr.write(
      `Process ${worker.process.pid} ended with ${signal ?? code}; another one takes its place.\n`,
    )
    // One that cannot start must not be started a thousand times a second.
    await sleep(1000)
    if (!stopping) cluster.fork()
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      stopping = true
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
    })
  return false
}
