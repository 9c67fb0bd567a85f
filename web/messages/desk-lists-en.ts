/** The texts of the keys that move in lists of the desk. */
export const listsEn = {
  keys: 'Keyboard shortcuts (?)',
  keysTitle: 'Keyboard shortcuts',
  close: 'Close',
  /** What each key does. */
  keyTexts: {
    j: 'Next item',
    k: 'Previous item',
    Enter: 'Open the item',
    '?': 'Show this list',
  },
}

export type ListMessages = typeof listsEn
