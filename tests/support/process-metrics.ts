import { readdirSync, readFileSync } from 'node:fs'

// Figures of the kernel about processes. A process that ends in the meantime is ignored.

/** Lists the children of a process, and theirs. */
export function descendantsOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(
      (name) =>
        [Number(name), Number(/^PPid:\s+(\d+)/m.exec(statusOf(Number(name)))?.[1])] as const,
    )
  const below = (parent: number): number[] =>
    parents
      .filter(([, parentPid]) => parentPid === parent)
      .flatMap(([child]) => [child, ...below(child)])
  return below(pid)
}

/**
 * Adds up the resident memory of a process and its descendants. Pages that they share, such as those
 * of the program itself, are counted once.
 */
export function residentMegabytes(pid: number): number {
  const kilobytes = [pid, ...descendantsOf(pid)].map((process) =>
    Number(/^Pss:\s+(\d+)/m.exec(memoryOf(process))?.[1] ?? 0),
  )
  return kilobytes.reduce((sum, size) => sum + size, 0) / 1024
}

/**
 * Starts measuring a process. The returned function returns the factor by which other processes
 * have slowed it down since then.
 */
export function slowdownOf(pid: number): () => number {
  // Nanoseconds on a processor, and nanoseconds of waiting for one.
  const times = () =>
    readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number) as [
      number,
      number,
    ]
  const [ranBefore, waitedBefore] = times()
  return () => {
    const [ran, waited] = times()
    return 1 + (waited - waitedBefore) / Math.max(1, ran - ranBefore)
  }
}

const statusOf = (pid: number) => readProcess(pid, 'status')
const memoryOf = (pid: number) => readProcess(pid, 'smaps_rollup')

function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
