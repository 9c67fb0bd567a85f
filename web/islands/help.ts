import { message } from './messages.ts'

const keys: [string[], string][] = [
  [['/', 'Ctrl K'], 'keyOpen'],
  [['?'], 'keyHelp'],
  [['Esc'], 'keyClose'],
]
const ofPlayer: [string[], string][] = [
  [['k'], 'keyPlay'],
  [['j', 'l'], 'keyBack'],
  [['m'], 'keyMute'],
  [['f'], 'keyFull'],
  [['<', '>'], 'keySpeed'],
  [['c'], 'keyCopy'],
]

export function openHelp(): void {
  if (document.querySelector('dialog.keys')) return
  const dialog = document.createElement('dialog')
  dialog.className = 'keys'
  const title = document.createElement('h2')
  title.textContent = message('keysTitle')
  title.id = 'keys-title'
  dialog.setAttribute('aria-labelledby', title.id)
  const list = document.createElement('dl')
  const shown = document.querySelector('[data-player]') ? [...keys, ...ofPlayer] : keys
  for (const [names, text] of shown) {
    const term = document.createElement('dt')
    names.forEach((name, at) => {
      const key = document.createElement('kbd')
      key.textContent = name
      term.append(...(at > 0 ? [' '] : []), key)
    })
    const does = document.createElement('dd')
    does.textContent = message(text)
    list.append(term, does)
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
