/** Runs named checks of a command line program, prints each, and counts them. */
export interface Checks {
  /** Runs a check. Returns whether it passed; a failure is printed and does not throw. */
  check(name: string, run: () => unknown): Promise<boolean>
  /** Runs a check that others depend on. Throws `StepFailed` if it fails. */
  step(name: string, run: () => unknown): Promise<void>
  /** Counts what could not be checked. */
  skip(name: string, reason: string): void
  /** Prints the counts. Returns the exit status: 1 if a check failed or none was run. */
  finish(): number
}

export class StepFailed extends Error {}

export function startChecks(): Checks {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const startedMs = performance.now()
  const secondsSince = (ms: number) => ((performance.now() - ms) / 1000).toFixed(0)

  async function check(name: string, run: () => unknown): Promise<boolean> {
    const checkStartedMs = performance.now()
    try {
      await run()
      counts.passed++
      console.log(`passed  ${name} (${secondsSince(checkStartedMs)} s)`)
      return true
    } catch (error) {
      counts.failed++
      console.log(`FAILED  ${name} (${secondsSince(checkStartedMs)} s)\n${messageOf(error)}`)
      return false
    }
  }

  return {
    check,
    async step(name, run) {
      if (!(await check(name, run))) throw new StepFailed(name)
    },
    skip(name, reason) {
      counts.skipped++
      console.log(`skipped ${name}: ${reason}`)
    },
    finish() {
      const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
      const { passed, failed } = counts
      console.log(`\n${passed} passed, ${failed} failed${skipped} in ${secondsSince(startedMs)} s`)
      return failed === 0 && passed > 0 ? 0 : 1
    },
  }
}

const messageOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).slice(-6000)
