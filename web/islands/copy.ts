import { message } from './messages.ts'

/** Makes buttons with data-copy-text="id" copy the text of the element with this id. */
export function startCopying(): void {
  document.addEventListener('click', async ({ target }) => {
    const button =
      target instanceof Element ? target.closest<HTMLButtonElement>('[data-copy-text]') : null
    const source = button && document.getElementById(button.dataset.copyText ?? '')
    if (!button || !source) return
    try {
      await navigator.clipboard.writeText((source.textContent ?? '').trim())
    } catch {
      // The clipboard is denied, or missing without https: select the text to copy it by hand.
      getSelection()?.selectAllChildren(source)
      return
    }
    const before = [...button.childNodes]
    if (button.ariaDisabled) return
    // A button that is really disabled would lose the focus.
    button.ariaDisabled = 'true'
    button.textContent = message('copied')
    setTimeout(() => {
      button.replaceChildren(...before)
      button.ariaDisabled = null
    }, 1500)
  })
}
