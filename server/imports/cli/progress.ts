import type { VerdictCounts } from '../engine/plan.ts'
import { formatCount, formatNumber } from './format.ts'

// Shows progress: one line that is redrawn on a terminal, and a line every few seconds elsewhere.

export interface ProgressDisplay {
  /** Shows a line, unless the last one is too recent. `format` gets the width, 0 if unlimited. */
  show(format: (width: number) => string): void
  /** Erases the line. */
  end(): void
}

interface OutputStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const redrawMs = 100
const lineMs = 5000

/** Opens a progress display on a stream. */
export function openProgressDisplay(
  out: OutputStream,
  isTerminal = out.isTTY === true,
  now: () => number = () => performance.now(),
): ProgressDisplay {
  let shownMs = isTerminal ? Number.NEGATIVE_INFINITY : now()
  let drawnLength = 0
  const draw = (text: string) => {
    // Spaces overwrite the rest of a longer line, and work on every terminal.
    out.write(`\r${text.padEnd(drawnLength)}`)
    drawnLength = text.length
  }
  return {
    show(format) {
      if (now() - shownMs < (isTerminal ? redrawMs : lineMs)) return
      shownMs = now()
      // Some terminals wrap after the last column.
      const width = (out.columns || 80) - 1
      if (isTerminal) draw(format(width).slice(0, width))
      else out.write(`${format(0)}\n`)
    },
    end() {
      if (drawnLength === 0) return
      draw('')
      out.write('\r')
    },
  }
}

/** Formats the progress of reading a file. */
export function formatReading(counts: VerdictCounts, seconds: number): string {
  const total = Object.values(counts).reduce((all, count) => all + count, 0)
  const parts = Object.entries(counts).flatMap(([verdict, count]) =>
    count > 0 ? [`${formatNumber(count)} ${verdict}`] : [],
  )
  const details = parts.length > 0 ? ` (${parts.join(', ')})` : ''
  return `Reading: ${formatCount(total, 'talk')}${formatRate(total, seconds)}${details}`
}

export interface WorkProgress {
  readonly verb: string
  readonly done: number
  readonly total: number
  /** How many were done at the start, `seconds` ago. */
  readonly before: number
  readonly seconds: number
}

/** Formats the progress of work, with a bar if there is room. */
export function formatWork(
  { verb, done, total, before, seconds }: WorkProgress,
  width: number,
): string {
  const fraction = total === 0 ? 1 : Math.min(1, done / total)
  const finished = done - before
  const hasEstimate = finished > 0 && seconds >= 1 && done < total
  const summary = [
    `${String(Math.floor(fraction * 100)).padStart(3)} %  `,
    `${formatNumber(done)} of ${formatNumber(total)}`,
    formatRate(finished, seconds),
    hasEstimate ? `, ${formatTime(((total - done) * seconds) / finished)} left` : '',
  ].join('')
  const room = Math.min(40, width - verb.length - summary.length - 6)
  if (room < 10) return `${verb} ${summary.trimStart()}`
  const filled = Math.round(fraction * room)
  return `${verb} [${'#'.repeat(filled)}${'.'.repeat(room - filled)}] ${summary}`
}

/** Formats a duration. */
export function formatTime(seconds: number): string {
  if (seconds < 10) return `${Math.max(0.1, seconds).toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

// In the first second the rate is dominated by the start.
function formatRate(count: number, seconds: number): string {
  return seconds < 1 || count <= 0 ? '' : `, ${formatNumber(Math.round(count / seconds))}/s`
}
