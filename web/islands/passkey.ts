// Forms that create or use a passkey. The server has put the options of WebAuthn into the form; the
// script asks the browser for a credential and sends it with the form.

/** Prepares all forms with passkeys on the page. */
export function startPasskeys(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]'))
    startForm(form)
}

/** The message for an error of WebAuthn, by its name. */
const messageOf: Readonly<Record<string, string>> = {
  InvalidStateError: 'exists',
  // The site has an IP address instead of a host name.
  SecurityError: 'unsupported',
}

function startForm(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>('button[type=submit]')
  if (!button) return
  if (typeof window.PublicKeyCredential?.parseCreationOptionsFromJSON !== 'function') {
    showError(form, form.dataset.unsupported)
    return
  }
  button.disabled = false
  form.addEventListener('submit', async (event) => {
    const field = form.elements.namedItem('credential') as HTMLInputElement
    if (field.value !== '') return
    event.preventDefault()
    button.disabled = true
    showError(form, '')
    try {
      field.value = JSON.stringify(await requestCredential(form))
      form.submit()
    } catch (error) {
      button.disabled = false
      const { name } = error as DOMException
      showError(form, form.dataset[messageOf[name] ?? 'cancelled'])
    }
  })
}

async function requestCredential(form: HTMLFormElement): Promise<unknown> {
  const options = JSON.parse(form.dataset.options ?? '{}')
  const credential =
    form.dataset.passkey === 'create'
      ? await navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
        })
      : await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        })
  return (credential as PublicKeyCredential).toJSON()
}

function showError(form: HTMLFormElement, text = ''): void {
  const error = form.querySelector<HTMLElement>('[data-passkey-error]')
  if (error) error.textContent = text
}
