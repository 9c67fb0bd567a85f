import type { TestEvent } from 'node:test/reporters'

/** A result of a test, or of a file that ended with an error. */
export interface TestResult {
  readonly passed: boolean
  readonly file: string
  readonly name: string
}

/** A reporter of the test runner: prints each result as a line of JSON, for tests/run.ts. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.skip !== undefined || data.todo !== undefined) continue
    const { file = '', name } = data
    yield `${JSON.stringify({ passed: type === 'test:pass', file, name } satisfies TestResult)}\n`
  }
}
