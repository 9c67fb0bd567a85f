import anyAscii from 'any-ascii'

const longest = 50

/** The text as lowercase ASCII words joined by hyphens, cut to fit; empty where nothing is left. */
export function slugify(text: string): string {
  // Pictures have names in ASCII too (":microphone:"), but nobody reads them as a part of the
  // title.
  const words = anyAscii(text.replaceAll(/\p{Extended_Pictographic}/gu, ' '))
    .toLowerCase()
    .replaceAll(/['’]/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
  return cut(words.replace(/^-/, ''), longest)
}

/** The slug with a number behind it, within the same length. */
export function numberedSlug(slug: string, number: number): string {
  const suffix = `-${number}`
  return cut(slug, longest - suffix.length) + suffix
}

function cut(slug: string, length: number): string {
  return slug.slice(0, length).replace(/-+$/, '')
}
