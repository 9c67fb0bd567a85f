// Removes the markup of Markdown with regular expressions. A parser would be exact, but takes too
// long for a hundred texts of 20,000 characters. Every quantifier is bounded or stops at the
// character that the next match starts with, so that the time is linear.

const replacements: readonly (readonly [RegExp, string])[] = [
  // Rules and underlines of headings, headings, quotes, list items
  [/^ {0,3}[-*_=]{3,} *$/gm, ''],
  [/^ {0,3}#{1,6} +/gm, ''],
  [/^ {0,3}> ?/gm, ''],
  [/^( {0,8})[-*+] +/gm, '$1• '],
  // Images, links, URLs
  [/!?\[([^[\]]{1,300})\]\((?:[^()\s]|\([^()\s]{0,100}\)){0,500}(?: "[^"]{0,200}")?\)/g, '$1'],
  [/<(https?:\/\/[^<>\s]{1,500})>/g, '$1'],
  // Code, deleted text
  [/(`{1,3})([^`]{1,300})\1/g, '$2'],
  [/~~([^~]{1,300})~~/g, '$1'],
  // Emphasis, and strong text around emphasis
  ...Array.from({ length: 2 }, () => [/(\*{1,3})(?=\S)([^*]{1,300})(?<=\S)\1/g, '$2'] as const),
  ...Array.from(
    { length: 2 },
    () =>
      [/(?<![\p{L}\p{N}_])(_{1,3})(?=\S)([^_]{1,300})(?<=\S)\1(?![\p{L}\p{N}_])/gu, '$2'] as const,
  ),
  // Escaped punctuation
  [/\\([!-/:-@[-`{-~])/g, '$1'],
]

/** Returns a text without the markup of Markdown. Keeps markup that it does not recognise. */
export function stripMarkdown(text: string): string {
  // Most texts have none of it.
  if (!/[*_`~#>[\\<=]|^ *[-+] /m.test(text)) return text
  return replacements.reduce(
    (result, [pattern, replacement]) => result.replaceAll(pattern, replacement),
    text,
  )
}
