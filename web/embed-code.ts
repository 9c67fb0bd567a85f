/** Returns the HTML with which other sites embed the player of a talk. */
export function embedCode(options: {
  readonly src: string
  readonly width: number
  readonly height: number
  readonly title: string
}): string {
  const { src, width, height, title } = options
  const attributes = [
    `src="${escapeAttribute(src)}"`,
    `width="${width}" height="${height}"`,
    `title="${escapeAttribute(title)}"`,
    'sandbox="allow-scripts allow-same-origin allow-presentation allow-popups',
    'allow-popups-to-escape-sandbox"',
    'allow="autoplay; encrypted-media; fullscreen; picture-in-picture; clipboard-write"',
    'allowfullscreen frameborder="0" loading="lazy"',
  ]
  return `<iframe ${attributes.join(' ')}></iframe>`
}

/** The size of the player that other sites embed, unless they ask for another one. */
export const embedSize = { width: 640, height: 360 } as const

const escapeAttribute = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
