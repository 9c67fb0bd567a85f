import type { VerdictCounts } from '../engine/plan.ts'
import { formatCount, formatNumber } from './format.ts'

// How far something is, for whoever waits: one line that is redrawn on a terminal, and a line now
// and then where nobody looks.

export interface ProgressDisplay {
  /** The line for a terminal of this width; it is made only when it is shown. */
  show(line: (width: number) => string): void
  /** Takes the line away. */
  end(): void
}

interface Out {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const redrawMs = 100
const lineMs = 5000

export function openProgressDisplay(
  out: Out,
  isTerminal = out.isTTY === true,
  now: () => number = () => performance.now(),
): ProgressDisplay {
  let last = isTerminal ? Number.NEGATIVE_INFINITY : now()
  let drawn = 0
  const draw = (text: string) => {
    // Spaces go over what is longer in the line before: every terminal knows them.
    out.write(`\r${text.padEnd(drawn)}`)
    drawn = text.length
  }
  return {
    show(line) {
      if (now() - last < (isTerminal ? redrawMs : lineMs)) return
      last = now()
      // In the last column some terminals begin a new line.
      const width = (out.columns || 80) - 1
      if (isTerminal) draw(line(width).slice(0, width))
      else out.write(`${line(0)}\n`)
    },
    end() {
      if (drawn === 0) return
      draw('')
      out.write('\r')
    },
  }
}

export function formatReading(counts: VerdictCounts, seconds: number): string {
  const total = Object.values(counts).reduce((all, count) => all + count, 0)
  const parts = Object.entries(counts).flatMap(([verdict, count]) =>
    count > 0 ? [`${formatNumber(count)} ${verdict}`] : [],
  )
  return `Reading: ${formatCount(total, 'talk')}${rateShown(total, seconds)}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`
}

export interface WorkProgress {
  readonly verb: string
  readonly done: number
  readonly total: number
  /** How many were done when we began to look, and how long ago that was. */
  readonly before: number
  readonly seconds: number
}

/** A bar where there is room for one. */
export function formatWork(
  { verb, done, total, before, seconds }: WorkProgress,
  width: number,
): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const made = done - before
  const left =
    made > 0 && seconds >= 1 && done < total
      ? `, ${formatTime(((total - done) * seconds) / made)} left`
      : ''
  const words = `${String(Math.floor(part * 100)).padStart(3)} %  ${formatNumber(done)} of ${formatNumber(total)}${rateShown(made, seconds)}${left}`
  const room = Math.min(40, width - verb.length - words.length - 6)
  if (room < 10) return `${verb} ${words.trimStart()}`
  const full = Math.round(part * room)
  return `${verb} [${'#'.repeat(full)}${'.'.repeat(room - full)}] ${words}`
}

export function formatTime(seconds: number): string {
  if (seconds < 10) return `${Math.max(0.1, seconds).toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

// In the first second a rate says more about the start than about the work.
function rateShown(count: number, seconds: number): string {
  return seconds < 1 || count <= 0 ? '' : `, ${formatNumber(Math.round(count / seconds))}/s`
}
