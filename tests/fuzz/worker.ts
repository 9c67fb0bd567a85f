// node --import ./coverage.ts worker.ts, with a Job in FUZZ_JOB: runs inputs against targets and
// reports to the parent (fuzz.ts), which kills this process if an input hangs.

import { openSync, writeSync } from 'node:fs'
import { Coverage } from './coverage.ts'
import type { Job, Report } from './fuzz.ts'
import { fuzzRandom, maxBytes, mutate, repeated } from './mutate.ts'
import { type FuzzTarget, PropertyBroken } from './target.ts'
import { openTargets } from './targets.ts'

const job = JSON.parse(process.env.FUZZ_JOB ?? '') as Job
const report = (message: Report) =>
  new Promise((sent) => process.send?.(message, undefined, {}, sent))

/** Inputs with new coverage join the corpus and are mutated further, except for large ones. */
const maxCorpusSize = 400
const maxCorpusInputBytes = 8 * 1024
const maxFindingsPerTarget = 20

// Errors outside of the call: in a callback, or in a promise that was not awaited.
const uncaught: unknown[] = []
process.on('uncaughtException', (error) => uncaught.push(error))
process.on('unhandledRejection', (error) => uncaught.push(error))

const currentFd = openSync(job.currentFile, 'w')
const record = Buffer.alloc(12 + maxBytes)
let sequence = 0

/** Writes the next input to a file, which the parent reads if this process hangs or crashes. */
function writeCurrent(target: number, input: Buffer): void {
  record.writeUInt32LE(++sequence, 0)
  record.writeUInt32LE(target, 4)
  record.writeUInt32LE(input.length, 8)
  input.copy(record, 12)
  writeSync(currentFd, record, 0, 12 + input.length, 0)
}

const cpuMs = (since?: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/** Times a fixed piece of work, so that a slow machine is not taken for a slow parser. */
function calibrate(): number {
  const startUsage = process.cpuUsage()
  const text = JSON.stringify(
    Array.from({ length: 2000 }, (_, index) => ({ index, text: `value ${index}` })),
  )
  for (let times = 0; times < 30; times++) JSON.parse(text.replaceAll(/value (\d+)/g, 'item $1'))
  return cpuMs(startUsage)
}
const slowness = Math.max(1, Math.min(calibrate(), calibrate(), calibrate()) / 50)
const maxCpuMs = job.maxCpuMs * slowness

interface Outcome {
  readonly cpuMs: number
  readonly failure: unknown
}

/** Runs one input. An error that the target lists as a refusal is not a failure. */
async function attempt(target: FuzzTarget, input: Buffer): Promise<Outcome> {
  const startUsage = process.cpuUsage()
  let failure: unknown
  try {
    // Most targets are synchronous, and an await would take time.
    const running = target.run(input)
    if (running instanceof Promise) await running
  } catch (error) {
    if (!target.refusals?.some((refusal) => error instanceof refusal))
      failure = error ?? new Error('undefined was thrown')
  }
  const spent = cpuMs(startUsage)
  if (uncaught.length > 0) failure ??= uncaught[0]
  uncaught.length = 0
  return { cpuMs: spent, failure }
}

/** Returns the same signature for the same fault, without the values in its message. */
function signatureOf(failure: unknown): string {
  if (!(failure instanceof Error)) return `thrown: ${typeof failure}`
  const message =
    failure instanceof PropertyBroken ? failure.message.split(':', 1)[0] : failure.message
  const location = /\/((?:server|web|contract)\/[^):]+:\d+)/.exec(failure.stack ?? '')?.[1] ?? ''
  return `${failure.name}: ${message?.replaceAll(/"[^"]*"|\d+/g, '…').slice(0, 120)} ${location}`
}

/** Removes parts of an input as long as it still fails in the same way, with up to 400 attempts. */
async function minimize(target: FuzzTarget, input: Buffer, signature: string): Promise<Buffer> {
  let best = input
  let attemptsLeft = 400
  for (
    let size = Math.ceil(best.length / 2);
    size >= 1 && attemptsLeft > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < best.length && attemptsLeft > 0; attemptsLeft--) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)])
      const { failure } = await attempt(target, shorter)
      if (failure !== undefined && signatureOf(failure) === signature) best = shorter
      else at += size
    }
  }
  return best
}

/**
 * Returns long repetitions of each token, and each token followed by a long text without an end,
 * which reveals quadratic time.
 */
function longInputs(tokens: readonly Buffer[]): Buffer[] {
  return [
    ...tokens.map((token) => repeated(token, maxBytes)),
    ...tokens.map((token) => Buffer.concat([token, Buffer.alloc(maxBytes, 'a')], maxBytes)),
  ]
}

/** Returns a function that reports a finding once per signature. Minimizes failing inputs. */
function findingReporter(target: FuzzTarget) {
  const signatures = new Set<string>()
  return async (
    kind: 'failure' | 'slow' | 'memory',
    signature: string,
    input: Buffer,
    detail: string,
  ) => {
    if (signatures.has(signature) || signatures.size >= maxFindingsPerTarget) return
    signatures.add(signature)
    const smallest = kind === 'failure' ? await minimize(target, input, signature) : input
    await report({
      finding: { target: target.name, kind, signature, detail, input: smallest.toString('base64') },
    })
  }
}

/**
 * Runs inputs against a target, and reports findings and figures. The first `skip` inputs are left
 * out: an earlier worker ran them before it hung or crashed.
 */
async function fuzzTarget(
  target: FuzzTarget,
  index: number,
  inputs: number,
  skip: number,
): Promise<void> {
  const random = fuzzRandom(job.seed * 1000 + index + skip)
  const coverage = new Coverage()
  const tokens = target.dictionary.map((token) => Buffer.from(token))
  const corpus: Buffer[] = target.seeds.map((seed) =>
    Buffer.from(seed as string).subarray(0, maxBytes),
  )
  const allFixed = [...corpus, ...longInputs(tokens)]
  // In a short run, at most a quarter of the inputs are fixed.
  const fixedCount = Math.min(allFixed.length, Math.ceil(inputs / 4))
  const fixedInputs =
    fixedCount === allFixed.length
      ? allFixed
      : Array.from({ length: fixedCount }, () => random.pick(allFixed))
  const seedCount = corpus.length
  const addFinding = findingReporter(target)

  // Warm-up: compiles the code.
  for (const input of corpus.slice(0, 3)) await attempt(target, input)
  globalThis.gc?.()
  const memoryBefore = process.memoryUsage()
  let slowest = { cpuMs: 0, bytes: 0 }
  const startUsage = process.cpuUsage()
  for (let done = skip; done < inputs; done++) {
    const input = done < fixedCount ? (fixedInputs[done] as Buffer) : mutate(random, corpus, tokens)
    writeCurrent(index, input)
    coverage.reset()
    const outcome = await attempt(target, input)
    if (coverage.add() && done >= fixedCount && input.length <= maxCorpusInputBytes) {
      if (corpus.length < maxCorpusSize) corpus.push(input)
      else corpus[seedCount + random.below(corpus.length - seedCount)] = input
    }
    const { failure } = outcome
    if (failure !== undefined) {
      const detail = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
      await addFinding('failure', signatureOf(failure), input, detail.slice(0, 2000))
    }
    let spent = outcome.cpuMs
    // A garbage collection may have been included: the best of three counts.
    for (let retry = 0; retry < 2 && spent > maxCpuMs; retry++) {
      writeCurrent(index, input)
      spent = Math.min(spent, (await attempt(target, input)).cpuMs)
    }
    if (spent > maxCpuMs) {
      const limits = `of CPU time; the limit is ${maxCpuMs.toFixed(0)} ms`
      const detail = `${input.length} bytes took ${spent.toFixed(0)} ms ${limits}`
      await addFinding('slow', 'slow', input, detail)
    }
    if (spent > slowest.cpuMs) slowest = { cpuMs: spent, bytes: input.length }
    if (process.memoryUsage.rss() - memoryBefore.rss > 400 * 2 ** 20) {
      globalThis.gc?.()
      const grown = process.memoryUsage.rss() - memoryBefore.rss
      if (grown > 400 * 2 ** 20)
        await addFinding('memory', 'memory', input, `resident memory grew by ${grown >> 20} MB`)
    }
    if (done % 500 === 0) await report({ progress: { target: index, done: done + 1 } })
  }
  globalThis.gc?.()
  const leaked = (process.memoryUsage().heapUsed - memoryBefore.heapUsed) / 2 ** 20
  if (leaked > 100)
    await addFinding(
      'memory',
      'leak',
      Buffer.alloc(0),
      `the heap grew by ${leaked.toFixed(0)} MB over all inputs`,
    )
  const { branches } = coverage
  const cpuSeconds = cpuMs(startUsage) / 1000
  await report({
    done: { target: index, inputs, branches, corpusSize: corpus.length, cpuSeconds, slowest },
  })
}

const { targets, close } = await openTargets(job.names, job.databaseUrl)
for (const [index, target] of targets.entries()) {
  const plan = job.plan[index] ?? { inputs: 0, skip: 0 }
  // A single input, to reproduce a finding.
  if (plan.input !== undefined) {
    const { cpuMs: spent, failure } = await attempt(target, Buffer.from(plan.input, 'base64'))
    const result = failure === undefined ? 'no failure' : 'failed'
    console.log(`${target.name}: ${spent.toFixed(1)} ms of CPU time, ${result}`)
    if (failure !== undefined) console.log(failure)
  } else if (plan.skip < plan.inputs) await fuzzTarget(target, index, plan.inputs, plan.skip)
}
await close()
await report({ end: true })
process.exit(0)
