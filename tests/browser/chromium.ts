import { existsSync } from 'node:fs'
import { type Browser, chromium, errors } from 'playwright-core'
import { repeatFailed } from '../support/repeat-failed.ts'

// Starts Chromium, and counts and prints the results of browser tests.

/** The headless shell opens a page with a third of the CPU time of the whole browser. */
const installed = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** Returns the path of Chromium: that of the environment variable, or the installed one. */
export function chromiumPath(): string {
  return process.env.CHROMIUM ?? installed.find(existsSync) ?? 'chromium'
}

/** Starts a headless Chromium. It makes no requests of its own, which would disturb the tests. */
export function startChromium(...extraArgs: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...extraArgs,
    ],
    timeout: 60_000,
  })
}

/** An argument for `startChromium`: loads no pictures. */
export const withoutPictures = '--blink-settings=imagesEnabled=false'

export interface Tally {
  /** Runs a test; it passes if nothing is thrown. */
  test(title: string, run: () => Promise<void>): Promise<void>
  /** Prints the counts, and returns whether all tests passed. */
  end(): boolean
}

/** Starts counting tests, which run one after the other, each for at most `limitMs`. */
export function startTally(limitMs = 180_000): Tally {
  let passed = 0
  let failed = 0
  const flaky: string[] = []
  return {
    async test(title, run) {
      const startedMs = performance.now()
      try {
        await within(run(), limitMs).catch(async (error) => {
          // A timeout is retried once, because the machine may be busy; a failed assertion only if
          // all failures are.
          if (!isTimeout(error) && !repeatFailed) throw error
          console.log(`  again: ${title}\n${error instanceof Error ? error.stack : error}`)
          await within(run(), limitMs)
          flaky.push(title)
        })
        passed++
        console.log(`✔ ${title} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`)
      } catch (error) {
        failed++
        console.log(`✖ ${title}\n${error instanceof Error ? error.stack : error}`)
      }
    },
    end() {
      if (flaky.length > 0) console.log(`FLAKY: passed only the second time: ${flaky.join(', ')}`)
      console.log(`${passed} passed, ${failed} failed`)
      return failed === 0
    },
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof errors.TimeoutError || error instanceof TestTimeout

class TestTimeout extends Error {}

function within<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TestTimeout(`Took longer than ${limitMs} ms`)), limitMs)
  })
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}
