import { base } from './messages.ts'

// Results while somebody types. The server renders them as it does for everybody: here they only
// change places.

const waitMs = 180

export function startSearch(): void {
  const form = document.querySelector<HTMLFormElement>('.page-search [data-search]')
  const facets = document.querySelector<HTMLDetailsElement>('[data-facets]')
  // Where CSS can't keep them open beside the results.
  if (facets && matchMedia('(min-width: 56rem)').matches) facets.open = true
  document.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLSelectElement)
      target.closest<HTMLFormElement>('[data-order]')?.requestSubmit()
  })
  if (!form) return

  const input = form.querySelector<HTMLInputElement>('input[name=q]')
  let timer: ReturnType<typeof setTimeout> | undefined
  let asking: AbortController | undefined
  /** The address of now is of words that somebody is still typing. */
  let isTyping = false
  input?.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => show(addressOf(form), false), waitMs)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    clearTimeout(timer)
    show(addressOf(form), true)
  })
  window.addEventListener('popstate', () => location.reload())

  async function show(address: string, isDone: boolean): Promise<void> {
    const results = document.querySelector('[data-results]')
    asking?.abort()
    asking = new AbortController()
    results?.setAttribute('aria-busy', 'true')
    try {
      const response = await fetch(address, {
        signal: asking.signal,
        headers: { accept: 'text/html' },
      })
      const page = new DOMParser().parseFromString(await response.text(), 'text/html')
      const fresh = page.querySelector('[data-results]')
      if (!fresh || !results) throw new Error('There are no results in the answer')
      const isOpen = document.querySelector<HTMLDetailsElement>('[data-facets]')?.open
      results.replaceChildren(...fresh.childNodes)
      const facets = document.querySelector<HTMLDetailsElement>('[data-facets]')
      if (facets && isOpen !== undefined) facets.open = isOpen
      document.title = page.title
      // What was there before it changed is read out; what came with its text is not.
      const said = document.querySelector('[data-found]')
      if (said) said.textContent = document.getElementById('count')?.textContent ?? ''
      for (const it of document.querySelectorAll<HTMLInputElement>('.prefer [name=to]'))
        it.value = address.slice(location.origin.length + base.length)
      // Each search is a step back, each letter is not.
      if (isTyping || address === location.href) history.replaceState(null, '', address)
      else history.pushState(null, '', address)
      isTyping = !isDone
      results.removeAttribute('aria-busy')
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return
      // The page itself says what is wrong.
      if (isDone) location.assign(address)
      results?.removeAttribute('aria-busy')
    }
  }
}

function addressOf(form: HTMLFormElement): string {
  const given = [...new FormData(form)].filter(
    (it): it is [string, string] => typeof it[1] === 'string' && it[1].trim() !== '',
  )
  const asked = new URLSearchParams(given).toString()
  return form.action.split('?')[0] + (asked && `?${asked}`)
}
