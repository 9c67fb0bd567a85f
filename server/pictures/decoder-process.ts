import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import type { DecodeJob, DecoderMessage } from './decoder.ts'

// Starts decoder.ts when there is an image to decode, reuses it, and replaces it when it dies.

/** The image could not be decoded within the limits. */
export class InvalidImage extends Error {}
/** The file has several images, and only one is expected. */
export class AnimatedImage extends InvalidImage {}
/** The decoder does not start: sharp is missing, or was built for another system. */
export class DecoderUnavailable extends Error {}

export interface Decoder {
  /** Starts the process. Throws DecoderUnavailable if it cannot decode anything. */
  ready(): Promise<unknown>
  /** Throws InvalidImage if the image is invalid, takes too long or crashes the process. */
  decode(job: DecodeJob): Promise<Buffer>
  stop(): void
}

const startMs = 30_000
/** The decoder limits itself; this is for one that does not respond. */
const jobMs = 15_000
const idleMs = 30_000
/** Native memory fragments over time; a new process starts with none. */
const maxJobs = 200
/** Time until a decoder that could not be started is started again. */
const unavailableMs = 300_000

interface DecoderChild {
  readonly child: ChildProcess
  readonly ready: Promise<void>
  isReady: boolean
  job: PromiseWithResolvers<Buffer> | undefined
  jobs: number
}

/** decoder.ts in the sources; in a package, decoder.js beside the bundle. */
const defaultPath = fileURLToPath(
  new URL(`./decoder.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
)

/** Opens a decoder. Its process is started by the first job. */
export function openDecoder(path = defaultPath): Decoder {
  // Decodes one image at a time, which bounds memory and CPU time.
  const queue = openConcurrencyLimit(1, 100)
  let current: DecoderChild | undefined
  let isStopped = false
  let idleTimer: NodeJS.Timeout | undefined
  let unavailable: { readonly error: DecoderUnavailable; readonly untilMs: number } | undefined

  const events: DecoderEvents = {
    onReady: stopWhenIdle,
    onEnd(decoder) {
      if (current === decoder) current = undefined
    },
    onUnavailable(error) {
      unavailable = { error, untilMs: Date.now() + unavailableMs }
    },
  }

  function stopWhenIdle(decoder: DecoderChild): void {
    clearTimeout(idleTimer)
    idleTimer = setTimeout(() => kill(decoder), idleMs).unref()
  }

  async function ready(): Promise<DecoderChild> {
    if (isStopped) throw new DecoderUnavailable('The server stops')
    if (unavailable && Date.now() < unavailable.untilMs) throw unavailable.error
    unavailable = undefined
    current ??= startDecoder(path, events)
    const decoder = current
    await decoder.ready
    return decoder
  }

  function kill(decoder: DecoderChild | undefined): void {
    if (current === decoder) current = undefined
    decoder?.child.kill('SIGKILL')
  }

  async function decode(job: DecodeJob): Promise<Buffer> {
    const decoder = await ready()
    clearTimeout(idleTimer)
    decoder.job = Promise.withResolvers()
    const { promise, reject } = decoder.job
    const cancelDeadline = afterDeadline(jobMs, () => {
      reject(new InvalidImage(`Not decoded after ${jobMs} ms`))
      kill(decoder)
    })
    // The process has ended before it got the job, so the image is not the cause.
    decoder.child.send(job, (error) => error && reject(new DecoderUnavailable(error.message)))
    try {
      return await promise
    } finally {
      cancelDeadline()
      decoder.job = undefined
      if (++decoder.jobs >= maxJobs) kill(decoder)
      stopWhenIdle(decoder)
    }
  }

  return {
    ready,
    decode: (job) => queue.run(() => decode(job)),
    stop: () => {
      isStopped = true
      clearTimeout(idleTimer)
      kill(current)
    },
  }
}

interface DecoderEvents {
  onReady(decoder: DecoderChild): void
  onEnd(decoder: DecoderChild): void
  onUnavailable(error: DecoderUnavailable): void
}

/** Starts a decoder process and handles its messages. */
function startDecoder(path: string, events: DecoderEvents): DecoderChild {
  const child = spawn(process.execPath, ['--max-old-space-size=64', path], {
    env: childEnvironment(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  child.unref()
  child.channel?.unref()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // A caller awaits it later; until then, a rejection must not count as unhandled.
  promise.catch(() => {})
  const decoder: DecoderChild = { child, ready: promise, isReady: false, job: undefined, jobs: 0 }
  const cancelDeadline = afterDeadline(startMs, () => child.kill('SIGKILL'))
  const fail = (reason: string) => {
    cancelDeadline()
    events.onEnd(decoder)
    const error = new DecoderUnavailable(reason)
    events.onUnavailable(error)
    reject(error)
  }
  child.on('error', ({ message }) => fail(message))
  child.on('exit', (code, signal) => {
    const reason = `The decoder ended with ${signal ?? code}`
    events.onEnd(decoder)
    decoder.job?.reject(new InvalidImage(reason))
    if (!decoder.isReady) fail(reason)
  })
  child.on('message', (message: DecoderMessage) => {
    if ('ready' in message) {
      cancelDeadline()
      decoder.isReady = true
      events.onReady(decoder)
      resolve()
    } else if ('unavailable' in message) {
      fail(message.unavailable)
      child.kill('SIGKILL')
    } else if ('image' in message) decoder.job?.resolve(Buffer.from(message.image))
    else if (message.isAnimated) decoder.job?.reject(new AnimatedImage(message.error))
    else decoder.job?.reject(new InvalidImage(message.error))
  })
  return decoder
}

/** Runs the action after the deadline, but handles messages that have already arrived first. */
function afterDeadline(ms: number, action: () => void): () => void {
  let isCancelled = false
  const timer = setTimeout(() => setImmediate(() => isCancelled || action()), ms).unref()
  return () => {
    isCancelled = true
    clearTimeout(timer)
  }
}

/** Returns the variables that libraries and fonts need, without the secrets of the server. */
function childEnvironment(): NodeJS.ProcessEnv {
  const needed = /^(PATH|HOME|TMPDIR|LANG|LC_|LD_|XDG_|FONTCONFIG_)/
  const inherited = Object.entries(process.env).filter(([name]) => needed.test(name))
  // libvips has its own threads; libuv needs only one to start the work.
  return { ...Object.fromEntries(inherited), UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '2' }
}
