import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { styleText } from 'node:util'
import { escapeJson } from './terminal-escape.ts'

// The terminal of a command: output, questions and interrupts.

const { stdin, stdout, stderr } = process

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'magenta'
export type Paint = (style: Style, text: string) => string

export interface OutputStyle {
  readonly paint: Paint
  /** The width of the terminal in characters. */
  readonly width: number
}

/** Returns whether a person can answer questions. */
export const isInteractive = () => stdin.isTTY === true && stderr.isTTY === true

/** Returns whether a line can be redrawn on standard error. */
export const canRedraw = () => stderr.isTTY === true && process.env.TERM !== 'dumb'

/** Returns the colors and the width of standard output. */
export function outputStyle(): OutputStyle {
  return {
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    width: Math.min(stdout.columns || 100, 140),
  }
}

let isClosed = false
let hasListener = false
let isForDocument = false

/** Sends what `print` prints to standard error from now on: the output is for one document. */
export function keepOutputForDocument(): void {
  isForDocument = true
}

/**
 * Prints a line to standard output. Returns false once the reader has closed the pipe, as in
 * `talkshelf imports show 7 --all | head`.
 */
export async function print(text: string): Promise<boolean> {
  if (!isForDocument) return printOutput(text)
  stderr.write(`${text}\n`)
  return true
}

/** Prints a value as JSON to standard output. */
export const printJson = (value: unknown) => printOutput(escapeJson(value))

async function printOutput(text: string): Promise<boolean> {
  if (!hasListener)
    stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      isClosed = true
    })
  hasListener = true
  if (!isClosed && !stdout.write(`${text}\n`))
    await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {})
  return !isClosed
}

/** Asks a yes-or-no question. An empty answer or the end of the input means no. */
export async function confirm(question: string): Promise<boolean> {
  return /^\s*y(es)?\s*$/i.test((await ask(`${question} [y/N] `)) ?? '')
}

/** Asks a question and returns the answer. Undefined at the end of the input. */
export async function ask(question: string): Promise<string | undefined> {
  stderr.write(question)
  const lines = createInterface({ input: stdin })
  try {
    for await (const line of lines) return line
    stderr.write('\n')
    return undefined
  } finally {
    lines.close()
  }
}

export interface Interruption {
  readonly signal: AbortSignal
  /** The exit code that a shell reports for the signal. */
  readonly exitCode: () => number
  /** Removes the listeners: the next signal ends the process. */
  end(): void
}

/** Turns the first Ctrl-C into an abort signal. A second one ends the process at once. */
export function listenForInterrupt(onInterrupt: () => void = () => {}): Interruption {
  const controller = new AbortController()
  const codes = { SIGINT: 130, SIGTERM: 143 } as const
  let code = 130
  const onSignal = (signal: keyof typeof codes) => {
    code = codes[signal]
    end()
    controller.abort()
    onInterrupt()
  }
  const signals = Object.keys(codes) as (keyof typeof codes)[]
  const end = () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return { signal: controller.signal, exitCode: () => code, end }
}
