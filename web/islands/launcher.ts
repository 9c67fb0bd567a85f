import { createElement } from './dom.ts'
import { base, message } from './messages.ts'
import { createSuggestionList, suggest } from './suggestions.ts'

/** Opens the quick search: a dialog with a search box and suggestions. */
export function openLauncher(): void {
  if (document.querySelector('dialog.launcher')) return
  const label = message('launcher')
  const input = createElement('input', {
    type: 'text',
    name: 'q',
    dir: 'auto',
    autocomplete: 'off',
    enterkeyhint: 'search',
    'aria-label': label,
    placeholder: label,
    maxlength: '300',
  })
  const close = createElement('button', { type: 'button', class: 'button' }, message('close'))
  const list = createSuggestionList()
  const hint = createElement('p', { class: 'hint', role: 'status' }, message('launcherHint'))
  const dialog = createElement(
    'dialog',
    { class: 'launcher', 'aria-label': label },
    createElement('form', { action: `${base}/search` }, input, close),
    list,
    hint,
  )
  suggest(input, list, (count) => {
    const hasNoMatch = count === 0 && input.value.trim() !== ''
    hint.textContent = message(hasNoMatch ? 'launcherEmpty' : 'launcherHint')
  })
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}
