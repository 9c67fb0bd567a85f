/**
 * Whether a test that fails runs once more, and is reported as flaky if it passes then. Set in CI,
 * where the machine may stall for seconds; nightly runs and those of developers show each failure.
 */
export const repeatFailed = process.env.REPEAT_FAILED === '1'
