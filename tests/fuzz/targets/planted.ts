import type { FuzzTarget } from '../target.ts'

// Deliberate faults: tests/api/fuzz.test.ts checks that the fuzzer finds each of them, and that it
// does not report the refusal, which is allowed. They run only if named.

export const plantedTargets: readonly FuzzTarget[] = [
  {
    name: 'planted failure',
    seeds: ['a'],
    dictionary: ['f1', 'g2', 'h3', 'i4', 'j5'],
    // Without the guidance of coverage this would take billions of inputs.
    run: (input) => {
      if (input.indexOf('f1') === 0) {
        if (input.indexOf('g2') === 2) {
          if (input.indexOf('h3') === 4) {
            if (input.indexOf('i4') === 6) {
              if (input.indexOf('j5') === 8) throw new TypeError('found')
            }
          }
        }
      }
    },
  },
  {
    name: 'planted refusal',
    share: 0.001,
    seeds: ['a'],
    dictionary: [],
    refusals: [TypeError],
    run: () => {
      throw new TypeError('as documented')
    },
  },
  {
    name: 'planted hang',
    share: 0.001,
    seeds: ['a'],
    dictionary: ['hang'],
    run: (input) => {
      while (input.includes('hang'));
    },
  },
  {
    name: 'planted slowness',
    share: 0.001,
    seeds: ['a'],
    dictionary: ['slow'],
    run: (input) => {
      if (input.length < 1 << 15) return
      const startUsage = process.cpuUsage()
      for (let spent = 0; spent < 600_000; ) {
        for (let step = 0; step < 1_000_000; step++) spent += step % 2 === 0 ? 1 : -1
        const { user, system } = process.cpuUsage(startUsage)
        spent = user + system
      }
    },
  },
  {
    name: 'planted crash',
    share: 0.001,
    seeds: ['a'],
    dictionary: ['crash'],
    run: (input) => {
      if (input.includes('crash')) process.abort()
    },
  },
  {
    name: 'planted stray rejection',
    share: 0.001,
    seeds: ['a', 'stray'],
    dictionary: [],
    run: async (input) => {
      if (input.includes('stray')) void Promise.reject(new RangeError('not awaited'))
      await new Promise((resolve) => setImmediate(resolve))
    },
  },
]
