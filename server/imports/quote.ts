/** Quotes the beginning of a value from a file, for messages. */
export function quote(text: string): string {
  return `“${text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text}”`
}
