import MarkdownIt from 'markdown-it'

// Texts of records are Markdown. Markup in them is text, pictures are links (nobody is asked for one without the reader knowing), and only
// these kinds of addresses lead anywhere.

const safe = /^(https?:\/\/|mailto:)/i

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false })
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
markdown.validateLink = (address) => safe.test(address)
// A picture would be asked for at somebody else's place as soon as the page opens.
markdown.disable('image')

const rules = markdown.renderer.rules
const plain: NonNullable<typeof rules.link_open> = (tokens, at, options, _, self) => self.renderToken(tokens, at, options)
rules.link_open = (tokens, at, ...rest) => {
  tokens[at]?.attrSet('rel', 'nofollow noopener ugc')
  return plain(tokens, at, ...rest)
}
// The page has its own headings above. Those of a text are below them, all alike: people begin with any of the six.
for (const rule of ['heading_open', 'heading_close'] as const)
  rules[rule] = (tokens, at, ...rest) => {
    const token = tokens[at]
    if (token) token.tag = 'h3'
    return plain(tokens, at, ...rest)
  }

export function markdownToHtml(text: string): string {
  return markdown.render(text)
}

/** The first words of a text, without its marks. */
export function plainText(text: string, most: number): string {
  const words = markdown
    .parse(text, {})
    .flatMap((token) => token.children ?? [])
    .map((token) => (token.type === 'softbreak' || token.type === 'hardbreak' ? ' ' : token.content))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim()
  // A letter takes two places at most: with these, there are too many if there are too many in all.
  const letters = [...words.slice(0, most * 2 + 2)]
  return letters.length <= most
    ? words
    : `${letters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`
}
