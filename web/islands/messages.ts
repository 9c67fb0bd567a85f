// Messages for scripts. The server puts them into the page, in its language.

const text = document.body.dataset.words
const words: Record<string, string> = text ? JSON.parse(text) : {}

/** Returns the message with this name. */
export const message = (name: string): string => words[name] ?? name

/** Base path of the archive. */
export const base = document.body.dataset.base ?? ''
