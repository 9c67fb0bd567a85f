// Writes XML without characters that XML 1.0 forbids.

// Control characters, lone surrogates, U+FFFE and U+FFFF. They are forbidden also as character
// references, and a parser rejects the whole document.
const forbidden = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

/** Removes the characters that XML forbids. */
export function xmlText(text: string): string {
  return text.replaceAll(forbidden, '')
}

/** Removes them from every string of a value. */
export function xmlTexts<T>(value: T): T {
  if (typeof value === 'string') return xmlText(value) as T
  if (Array.isArray(value)) return value.map(xmlTexts) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, property]) => [key, xmlTexts(property)]),
  ) as T
}

const characterReferences: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for content and attributes of XML and HTML. */
export function escapeXml(text: string): string {
  return xmlText(text).replaceAll(
    /[&<>"']/g,
    (character) => characterReferences[character] as string,
  )
}

/** Writes an element with text; nothing if the text is empty. */
export function textElement(name: string, text: string | number | null | undefined): string {
  const content = escapeXml(String(text ?? ''))
  return content === '' ? '' : `<${name}>${content}</${name}>`
}

/** Writes an element without content. */
export function emptyElement(name: string, attributes: Readonly<Record<string, string>>): string {
  return `<${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join('')}/>`
}

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n'

/**
 * Replaces CDATA by escaped text, and removes the white space that the feed library puts around it:
 * a URL with & would start with a line break, which not every feed reader removes.
 */
export function unwrapCdata(xml: string): string {
  const [opening, closing] = ['<![CDATA[', ']]>']
  const parts: string[] = []
  let offset = 0
  // A regular expression that starts with white space would take quadratic time for a long run of
  // it.
  for (let begin = xml.indexOf(opening); begin >= 0; begin = xml.indexOf(opening, offset)) {
    const end = xml.indexOf(closing, begin)
    parts.push(
      xml.slice(offset, begin).trimEnd(),
      escapeXml(xml.slice(begin + opening.length, end)),
    )
    offset = end + closing.length
    while (xml[offset] === ' ' || xml[offset] === '\n') offset++
  }
  return parts.join('') + xml.slice(offset)
}
