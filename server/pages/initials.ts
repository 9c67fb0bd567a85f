import type { Initial } from '@talkshelf/web'

// The jump list of a directory: initials of names in any script.

/** In a script with more initials than this they are one entry. Alphabets have fewer. */
const maxPerScript = 40

/** Scripts with capital letters come first; the others have none. */
const scripts = [
  ...['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Devanagari', 'Bengali'],
  ...['Tamil', 'Telugu', 'Thai', 'Georgian', 'Hiragana', 'Katakana', 'Hangul', 'Han'],
].map((name) => ({ name, pattern: new RegExp(`^\\p{Script=${name}}`, 'u') }))
const scriptsWithCapitals = ['Latin', 'Greek', 'Cyrillic', 'Armenian']

const otherScript = 'other'

/**
 * Builds the jump list from the first characters of all names, in the order of the list. Characters
 * that are not letters are one entry, and so are those of a script with many, such as Han.
 */
export function jumpList(characters: readonly string[]): Initial[] {
  const byScript = Map.groupBy(characters, scriptOf)
  return [...byScript].flatMap(([script, initials]) => {
    const [first = '', last = ''] = [initials[0], initials.at(-1)]
    if (script === undefined) return [{ label: '#', character: first }]
    if (initials.length > maxPerScript) return [{ label: `${first}–${last}`, character: first }]
    const hasCapitals = scriptsWithCapitals.includes(script)
    return initials.map((character) => ({
      label: hasCapitals ? character.toUpperCase() : character,
      character,
    }))
  })
}

/** Returns the script of a letter, undefined for other characters. */
function scriptOf(character: string): string | undefined {
  if (!/^\p{L}/u.test(character)) return undefined
  return scripts.find(({ pattern }) => pattern.test(character))?.name ?? otherScript
}

const placeholders = [
  /^(various|multiple|several|different|unknown)( (speakers?|presenters?|people|authors?))?$/i,
  /^(anonymous|n\/a|none|panel|speakers?|tba|tbd|varios|varios ponentes)$/i,
]

/** Returns whether a name stands for people who are not named, as in "Various speakers". */
export const isPlaceholderName = (name: string) =>
  placeholders.some((pattern) => pattern.test(name.trim()))
