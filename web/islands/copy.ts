import { word } from './words.ts'

/** A button with data-copy-text="id" copies the text of the element with this id. */
export function startCopying(): void {
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLButtonElement>('[data-copy-text]') : null
    const text = button && document.getElementById(button.dataset.copyText ?? '')?.textContent
    if (!button || !text) return
    await navigator.clipboard.writeText(text.trim())
    const before = [...button.childNodes]
    button.textContent = word('copied')
    setTimeout(() => button.replaceChildren(...before), 1500)
  })
}
