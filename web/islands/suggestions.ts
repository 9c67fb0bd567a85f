import { createElement } from './dom.ts'
import { base, message } from './messages.ts'

// Autocomplete: suggests talks, speakers, events and tags while the reader types. The focus stays
// in the input, as in the combobox pattern of WAI-ARIA.

interface SuggestedEntity {
  readonly name: string
  readonly slug: string
  readonly talks: number
}

interface Suggestions {
  readonly talks: readonly { readonly id: number; readonly title: string; readonly slug: string }[]
  readonly speakers: readonly SuggestedEntity[]
  readonly categories: readonly SuggestedEntity[]
  readonly tags: readonly SuggestedEntity[]
}

interface Option {
  readonly name: string
  readonly note: string
  readonly href: string
}

/** The name of a group is that of its message. */
type Group = readonly [name: string, options: readonly Option[]]

const debounceMs = 90

let lastListId = 0

/** Creates an empty list of suggestions. */
export function createSuggestionList(): HTMLElement {
  return createElement('div', {
    id: `suggestions-${++lastListId}`,
    class: 'suggestions',
    role: 'listbox',
    'aria-label': message('suggestions'),
  })
}

/** Adds suggestions in a popup below a search box. Does nothing if the box has them already. */
export function addSuggestions(input: HTMLInputElement): void {
  if (input.role === 'combobox') return
  const list = createSuggestionList()
  list.hidden = true
  input.closest('search')?.append(list)
  const { load, clear } = suggest(input, list, (count) => {
    list.hidden = count === 0 || document.activeElement !== input
  })
  const close = () => {
    clear()
    list.hidden = true
  }
  input.addEventListener('blur', close)
  input.form?.addEventListener('submit', close)
  list.addEventListener('click', close)
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || list.hidden) return
    // Only closes the list; another Escape clears the box.
    event.preventDefault()
    close()
  })
  // The reader may have typed while this script was loading.
  if (input.value !== input.defaultValue) load()
}

/**
 * Loads suggestions into `list` while the reader types into `input`, and lets the arrow keys choose
 * one and Enter open it. Calls `onChange` with the number of suggestions. Keeps the previous ones
 * if a request fails.
 */
export function suggest(
  input: HTMLInputElement,
  list: HTMLElement,
  onChange: (count: number) => void,
): { load(): void; clear(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let request: AbortController | undefined
  let options: HTMLElement[] = []
  /** -1 stands for the input itself, before the first and after the last option. */
  let chosen = -1

  const choose = (index: number) => {
    chosen = index
    options.forEach((option, other) => {
      option.ariaSelected = String(other === index)
    })
    const option = options[index]
    option?.scrollIntoView({ block: 'nearest' })
    if (option) input.setAttribute('aria-activedescendant', option.id)
    else input.removeAttribute('aria-activedescendant')
  }
  // The search page lists the talks themselves.
  const namesOnly = input.dataset.suggest === 'names'
  const show = (groups: readonly Group[]) => {
    list.replaceChildren(...groups.map((group) => renderGroup(group)))
    options = [...list.querySelectorAll<HTMLElement>('[role=option]')]
    options.forEach((option, index) => {
      option.id = `${list.id}-${index}`
    })
    choose(-1)
    onChange(options.length)
    input.ariaExpanded = String(options.length > 0 && !list.hidden)
  }
  const cancel = () => {
    clearTimeout(timer)
    request?.abort()
  }
  const load = () => {
    cancel()
    timer = setTimeout(async () => {
      request = new AbortController()
      try {
        const groups = groupsOf(await fetchSuggestions(input.value.trim(), request.signal))
        show(groups.filter(([group]) => group !== 'talks' || !namesOnly))
      } catch {
        // Aborted, or the server is unavailable: Enter still opens the search.
      }
    }, debounceMs)
  }
  const clear = () => {
    cancel()
    show([])
  }

  input.setAttribute('role', 'combobox')
  input.setAttribute('aria-autocomplete', 'list')
  input.setAttribute('aria-controls', list.id)
  input.ariaExpanded = 'false'
  input.addEventListener('input', load)
  input.addEventListener('keydown', (event) => {
    // In an input method, Enter only ends the composition.
    if (event.isComposing || options.length === 0) return
    const last = options.length - 1
    if (event.key === 'ArrowDown') choose(chosen === last ? -1 : chosen + 1)
    else if (event.key === 'ArrowUp') choose(chosen === -1 ? last : chosen - 1)
    else if (event.key === 'Enter' && chosen !== -1) options[chosen]?.click()
    else return
    event.preventDefault()
  })
  // A click on an option must not take the focus: the list would close before the link is followed.
  list.addEventListener('mousedown', (event) => event.preventDefault())
  return { load, clear }
}

async function fetchSuggestions(q: string, signal: AbortSignal): Promise<Partial<Suggestions>> {
  if (q === '') return {}
  const search = new URLSearchParams({ q, format: 'json' })
  const response = await fetch(`${base}/api/v2/suggest?${search}`, { signal })
  return response.ok ? response.json() : {}
}

function groupsOf({
  talks = [],
  speakers = [],
  categories = [],
  tags = [],
}: Partial<Suggestions>): Group[] {
  const entityOptions = (kind: string, list: readonly SuggestedEntity[]) =>
    list.map(({ name, slug, talks }) => ({
      name,
      note: String(talks),
      href: `${base}/${kind}/-/${slug}`,
    }))
  const talkOptions = talks.map(({ id, title, slug }) => ({
    name: title,
    note: '',
    href: `${base}/video/${id}/${slug}`,
  }))
  // A name that fits is more likely meant than a talk.
  const groups: Group[] = [
    ['speakers', entityOptions('speaker', speakers)],
    ['events', entityOptions('category', categories)],
    ['talks', talkOptions],
    ['tags', entityOptions('tag', tags)],
  ]
  return groups.filter(([, options]) => options.length > 0)
}

function renderGroup([name, options]: Group): HTMLElement {
  const label = message(name)
  return createElement(
    'div',
    { role: 'group', 'aria-label': label },
    createElement('div', { class: 'group', 'aria-hidden': 'true' }, label),
    ...options.map(({ name, note, href }) =>
      createElement(
        'a',
        { role: 'option', href, tabindex: '-1', 'aria-selected': 'false' },
        createElement('span', { dir: 'auto' }, name),
        createElement('span', { class: 'count' }, note),
      ),
    ),
  )
}
