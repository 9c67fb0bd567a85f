/** Quotes a value from a file for a message, cut to a number of characters. */
export function quote(text: string, maxLength = 100): string {
  return `“${text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text}”`
}
