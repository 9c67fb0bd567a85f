import anyAscii from 'any-ascii'

const maxLength = 50

/**
 * Converts a text to lowercase ASCII words joined by hyphens, truncated to 50 characters. Returns
 * an empty string if no letter or digit remains.
 */
export function slugify(text: string): string {
  // any-ascii would spell emoji out (":microphone:"), which is not part of the title.
  const words = anyAscii(text.replaceAll(/\p{Extended_Pictographic}/gu, ' '))
    .toLowerCase()
    .replaceAll(/['’]/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
  return truncate(words.replace(/^-/, ''), maxLength)
}

/** Appends a number to a slug, truncated to the same maximum length. */
export function numberedSlug(slug: string, number: number): string {
  const suffix = `-${number}`
  return truncate(slug, maxLength - suffix.length) + suffix
}

function truncate(slug: string, length: number): string {
  return slug.slice(0, length).replace(/-+$/, '')
}
