import { isTextField } from './dom.ts'

// Keys of the lists of the desk: j and k move between the items, Enter opens one as any link, and ?
// shows the keys.

/** Installs the keys, if the page has such a list. */
export function startListKeys(): void {
  const dialog = document.querySelector<HTMLDialogElement>('[data-list-keys]')
  if (!dialog) return
  const show = () => {
    if (!dialog.open) dialog.showModal()
  }
  document.querySelector('[data-show-keys]')?.addEventListener('click', show)
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return
    if (event.key === '?') show()
    if (event.key !== 'j' && event.key !== 'k') return
    event.preventDefault()
    move(event.key === 'j' ? 1 : -1)
  })
}

/** Moves the focus to another item. Starts at the first one. */
function move(step: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')]
  const { activeElement } = document
  const isInRow = (item: HTMLElement) => item.closest('li, tr')?.contains(activeElement) ?? false
  const focused = items.indexOf(activeElement as HTMLElement)
  const index = focused === -1 ? items.findIndex(isInRow) : focused
  const next = index === -1 ? 0 : Math.min(Math.max(index + step, 0), items.length - 1)
  items[next]?.focus()
}
