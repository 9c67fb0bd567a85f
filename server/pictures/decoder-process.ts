import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import type { DecodeJob, DecoderMessage } from './decoder.ts'

// Starts decoder.ts when there is an image to decode, reuses it, and replaces it when it dies.

/** The image could not be decoded within the limits. */
export class InvalidImage extends Error {}
/** The decoder does not start: sharp is missing, or was built for another system. */
export class DecoderUnavailable extends Error {}

export interface Decoder {
  /** Starts the process. Throws NoSharp if it cannot decode anything. */
  ready(): Promise<unknown>
  /** Throws NoImage if the image is invalid, takes too long or kills the process. */
  decode(job: DecodeJob): Promise<Buffer>
  stop(): void
}

const startMs = 30_000
/** The decoder limits itself; this is for one that does not respond. */
const jobMs = 15_000
const idleMs = 30_000
/** Native memory fragments over time; a new process starts with none. */
const maxJobs = 200
/** How long a decoder that could not be started is not started again. */
const unavailableMs = 300_000

interface Running {
  readonly child: ChildProcess
  readonly ready: Promise<void>
  isReady: boolean
  job: PromiseWithResolvers<Buffer> | undefined
  jobs: number
}

/** In the sources it is TypeScript; in a package it stands beside the bundle. */
const defaultPath = fileURLToPath(
  new URL(`./decoder.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
)

export function openDecoder(path = defaultPath): Decoder {
  // One image at a time: memory and processor time are those of one image, however many wait.
  const line = openConcurrencyLimit(1, 100)
  let running: Running | undefined
  let isStopped = false
  let idle: NodeJS.Timeout | undefined
  let unavailable: { readonly error: DecoderUnavailable; readonly untilMs: number } | undefined

  function start(): Running {
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
    const it: Running = { child, ready: promise, isReady: false, job: undefined, jobs: 0 }
    const cancelDeadline = afterDeadline(startMs, () => child.kill('SIGKILL'))
    const fail = (reason: string) => {
      cancelDeadline()
      if (running === it) running = undefined
      unavailable = { error: new DecoderUnavailable(reason), untilMs: Date.now() + unavailableMs }
      reject(unavailable.error)
    }
    child.on('error', ({ message }) => fail(message))
    child.on('exit', (code, signal) => {
      const reason = `The decoder ended with ${signal ?? code}`
      if (running === it) running = undefined
      it.job?.reject(new InvalidImage(reason))
      if (!it.isReady) fail(reason)
    })
    child.on('message', (message: DecoderMessage) => {
      if ('ready' in message) {
        cancelDeadline()
        it.isReady = true
        stopWhenIdle(it)
        resolve()
      } else if ('unavailable' in message) {
        fail(message.unavailable)
        child.kill('SIGKILL')
      } else if ('image' in message) it.job?.resolve(Buffer.from(message.image))
      else it.job?.reject(new InvalidImage(message.error))
    })
    return it
  }

  function stopWhenIdle(it: Running): void {
    clearTimeout(idle)
    idle = setTimeout(() => kill(it), idleMs).unref()
  }

  async function ready(): Promise<Running> {
    if (isStopped) throw new DecoderUnavailable('The server stops')
    if (unavailable && Date.now() < unavailable.untilMs) throw unavailable.error
    unavailable = undefined
    running ??= start()
    const it = running
    await it.ready
    return it
  }

  function kill(it: Running | undefined): void {
    if (running === it) running = undefined
    it?.child.kill('SIGKILL')
  }

  async function decode(job: DecodeJob): Promise<Buffer> {
    const it = await ready()
    clearTimeout(idle)
    it.job = Promise.withResolvers()
    const { promise, reject } = it.job
    const cancelDeadline = afterDeadline(jobMs, () => {
      reject(new InvalidImage(`Not decoded after ${jobMs} ms`))
      kill(it)
    })
    // It died before the job: no fault of the image.
    it.child.send(job, (error) => error && reject(error))
    try {
      return await promise
    } finally {
      cancelDeadline()
      it.job = undefined
      if (++it.jobs >= maxJobs) kill(it)
      stopWhenIdle(it)
    }
  }

  return {
    ready,
    decode: (job) => line.run(() => decode(job)),
    stop: () => {
      isStopped = true
      clearTimeout(idle)
      kill(running)
    },
  }
}

/** Gives an answer that arrived in the meantime the chance to be read first. */
function afterDeadline(ms: number, act: () => void): () => void {
  let isOver = false
  const timer = setTimeout(() => setImmediate(() => isOver || act()), ms).unref()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

/** What libraries and fonts need, and no secret of the server. */
function childEnvironment(): NodeJS.ProcessEnv {
  const needed = /^(PATH|HOME|TMPDIR|LANG|LC_|LD_|XDG_|FONTCONFIG_)/
  const kept = Object.entries(process.env).filter(([name]) => needed.test(name))
  // libvips has threads of its own; one of libuv's hands the work over.
  return { ...Object.fromEntries(kept), UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '2' }
}
