/** Returns a text without case and accents, and with compatible characters as normal ones. */
export function foldText(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
}
