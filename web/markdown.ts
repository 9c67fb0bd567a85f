import MarkdownIt from 'markdown-it'

// Renders the Markdown of records. HTML is escaped, images are not loaded from other hosts, and
// only http, https and mailto links are allowed.

const safeUrl = /^(https?:\/\/|mailto:)/i

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false })
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
markdown.validateLink = (url) => safeUrl.test(url)
// An image would be requested from another host as soon as the page opens.
markdown.disable('image')

const rules = markdown.renderer.rules
const renderToken: NonNullable<typeof rules.link_open> = (tokens, index, options, _, self) =>
  self.renderToken(tokens, index, options)
rules.link_open = (tokens, index, ...rest) => {
  tokens[index]?.attrSet('rel', 'nofollow noopener ugc')
  return renderToken(tokens, index, ...rest)
}
// The page has its own headings. Those of a text are all on the level below, because authors start
// with any of the six levels.
for (const rule of ['heading_open', 'heading_close'] as const)
  rules[rule] = (tokens, index, ...rest) => {
    const token = tokens[index]
    if (token) token.tag = 'h3'
    return renderToken(tokens, index, ...rest)
  }

/**
 * The longest text that is rendered at once, in characters. Some constructs take quadratic time: at
 * this length the slowest known one takes 30 ms, at 100,000 characters 2.4 s.
 */
export const maxPartLength = 5000
/** A row of two characters makes as many cells as its table has columns. */
const maxTableCells = 2000

/** How many parts of a text are rendered; what follows is shown without formatting. */
const maxParts = 3

/**
 * Splits a text into parts to be rendered one by one, and the rest of a very long text. Of 30,000
 * real texts 19 are longer than one part, and none is longer than three.
 */
export function markdownParts(text: string): { formatted: string[]; rest: string } {
  const formatted: string[] = []
  let rest = text
  while (formatted.length < maxParts && (rest !== '' || formatted.length === 0)) {
    const end = rest.length > maxPartLength ? partEnd(rest) : rest.length
    formatted.push(rest.slice(0, end))
    rest = rest.slice(end)
  }
  return { formatted, rest }
}

/** Renders a text of at most `maxPartLength` characters; a longer one can take seconds. */
export function renderMarkdownPart(part: string): string {
  return hasHugeTable(part) ? plainHtml(part) : markdown.render(part)
}

/** Turns a text of any length into paragraphs, as it is written. */
export function plainHtml(text: string): string {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim() !== '')
  return paragraphs.map((paragraph) => `<p>${markdown.utils.escapeHtml(paragraph)}</p>\n`).join('')
}

/** Marks the end of a list item. Markdown replaces this character in texts. */
const itemEnd = '\0'

/** Returns the start of a text without markup, cut to a number of characters. */
export function plainText(text: string, limit: number): string {
  // Markup takes some of the characters, but rarely most of them.
  const source = text.slice(0, Math.min(limit * 4, maxPartLength))
  const words = (hasHugeTable(source) ? [] : markdown.parse(source, {}))
    .map(({ type, children }) =>
      type === 'list_item_close'
        ? itemEnd
        : (children ?? [])
            .map(({ type, content }) =>
              type === 'softbreak' || type === 'hardbreak' ? ' ' : content,
            )
            .join(''),
    )
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    // An item ends with a semicolon, unless it has a punctuation mark or is the last text.
    .replaceAll(/([.!?:;,…]?)(?: ?\0)+( ?)/g, (_, mark, space) =>
      space ? `${mark || ';'} ` : mark,
    )
  // A character has at most two code units: this slice tells whether there are too many.
  const characters = [...words.slice(0, limit * 2 + 2)]
  if (characters.length <= limit) return words
  const start = characters.slice(0, limit - 1).join('')
  return `${start.trimEnd()}…`
}

/** Ends a part after a paragraph, else after a line, else after a word, but not too soon. */
function partEnd(text: string): number {
  for (const separator of ['\n\n', '\n', ' ']) {
    const end = text.lastIndexOf(separator, maxPartLength - separator.length) + separator.length
    if (end > maxPartLength / 2) return end
  }
  const isInsidePair = /[\ud800-\udbff]/.test(text[maxPartLength - 1] as string)
  return isInsidePair ? maxPartLength - 1 : maxPartLength
}

function hasHugeTable(text: string): boolean {
  const lines = text.split(/\r\n?|\n/)
  const isHuge = (line: string) => line.split('|').length * lines.length > maxTableCells
  return lines.some((line) => line.includes('|') && /^[-:|\s>]+$/.test(line) && isHuge(line))
}
