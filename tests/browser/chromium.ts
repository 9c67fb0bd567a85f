import { type Browser, chromium, errors } from 'playwright-core'

// A real browser, and how what is seen in it is counted.

export function startChromium(...more: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // It must ask nobody for anything: what goes out is what is looked at here.
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
    timeout: 60_000,
  })
}

export interface Tally {
  /** A sentence that is true when nothing is thrown. */
  test(sentence: string, run: () => Promise<void>): Promise<void>
  /** Says how it went; whether all was well. */
  end(): boolean
}

export function startTally(limitMs = 60_000): Tally {
  let passed = 0
  let failed = 0
  return {
    async test(sentence, run) {
      const beganMs = performance.now()
      try {
        await within(run(), limitMs).catch(async (error) => {
          // What was waited for in vain is tried once more: a machine may stand still. What is
          // wrong is wrong at once.
          if (!isLate(error)) throw error
          console.log(`  again: ${sentence}\n${error.message}`)
          await within(run(), limitMs)
        })
        passed++
        console.log(`✔ ${sentence} (${((performance.now() - beganMs) / 1000).toFixed(1)} s)`)
      } catch (error) {
        failed++
        console.log(`✖ ${sentence}\n${error instanceof Error ? error.stack : error}`)
      }
    },
    end() {
      console.log(`${passed} passed, ${failed} failed`)
      return failed === 0
    },
  }
}

const isLate = (error: unknown): error is Error =>
  error instanceof errors.TimeoutError || error instanceof Late

class Late extends Error {}

/** Asks again and again until the answer is right; then, or when time is up, gives it back. */
export async function until<T>(
  ask: () => Promise<T> | T,
  isRight: (it: T) => boolean,
  limitMs = 15_000,
): Promise<T> {
  const end = Date.now() + limitMs
  while (true) {
    const it = await ask()
    if (isRight(it) || Date.now() > end) return it
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function within<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`Took longer than ${limitMs} ms`)), limitMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
