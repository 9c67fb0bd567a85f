// What scripts say: the server put it into the page, in the language of the page.

const text = document.body.dataset.words
const words: Record<string, string> = text ? JSON.parse(text) : {}

export const message = (name: string): string => words[name] ?? name

/** The path that the archive is mounted under. */
export const base = document.body.dataset.base ?? ''
