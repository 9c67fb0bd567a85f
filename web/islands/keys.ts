// Keyboard shortcuts of all pages: Ctrl-K, Cmd-K or / opens the quick search, ? the list of
// shortcuts, e the editor of a talk. Both dialogs are loaded when they are opened.

/** Installs the keyboard shortcuts, and the button for the list of them. */
export function startKeys(): void {
  const openQuickSearch = () => import('./launcher.ts').then(({ openLauncher }) => openLauncher())
  const showShortcuts = () => import('./help.ts').then(({ openHelp }) => openHelp())

  document.addEventListener('keydown', (event) => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault()
      openQuickSearch()
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (event.key === 'e') document.querySelector<HTMLAnchorElement>('a[data-edit]')?.click()
    if (event.key === '/' || event.key === '?') {
      event.preventDefault()
      event.key === '/' ? openQuickSearch() : showShortcuts()
    }
  })
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element)) return
    if (target.closest('[data-keys]')) showShortcuts()
  })
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
