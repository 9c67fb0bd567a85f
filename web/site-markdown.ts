import MarkdownIt from 'markdown-it'

// Renders the Markdown of the operator: imprint, privacy and others. HTML is escaped here too, but
// links may lead to other pages of the archive.

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false })
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
markdown.validateLink = (url) => /^(https?:\/\/|mailto:|tel:|\/(?!\/)|#)/i.test(url)
markdown.disable('image')

/**
 * Renders a text. The first heading becomes the title, if the text begins with it. The levels of
 * the others start at 2 and skip none. Links that start with / get the base path.
 */
export function renderSiteText(
  text: string,
  base: string,
): { readonly title?: string; readonly html: string } {
  const tokens = markdown.parse(text, {})
  const hasTitle = tokens[0]?.type === 'heading_open'
  const title = hasTitle ? plainText(tokens[1]?.children ?? []) : ''
  const rest = hasTitle ? tokens.slice(3) : tokens
  let level = 1
  for (const token of rest) {
    if (token.type === 'heading_open')
      level = Math.max(2, Math.min(Number(token.tag.slice(1)), level + 1))
    if (token.type.startsWith('heading_')) token.tag = `h${level}`
    for (const child of token.children ?? []) {
      const target = child.type === 'link_open' ? String(child.attrGet('href') ?? '') : ''
      if (target.startsWith('/')) child.attrSet('href', base + target)
    }
  }
  const html = markdown.renderer.render(rest, markdown.options, {})
  return title === '' ? { html } : { title, html }
}

const plainText = (tokens: readonly { readonly content: string }[]) =>
  tokens
    .map(({ content }) => content)
    .join('')
    .trim()
