import type { ListMessages } from './desk-lists-en.ts'

export const listsEs: ListMessages = {
  keys: 'Atajos de teclado (?)',
  keysTitle: 'Atajos de teclado',
  close: 'Cerrar',
  keyTexts: {
    j: 'Elemento siguiente',
    k: 'Elemento anterior',
    Enter: 'Abrir el elemento',
    '?': 'Mostrar esta lista',
  },
}
