const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/** Returns the writing direction of a text: that of its first letter, as for `dir="auto"`. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const [letter] = /\p{L}/u.exec(text) ?? ['']
  return rightToLeft.test(letter) ? 'rtl' : 'ltr'
}
