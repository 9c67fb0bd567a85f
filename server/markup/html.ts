// Converts simple HTML, as it is typed into the forms of conferences, to Markdown. No I/O.

/**
 * Converts a text. Text without HTML stays as it is. In Markdown or plain text with a few tags,
 * only the tags are converted. If whole paragraphs are HTML, its rules apply to all of the text:
 * white space, entities, and the escaping of characters with a meaning in Markdown.
 */
export function htmlToMarkdown(text: string): string {
  if (!htmlSign.test(text)) return text
  const isHtml = paragraph.test(text)
  const writer = new MarkdownWriter()
  let isSkipped = false
  for (const token of tokens(text)) {
    if (typeof token !== 'string') {
      if (token.tag === 'script' || token.tag === 'style') isSkipped = !token.isEnd
      else writer.tag(token)
    } else if (!isSkipped) {
      if (isHtml) writer.htmlText(token)
      else writer.plainText(token)
    }
  }
  return writer.text()
}

const tagNames =
  'p|br|a|b|strong|i|em|u|s|span|div|ul|ol|li|h[1-6]|blockquote|pre|code|hr|script|style|' +
  'font|small|sub|sup|table|tbody|thead|tr|td|th'
const htmlSign = new RegExp(`</(?:${tagNames})\\s*>|<(?:br|p|hr|li)\\s*/?>`, 'i')
const paragraph = /<(?:p|div|ul|ol|h[1-6]|table)(?![\w-])[^<>]*>/i
const maxDepth = 20

interface Tag {
  readonly tag: string
  readonly isEnd: boolean
  readonly href: string | undefined
}

/** Splits a text into tags and the text between them. Comments are removed. */
function* tokens(text: string): Generator<string | Tag> {
  // A regular expression would search the end of each unclosed comment, in quadratic time.
  const [before = '', ...others] = text.split('<!--')
  const visible =
    before +
    others.map((part) => (part.includes('-->') ? part.slice(part.indexOf('-->') + 3) : '')).join('')
  let end = 0
  // For the same reason a tag does not extend over another `<`.
  for (const match of visible.matchAll(new RegExp(`<(/?)(${tagNames})(?![\\w-])([^<>]*)>`, 'gi'))) {
    const [whole, slash, name = '', attributes = ''] = match
    yield visible.slice(end, match.index)
    yield { tag: name.toLowerCase(), isEnd: slash === '/', href: hrefIn(attributes) }
    end = match.index + whole.length
  }
  yield visible.slice(end)
}

/** Returns the href attribute if it is an absolute web or mail URL. */
function hrefIn(attributes: string): string | undefined {
  const [, double, single, bare] =
    /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))/i.exec(attributes) ?? []
  const href = decodeEntities(double ?? single ?? bare ?? '').trim()
  const unsafe = /[\s()<>\\]/g
  return /^(https?:\/\/|mailto:)./i.test(href)
    ? href.replaceAll(
        unsafe,
        (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
      )
    : undefined
}

// Converts an element, given its text, which is not empty and has no white space at its ends.
const wrappers: Readonly<Record<string, (inner: string, href: string | undefined) => string>> = {
  a: (inner, href) =>
    href === undefined || inner === href || isBroken(inner) ? inner : `[${inner}](${href})`,
  b: (inner) => around('**', inner),
  strong: (inner) => around('**', inner),
  i: (inner) => around('*', inner),
  em: (inner) => around('*', inner),
  code: (inner) => (inner.includes('`') ? `\`\` ${inner} \`\`` : around('`', inner)),
  pre: (inner) => `${'```'}\n${inner.replaceAll('```', "'''")}\n${'```'}`,
  blockquote: (inner) => `> ${inner.replaceAll('\n', '\n> ')}`,
}

// In Markdown, inline markup ends with the paragraph.
const isBroken = (inner: string) => inner.includes('\n\n')
const around = (mark: string, inner: string) => (isBroken(inner) ? inner : mark + inner + mark)

/** An open element and the Markdown in it. */
interface Frame {
  readonly tag: string
  readonly href: string | undefined
  readonly parts: string[]
}

/**
 * Builds the Markdown. The white space between two parts is decided when the second one is written.
 */
class MarkdownWriter {
  /** The open elements, in an outer frame for the whole text. */
  private readonly frames: Frame[] = [{ tag: '', href: undefined, parts: [] }]
  /** The open lists: the next number of an ordered list, 0 for an unordered one. */
  private readonly lists: number[] = []
  private gap: '' | '\n' | '  \n' | '\n\n' = ''
  private isEmpty = true
  /** After the marker of a heading or an item, no paragraph is started. */
  private isAfterMarker = false
  /** After white space, no more of it is written. */
  private isAfterSpace = true

  /** Writes text between HTML tags. */
  htmlText(text: string): void {
    if (this.isInside('pre')) this.write(decodeEntities(text))
    else {
      const flowing = decodeEntities(text.replaceAll(/\s+/g, ' '))
      this.flow(flowing, this.isInside('code') ? String : escapeMarkdown)
    }
  }

  /** Writes text in which white space matters. */
  plainText(text: string): void {
    const rest = this.gap === '' ? text : text.trimStart()
    if (text.slice(0, text.length - rest.length).split('\n').length > 2) this.gap = '\n\n'
    this.write(rest)
  }

  /** Converts a tag. The text of other elements stays: they only describe its appearance. */
  tag(token: Tag): void {
    const { tag, isEnd } = token
    if (tag === 'br') this.breakLine()
    else if (tag === 'p' || tag === 'div') this.block('\n\n')
    else if (tag === 'tr') this.block('\n')
    else if (tag === 'td' || tag === 'th') this.flow(' ', String)
    else if (tag === 'hr') this.marker('---', '\n\n')
    else if (/^h\d$/.test(tag)) this.marker(isEnd ? '' : `${'#'.repeat(Number(tag[1]))} `, '\n\n')
    else if (tag === 'ul' || tag === 'ol') this.list(tag, isEnd)
    else if (tag === 'li') this.listItem(isEnd)
    else if (Object.hasOwn(wrappers, tag) && !(tag === 'code' && this.isInside('pre'))) {
      if (isEnd) this.close(tag)
      else this.open(token)
    }
  }

  text(): string {
    return this.frames
      .flatMap(({ parts }) => parts)
      .join('')
      .trim()
  }

  private list(tag: 'ul' | 'ol', isEnd: boolean): void {
    const { lists } = this
    if (isEnd) lists.pop()
    else if (lists.length < maxDepth) lists.push(tag === 'ol' ? 1 : 0)
    this.marker('', lists.length > (isEnd ? 0 : 1) ? '\n' : '\n\n')
  }

  private listItem(isEnd: boolean): void {
    const { lists } = this
    const number = lists.at(-1) ?? 0
    if (number > 0 && !isEnd) lists[lists.length - 1] = number + 1
    const marker = number > 0 ? `${number}. ` : '- '
    const indent = '   '.repeat(Math.max(0, lists.length - 1))
    this.marker(isEnd ? '' : indent + marker, '\n')
  }

  private isInside(tag: string): boolean {
    return this.frames.some((frame) => frame.tag === tag)
  }

  private write(part: string): void {
    if (part === '') return
    this.frames.at(-1)?.parts.push(this.isEmpty ? '' : this.gap, part)
    this.gap = ''
    this.isEmpty = false
    this.isAfterMarker = false
    this.isAfterSpace = /\s/.test(part.at(-1) ?? '')
  }

  /** Starts a new block or line. */
  private block(gap: '\n' | '\n\n'): void {
    this.isAfterSpace = true
    if (!this.isAfterMarker && this.gap !== '\n\n') this.gap = gap
  }

  /** Writes text in which white space is collapsed. */
  private flow(text: string, convert: (text: string) => string): void {
    this.write(convert(this.isAfterSpace ? text.trimStart() : text))
  }

  /** Writes the marker of a heading, item or rule on a new line; an empty one ends the block. */
  private marker(text: string, gap: '\n' | '\n\n'): void {
    this.isAfterMarker = false
    this.block(gap)
    this.write(text)
    if (text.endsWith(' ')) this.isAfterMarker = true
    else this.block(gap)
  }

  private breakLine(): void {
    this.gap = this.gap === '' ? '  \n' : '\n\n'
    this.isAfterSpace = true
  }

  private open({ tag, href }: Tag): void {
    if (this.frames.length <= maxDepth) this.frames.push({ tag, href, parts: [] })
  }

  private close(tag: string): void {
    const index = this.frames.findLastIndex((frame) => frame.tag === tag)
    if (index < 1) return
    const closed = this.frames.splice(index)
    const inner = closed.flatMap(({ parts }) => parts).join('')
    const core = tag === 'pre' ? inner.trimEnd().replace(/^\n+/, '') : inner.trim()
    if (core === '') {
      this.write(inner)
      return
    }
    const wrapped = wrappers[tag]?.(core, closed[0]?.href) ?? core
    if (tag === 'pre' || tag === 'blockquote') {
      this.gap = '\n\n'
      this.write(wrapped)
      this.block('\n\n')
      return
    }
    // White space moves out of the element, because markup next to white space has no effect. So
    // does the gap after the last paragraph in it.
    const gapAfter = this.gap
    this.gap = ''
    const start = inner.indexOf(core)
    this.write(inner.slice(0, start) + wrapped + inner.slice(start + core.length))
    if (gapAfter !== '') this.gap = gapAfter
  }
}

// The entities that people type or that editors insert.
const entities = new Map(
  Object.entries({
    ...{
      amp: '&',
      lt: '<',
      gt: '>',
      quot: '"',
      apos: "'",
      nbsp: ' ',
      shy: '',
      ndash: '–',
      mdash: '—',
      hellip: '…',
      bull: '•',
      middot: '·',
    },
    ...{
      lsquo: '‘',
      rsquo: '’',
      sbquo: '‚',
      ldquo: '“',
      rdquo: '”',
      bdquo: '„',
      laquo: '«',
      raquo: '»',
      copy: '©',
      reg: '®',
      trade: '™',
    },
    ...{
      auml: 'ä',
      ouml: 'ö',
      uuml: 'ü',
      Auml: 'Ä',
      Ouml: 'Ö',
      Uuml: 'Ü',
      szlig: 'ß',
      eacute: 'é',
      egrave: 'è',
      agrave: 'à',
      ccedil: 'ç',
    },
    ...{
      aacute: 'á',
      iacute: 'í',
      oacute: 'ó',
      uacute: 'ú',
      ntilde: 'ñ',
      euro: '€',
      times: '×',
      rarr: '→',
      larr: '←',
      deg: '°',
      sect: '§',
    },
  }),
)

function decodeEntities(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities.get(name) ?? whole
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      const isCharacter =
        code >= 0x20 && code !== 0x7f && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      return isCharacter ? String.fromCodePoint(code) : ' '
    },
  )
}

/** Escapes characters with a meaning in Markdown, except in URLs and words like snake_case. */
function escapeMarkdown(text: string): string {
  const special =
    /https?:\/\/[^\s<]+|[\\`*[\]]|<(?=[a-z/!?]|$)|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/giu
  return text.replaceAll(special, (match) => (match.length === 1 ? `\\${match}` : match))
}
