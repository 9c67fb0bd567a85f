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

/** Attributes of an element. Those that are undefined are left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>

/** Writes an element with content that is XML already, as a line. */
export function element(name: string, content: string, attributes: Attributes = {}): string {
  return `<${name}${attributesText(attributes)}>${content}</${name}>\n`
}

/** Writes an element with text; nothing if the text is empty. */
export function textElement(
  name: string,
  text: string | number | null | undefined,
  attributes: Attributes = {},
): string {
  const content = escapeXml(String(text ?? ''))
  return content === '' ? '' : `<${name}${attributesText(attributes)}>${content}</${name}>`
}

/** Writes an element without content. */
export function emptyElement(name: string, attributes: Attributes): string {
  return `<${name}${attributesText(attributes)}/>`
}

function attributesText(attributes: Attributes): string {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('')
}

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n'
