// All XML that we send is written from here: no string gets into it that XML 1.0 has no place for.

// Control characters, halves of surrogate pairs, U+FFFE and U+FFFF: not even as a reference may
// they stand in a document, and a reader that meets one throws the whole document away.
const forbidden = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

export function xmlText(text: string): string {
  return text.replaceAll(forbidden, '')
}

/** The same with every string in it. */
export function xmlTexts<T>(value: T): T {
  if (typeof value === 'string') return xmlText(value) as T
  if (Array.isArray(value)) return value.map(xmlTexts) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, xmlTexts(it)])) as T
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** As text or between quotation marks, in XML and in HTML. */
export function escapeXml(text: string): string {
  return xmlText(text).replaceAll(/[&<>"']/g, (sign) => entities[sign] as string)
}

/** An element with text in it; nothing where there is no text. */
export function textElement(name: string, text: string | number | null | undefined): string {
  const content = escapeXml(String(text ?? ''))
  return content === '' ? '' : `<${name}>${content}</${name}>`
}

/** An element without content. */
export function emptyElement(name: string, attributes: Readonly<Record<string, string>>): string {
  return `<${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join('')}/>`
}

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n'

/**
 * CDATA as plain text, and without the white space that the writer of feeds puts around it: an
 * address with & in it would begin with a line break, and not every reader takes that away.
 */
export function unwrapCdata(xml: string): string {
  const [opening, closing] = ['<![CDATA[', ']]>']
  const pieces: string[] = []
  let at = 0
  // By hand: a pattern that begins with white space would search every run of it once for each of
  // its characters.
  for (let begin = xml.indexOf(opening); begin >= 0; begin = xml.indexOf(opening, at)) {
    const end = xml.indexOf(closing, begin)
    pieces.push(xml.slice(at, begin).trimEnd(), escapeXml(xml.slice(begin + opening.length, end)))
    at = end + closing.length
    while (xml[at] === ' ' || xml[at] === '\n') at++
  }
  return pieces.join('') + xml.slice(at)
}
