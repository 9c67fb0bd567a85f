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
]

/** Opens the dialog with the keyboard shortcuts. */
export function openHelp(): void {
  if (document.querySelector('dialog.keys')) return
  const dialog = document.createElement('dialog')
  dialog.className = 'keys'
  const title = document.createElement('h2')
  title.textContent = message('keysTitle')
  title.id = 'keys-title'
  dialog.setAttribute('aria-labelledby', title.id)
  const list = document.createElement('dl')
  const available = document.querySelector('[data-player]') ? [...keys, ...playerKeys] : keys
  for (const [names, text] of available) {
    const term = document.createElement('dt')
    names.forEach((name, index) => {
      const key = document.createElement('kbd')
      key.textContent = name
      term.append(...(index > 0 ? [' '] : []), key)
    })
    const definition = document.createElement('dd')
    definition.textContent = message(text)
    list.append(term, definition)
  }
  const close = document.createElement('button')
  close.className = 'button'
  close.textContent = message('close')
  close.addEventListener('click', () => dialog.close())
  dialog.append(title, list, close)
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}
