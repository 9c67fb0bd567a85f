// Simple HTML as Markdown: what people type into the forms of a conference. No I/O.

/**
 * What is no HTML stays as it is. Some texts are Markdown, or plain text, with a few tags in
 * between: there only the tags change. Where whole paragraphs are HTML, its rules hold for all of
 * it: white space, entities, and signs that would mean something in Markdown.
 */
export function htmlToMarkdown(text: string): string {
  if (!sign.test(text)) return text
  const isHtml = paragraph.test(text)
  const page = newPage()
  const lists: number[] = []
  let skipped = false

  for (const piece of pieces(text)) {
    if (typeof piece === 'string') {
      if (skipped) continue
      if (!isHtml) page.plain(piece)
      else if (page.isInside('pre')) page.write(decoded(piece))
      else
        page.flow(decoded(piece.replaceAll(/\s+/g, ' ')), page.isInside('code') ? String : escaped)
      continue
    }
    const { tag, isEnd } = piece
    if (tag === 'script' || tag === 'style') skipped = !isEnd
    else if (tag === 'br') page.breakLine()
    else if (tag === 'p' || tag === 'div') page.block('\n\n')
    else if (tag === 'tr') page.block('\n')
    else if (tag === 'td' || tag === 'th') page.flow(' ', String)
    else if (tag === 'hr') page.sign('---', '\n\n')
    else if (/^h\d$/.test(tag)) {
      page.sign(isEnd ? '' : `${'#'.repeat(Number(tag[1]))} `, '\n\n')
    } else if (tag === 'ul' || tag === 'ol') {
      if (isEnd) lists.pop()
      else if (lists.length < deepest) lists.push(tag === 'ol' ? 1 : 0)
      page.sign('', lists.length > (isEnd ? 0 : 1) ? '\n' : '\n\n')
    } else if (tag === 'li') {
      const number = lists.at(-1) ?? 0
      if (number > 0 && !isEnd) lists[lists.length - 1] = number + 1
      const mark = number > 0 ? `${number}. ` : '- '
      page.sign(isEnd ? '' : '   '.repeat(Math.max(0, lists.length - 1)) + mark, '\n')
    } else if (Object.hasOwn(wraps, tag) && !(tag === 'code' && page.isInside('pre'))) {
      if (isEnd) page.close(tag)
      else page.open(piece)
    }
    // Any other says how something looks, and not what it is: its text stays.
  }
  return page.text()
}

const known =
  'p|br|a|b|strong|i|em|u|s|span|div|ul|ol|li|h[1-6]|blockquote|pre|code|hr|script|style|font|small|sub|sup|table|tbody|thead|tr|td|th'
const sign = new RegExp(`</(?:${known})\\s*>|<(?:br|p|hr|li)\\s*/?>`, 'i')
const paragraph = /<(?:p|div|ul|ol|h[1-6]|table)(?![\w-])[^<>]*>/i
const deepest = 20

interface Tag {
  readonly tag: string
  readonly isEnd: boolean
  readonly href: string | undefined
}

function* pieces(text: string): Generator<string | Tag> {
  // Comments are cut out by hand: an expression would look for the end of each that has none, and
  // need hours for a million of them.
  const [before = '', ...others] = text.split('<!--')
  const visible =
    before +
    others.map((it) => (it.includes('-->') ? it.slice(it.indexOf('-->') + 3) : '')).join('')
  let end = 0
  // For the same reason no tag reaches over another `<`.
  for (const match of visible.matchAll(new RegExp(`<(/?)(${known})(?![\\w-])([^<>]*)>`, 'gi'))) {
    const [whole, slash, name = '', attributes = ''] = match
    yield visible.slice(end, match.index)
    yield { tag: name.toLowerCase(), isEnd: slash === '/', href: hrefIn(attributes) }
    end = match.index + whole.length
  }
  yield visible.slice(end)
}

/** Only what can be followed from anywhere, and does nothing but lead somewhere. */
function hrefIn(attributes: string): string | undefined {
  const [, double, single, bare] =
    /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))/i.exec(attributes) ?? []
  const href = decoded(double ?? single ?? bare ?? '').trim()
  const unsafe = /[\s()<>\\]/g
  return /^(https?:\/\/|mailto:)./i.test(href)
    ? href.replaceAll(unsafe, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)
    : undefined
}

// What an element becomes around its text, which is never empty and has no white space at its ends.
const wraps: Readonly<Record<string, (inner: string, href: string | undefined) => string>> = {
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

// In Markdown these end with the paragraph.
const isBroken = (inner: string) => inner.includes('\n\n')
const around = (mark: string, inner: string) => (isBroken(inner) ? inner : mark + inner + mark)

interface Frame {
  readonly tag: string
  readonly href: string | undefined
  readonly parts: string[]
}

/**
 * What has been written. What stands between two pieces is only known when the second one comes.
 */
function newPage() {
  const root: Frame = { tag: '', href: undefined, parts: [] }
  const frames: Frame[] = [root]
  let gap: '' | '\n' | '  \n' | '\n\n' = ''
  let isEmpty = true
  // Behind the sign of a heading or an item no paragraph begins, and behind a space there is no
  // second one.
  let isBehindSign = false
  let isBehindSpace = true

  function write(piece: string): void {
    if (piece === '') return
    frames.at(-1)?.parts.push(isEmpty ? '' : gap, piece)
    gap = ''
    isEmpty = false
    isBehindSign = false
    isBehindSpace = /\s/.test(piece.at(-1) ?? '')
  }

  function block(next: '\n' | '\n\n'): void {
    isBehindSpace = true
    if (!isBehindSign && gap !== '\n\n') gap = next
  }

  return {
    write,
    block,
    isInside: (tag: string) => frames.some((frame) => frame.tag === tag),

    /** Text in which white space is no more than that. */
    flow(text: string, finish: (text: string) => string): void {
      write(finish(isBehindSpace ? text.trimStart() : text))
    },

    /** Text in which it matters. */
    plain(text: string): void {
      const rest = gap === '' ? text : text.trimStart()
      if (text.slice(0, text.length - rest.length).split('\n').length > 2) gap = '\n\n'
      write(rest)
    },

    /**
     * The sign of a heading, item or line, at the beginning of a line. Without one, the end of it.
     */
    sign(text: string, next: '\n' | '\n\n'): void {
      isBehindSign = false
      block(next)
      write(text)
      if (text.endsWith(' ')) isBehindSign = true
      else block(next)
    },

    breakLine(): void {
      gap = gap === '' ? '  \n' : '\n\n'
      isBehindSpace = true
    },

    open({ tag, href }: Tag): void {
      if (frames.length <= deepest) frames.push({ tag, href, parts: [] })
    },

    close(tag: string): void {
      const place = frames.findLastIndex((frame) => frame.tag === tag)
      if (place < 1) return
      const closed = frames.splice(place)
      const inner = closed.flatMap(({ parts }) => parts).join('')
      const core = tag === 'pre' ? inner.trimEnd().replace(/^\n+/, '') : inner.trim()
      if (core === '') {
        write(inner)
        return
      }
      const wrapped = wraps[tag]?.(core, closed[0]?.href) ?? core
      if (tag === 'pre' || tag === 'blockquote') {
        gap = '\n\n'
        write(wrapped)
        block('\n\n')
      } else {
        // White space moves out: a mark beside it would be no mark. So does what comes behind the
        // last paragraph in it.
        const behind = gap
        gap = ''
        const start = inner.indexOf(core)
        write(inner.slice(0, start) + wrapped + inner.slice(start + core.length))
        if (behind !== '') gap = behind
      }
    },

    text: () =>
      frames
        .flatMap(({ parts }) => parts)
        .join('')
        .trim(),
  }
}

// The ones that people type, or that their editors put in.
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

function decoded(text: string): string {
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

/**
 * Signs that mean nothing in HTML, so that they mean nothing in Markdown. Addresses stay whole, and
 * so do words like snake_case.
 */
function escaped(text: string): string {
  const signs =
    /https?:\/\/[^\s<]+|[\\`*[\]]|<(?=[a-z/!?]|$)|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/giu
  return text.replaceAll(signs, (found) => (found.length === 1 ? `\\${found}` : found))
}
