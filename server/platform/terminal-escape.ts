// Escapes untrusted text for a terminal: characters that would move the cursor, change colors or
// reorder lines are printed as escapes. No I/O.

const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** Escapes a text so that it prints as one line. */
export function escapeLine(text: string): string {
  return text.replaceAll(unsafe, escapeCharacter)
}

/** Escapes a text of several lines, and keeps the line breaks. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeLine).join('\n')
}

/** Converts a value to JSON that is safe to print. It parses to the same value. */
export function escapeJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(unsafe, toUnicodeEscape)
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\r') return '\\r'
  if (character === '\t') return ' '
  return toUnicodeEscape(character)
}

const toUnicodeEscape = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
