import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { collectFromProcesses } from './platform/ops/metrics.ts'

/**
 * Runs this command in several worker processes that share the port. Replaces workers that exit and
 * forwards signals to all of them; the primary process exits last. Returns true in the processes
 * that have to serve: the workers, or the only process.
 */
export async function runProcesses(count: number): Promise<boolean> {
  if (count <= 1 || cluster.isWorker) return true
  collectFromProcesses()
  let stopping = false
  for (let index = 0; index < count; index++) cluster.fork()
  cluster.on('exit', async (worker, code, signal) => {
    if (stopping) return
    process.stderr.write(
      `Process ${worker.process.pid} exited with ${signal ?? code}; starting another one.\n`,
    )
    // Limits the rate if a process fails at startup.
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
