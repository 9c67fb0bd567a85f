import { createElement } from './dom.ts'
import { message } from './messages.ts'

const keys: [string[], string][] = [
  [['/', 'Ctrl K'], 'keyOpen'],
  [['?'], 'keyHelp'],
  [['Esc'], 'keyClose'],
]
const playerKeys: [string[], string][] = [
  [['k'], 'keyPlay'],
  [['j', 'l'], 'keyBack'],
  [['m'], 'keyMute'],
  [['f'], 'keyFull'],
  [['<', '>'], 'keySpeed'],
  [['c'], 'keyCopy'],
  [['e'], 'keyEdit'],
]

/** Opens the dialog with the keyboard shortcuts. */
export function openHelp(): void {
  if (document.querySelector('dialog.keys')) return
  const title = createElement('h2', { id: 'keys-title' }, message('keysTitle'))
  const available = document.querySelector('[data-player]') ? [...keys, ...playerKeys] : keys
  const list = createElement(
    'dl',
    {},
    ...available.flatMap(([names, text]) => [
      createElement('dt', {}, ...names.flatMap((name) => [createElement('kbd', {}, name), ' '])),
      createElement('dd', {}, message(text)),
    ]),
  )
  const close = createElement('button', { type: 'button', class: 'button' }, message('close'))
  const dialog = createElement(
    'dialog',
    { class: 'keys', 'aria-labelledby': title.id },
    title,
    list,
    close,
  )
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}
