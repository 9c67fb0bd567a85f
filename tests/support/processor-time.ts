import assert from 'node:assert/strict'

const attempts = 5

/**
 * Asserts that an operation takes less than `limit` times the processor time of a reference, which
 * is measured right after it. A stall of the machine makes either of them slow, so a ratio above
 * the limit is measured again.
 */
export function assertTimeRatio(
  operation: () => void,
  reference: () => void,
  limit: number,
  label: string,
): void {
  const ratios: number[] = []
  while (ratios.length < attempts && !ratios.some((ratio) => ratio < limit))
    ratios.push(processorTime(operation) / Math.max(processorTime(reference), 1))
  assert.ok(
    ratios.some((ratio) => ratio < limit),
    `${label} took ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')} times as long`,
  )
}

/** Returns the processor time of an operation in microseconds. */
function processorTime(operation: () => void): number {
  const start = process.cpuUsage()
  operation()
  const { user, system } = process.cpuUsage(start)
  return user + system
}
