/** A message of the server, which is in English. The code identifies it. */
export interface ServerText {
  readonly code?: string | undefined
  readonly text: string
}

/** Returns the translation of a message, or the message itself if there is none. */
export function translated(
  message: ServerText | undefined,
  translations: Readonly<Record<string, string>>,
): string | undefined {
  if (!message) return undefined
  return (message.code !== undefined && translations[message.code]) || message.text
}

/** Returns the language of messages that are not translated, on pages in other languages. */
export const englishOn = (locale: string) => (locale === 'en' ? undefined : 'en')
