// Writes the log as text instead of JSON, for terminals and journals.

const levels: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
}

/** Returns a stream that receives lines of JSON and writes them as text. */
export function textLog(write: (line: string) => void): { write(line: string): void } {
  return { write: (line) => write(`${formatLine(line)}\n`) }
}

/** Formats a line: `2026-05-01T09:30:00.000Z INFO request completed method=GET status=200`. */
export function formatLine(line: string): string {
  const { level, time, msg, pid: _pid, hostname: _host, err, ...fields } = parse(line)
  if (typeof level !== 'number') return line.trimEnd()
  const values = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`)
  const start = [new Date(Number(time)).toISOString(), levels[level] ?? level, msg ?? '']
  const { stack, message } = (err ?? {}) as { stack?: string; message?: string }
  const trace = stack ?? message
  // An indented line belongs to the one before.
  const details = trace === undefined ? [] : trace.split('\n').map((text) => `\n  ${text.trim()}`)
  return [...start, ...values].join(' ') + details.join('')
}

function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Quotes texts with spaces or control characters, so that a value cannot look like another one. */
function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return typeof value === 'string' && !/^[\x21\x23-\x3c\x3e-\x7e]+$/.test(text)
    ? JSON.stringify(text)
    : text
}
