import { base } from './messages.ts'

// Updates the search results while the reader types. The results are taken from the page that the
// server renders.

const debounceMs = 180

/** Installs the live search on the search page. */
export function startSearch(): void {
  const form = document.querySelector<HTMLFormElement>('.page-search [data-search]')
  const facets = document.querySelector<HTMLDetailsElement>('[data-facets]')
  // On wide screens there is room for the filters next to the results.
  if (facets && matchMedia('(min-width: 56rem)').matches) facets.open = true
  document.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLSelectElement)
      target.closest<HTMLFormElement>('[data-order]')?.requestSubmit()
  })
  if (!form) return

  const input = form.querySelector<HTMLInputElement>('input[name=q]')
  let timer: ReturnType<typeof setTimeout> | undefined
  let request: AbortController | undefined
  /** Whether the current URL is of a query that was not submitted. */
  let isTyping = false
  let shownUrl = currentUrl()
  input?.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => show(searchUrl(form), false), debounceMs)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    clearTimeout(timer)
    show(searchUrl(form), true)
  })
  window.addEventListener('popstate', () => {
    // A link within the page changes only the fragment.
    if (currentUrl() !== shownUrl) location.reload()
  })

  async function show(url: string, isSubmitted: boolean): Promise<void> {
    const results = document.querySelector('[data-results]')
    request?.abort()
    request = new AbortController()
    results?.setAttribute('aria-busy', 'true')
    try {
      const response = await fetch(url, {
        signal: request.signal,
        headers: { accept: 'text/html' },
      })
      const page = new DOMParser().parseFromString(await response.text(), 'text/html')
      if (!results) throw new Error('The page has no results')
      replaceResults(results, page)
      for (const input of document.querySelectorAll<HTMLInputElement>('.prefer [name=to]'))
        input.value = `${url.slice(location.origin.length + base.length)}#footer`
      // Each search is an entry of the history, but not each letter.
      if (isTyping || url === currentUrl()) history.replaceState(null, '', url)
      else history.pushState(null, '', url)
      shownUrl = currentUrl()
      isTyping = !isSubmitted
      results.removeAttribute('aria-busy')
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return
      // The error page explains what is wrong.
      if (isSubmitted) location.assign(url)
      results?.removeAttribute('aria-busy')
    }
  }
}

/** Returns the URL of the page without the fragment. */
const currentUrl = () => location.href.replace(/#.*/, '')

function searchUrl(form: HTMLFormElement): string {
  const fields = [...new FormData(form)].filter(
    (field): field is [string, string] => typeof field[1] === 'string' && field[1].trim() !== '',
  )
  const search = new URLSearchParams(fields).toString()
  return form.action.split('?')[0] + (search && `?${search}`)
}

/** Takes the results of another page. The filters stay open or closed. */
function replaceResults(results: Element, page: Document): void {
  const newResults = page.querySelector('[data-results]')
  if (!newResults) throw new Error('There are no results in the response')
  const isOpen = document.querySelector<HTMLDetailsElement>('[data-facets]')?.open
  results.replaceChildren(...newResults.childNodes)
  const facets = document.querySelector<HTMLDetailsElement>('[data-facets]')
  if (facets && isOpen !== undefined) facets.open = isOpen
  document.title = page.title
  const heading = document.querySelector('h1')
  if (heading) heading.textContent = page.querySelector('h1')?.textContent ?? ''
  // Screen readers announce changes of an existing status, not an element that was inserted.
  const status = document.querySelector('[data-found]')
  if (status) status.textContent = document.getElementById('count')?.textContent ?? ''
}
