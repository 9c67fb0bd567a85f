// Keyboard shortcuts of all pages. The dialogs are loaded when they are opened.

/** Installs the keyboard shortcuts and the buttons that open the same dialogs. */
export function startKeys(): void {
  const launch = () => import('./launcher.tsx').then(({ openLauncher }) => openLauncher())
  const help = () => import('./help.ts').then(({ openHelp }) => openHelp())

  document.addEventListener('keydown', (event) => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault()
      launch()
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (event.key === '/' || event.key === '?') {
      event.preventDefault()
      event.key === '/' ? launch() : help()
    }
  })
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element)) return
    if (target.closest('[data-launch]')) launch()
    if (target.closest('[data-keys]')) help()
  })
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
