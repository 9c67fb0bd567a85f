import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { styleText } from 'node:util'
import type { OutputStyle } from './format.ts'

// The two ends of the command: what it prints, what it asks, and what tells it to stop.

const { stdin, stdout, stderr } = process

/** Whether somebody sits there who can answer. */
export const isInteractive = () => stdin.isTTY === true && stderr.isTTY === true

/** Where a line can be redrawn. */
export const canRedraw = () => stderr.isTTY === true && process.env.TERM !== 'dumb'

export function outputStyle(): OutputStyle {
  return {
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    width: Math.min(stdout.columns || 100, 140),
  }
}

let isClosed = false
let isHeard = false

/**
 * Tells whether anybody still reads: `talkshelf imports show 7 --all | head` is a way to use it.
 */
export async function print(text: string): Promise<boolean> {
  if (!isHeard)
    stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      isClosed = true
    })
  isHeard = true
  if (!isClosed && !stdout.write(`${text}\n`))
    await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {})
  return !isClosed
}

/** Whether the answer is yes. Nothing, and an end of the input, is no. */
export async function confirm(question: string): Promise<boolean> {
  stderr.write(`${question} [y/N] `)
  const lines = createInterface({ input: stdin })
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line)
    stderr.write('\n')
    return false
  } finally {
    lines.close()
  }
}

export interface Interruption {
  readonly signal: AbortSignal
  /** What a shell calls the end by this signal. */
  readonly exitCode: () => number
  /** From now on a signal ends the process as ever. */
  end(): void
}

/** The first Ctrl-C is a wish, and the second finds no listener and ends us at once. */
export function listenForInterrupt(onTold: () => void = () => {}): Interruption {
  const controller = new AbortController()
  const codes = { SIGINT: 130, SIGTERM: 143 } as const
  let code = 130
  const tell = (signal: keyof typeof codes) => {
    code = codes[signal]
    end()
    controller.abort()
    onTold()
  }
  const signals = Object.keys(codes) as (keyof typeof codes)[]
  const end = () => {
    for (const signal of signals) process.off(signal, tell)
  }
  for (const signal of signals) process.on(signal, tell)
  return { signal: controller.signal, exitCode: () => code, end }
}
