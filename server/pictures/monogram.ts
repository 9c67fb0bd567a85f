// The picture of an event or speaker whose own one is not available: the initials of the name.

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** Draws the initials of a name as an SVG of 96 by 96. */
export function drawMonogram(name: string): string {
  const initials = name
    .split(/\s+/, 2)
    .map((word) => firstLetter(word))
    .join('')
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96">' +
    '<rect width="96" height="96" fill="#6b6455"/>' +
    '<text x="48" y="48" fill="#fff" font-family="system-ui,sans-serif" font-size="38" ' +
    `text-anchor="middle" dominant-baseline="central">${initials}</text></svg>`
  )
}

/** Returns the first character of a word if it is a letter or digit: it needs no escaping. */
function firstLetter(word: string): string {
  const [first] = graphemes.segment(word.slice(0, 20))
  const letter = first?.segment.toUpperCase() ?? ''
  return /^[\p{L}\p{N}]\p{M}*$/u.test(letter) ? letter : ''
}
