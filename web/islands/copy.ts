import { message } from './messages.ts'

/** A button with data-copy-text="id" copies the text of the element with this id. */
export function startCopying(): void {
  document.addEventListener('click', async ({ target }) => {
    const button =
      target instanceof Element ? target.closest<HTMLButtonElement>('[data-copy-text]') : null
    const source = button && document.getElementById(button.dataset.copyText ?? '')
    if (!button || !source) return
    try {
      await navigator.clipboard.writeText((source.textContent ?? '').trim())
    } catch {
      // Not allowed, or not there without https: then it is marked, to be copied by hand.
      getSelection()?.selectAllChildren(source)
      return
    }
    const before = [...button.childNodes]
    button.disabled = true
    button.textContent = message('copied')
    setTimeout(() => {
      button.replaceChildren(...before)
      button.disabled = false
    }, 1500)
  })
}
