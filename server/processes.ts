import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { collectFromProcesses } from './platform/ops/metrics.ts'

/**
 * Runs this command in several worker processes that share the port. Replaces workers that exit and
 * forwards signals to all of them; the primary process exits last. If a worker fails before any
 * worker has listened, all end with its exit code: settings, database or port are wrong. Returns
 * true in the processes that have to serve: the workers, or the only process.
 */
export async function runProcesses(count: number): Promise<boolean> {
  if (count <= 1 || cluster.isWorker) return true
  collectFromProcesses()
  let stopping = false
  let hasListened = false
  const stop = (signal: NodeJS.Signals) => {
    stopping = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
  }
  for (let index = 0; index < count; index++) cluster.fork()
  cluster.on('listening', () => {
    hasListened = true
  })
  cluster.on('exit', async (worker, code, signal) => {
    if (stopping) return
    if (!hasListened) {
      process.exitCode = code || 1
      return stop('SIGTERM')
    }
    process.stderr.write(
      `Process ${worker.process.pid} exited with ${signal ?? code}; starting another one.\n`,
    )
    // Limits the rate if a process fails at startup.
    await sleep(1000)
    if (!stopping) cluster.fork()
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal))
  return false
}
