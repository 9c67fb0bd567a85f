// The script of the reference. It is inlined and allowed by its hash. The page has all content
// without it.

/** Adds a button to each example that copies it, if the browser lets pages copy. */
export const referenceScript = `
if (navigator.clipboard)
  for (const figure of document.querySelectorAll('figure')) {
    const caption = figure.querySelector('figcaption')
    const button = document.createElement('button')
    const show = (text) => { button.textContent = text }
    button.type = 'button'
    button.setAttribute('aria-live', 'polite')
    show('Copy')
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(figure.querySelector('pre').textContent)
        show('Copied')
      } catch {
        show('Not copied')
      }
      setTimeout(show, 2000, 'Copy')
    })
    caption.append(button)
  }
`
