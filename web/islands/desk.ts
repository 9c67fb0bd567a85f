import { startEditor, startMerge } from './editor.ts'
import { startImports } from './imports.ts'
import { startInbox } from './inbox.ts'
import { startListKeys } from './list-keys.ts'
import { startMatchKeys } from './match-keys.ts'
import { startPasskeys } from './passkey.ts'

// Loaded by every page of the desk. It only enhances pages, except for passkeys, which need it.

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.hidden = false
  const text = button.textContent
  button.addEventListener('click', async () => {
    const field = button.parentElement?.querySelector('input')
    field?.select()
    // Without HTTPS there is no clipboard; the selected text can be copied by hand.
    if (!navigator.clipboard) return
    await navigator.clipboard.writeText(button.dataset.copy ?? '')
    button.textContent = document.body.dataset.copied ?? ''
    setTimeout(() => {
      button.textContent = text
    }, 2000)
  })
}

startPasskeys()
startEditor()
startMerge()
startImports()
startListKeys()
startMatchKeys()
startInbox()
