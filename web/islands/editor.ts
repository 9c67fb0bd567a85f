import { createElement } from './dom.ts'

// Enhances the editor of a talk: keeps what is typed, shows errors and previews, suggests names,
// and saves by key.

interface CopyResponse {
  readonly errors: Readonly<Record<string, string>>
  readonly previews: Readonly<Record<string, string>>
  /** Names that no other talk has. */
  readonly newNames: Readonly<Record<string, readonly string[]>>
}

interface Suggestion {
  readonly name: string
  readonly talks: number
}

const keepAfterMs = 2000
const suggestAfterMs = 120

/** Enhances the editor, if the page has one. */
export function startEditor(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-editor]')
  if (!form) return
  for (const field of form.querySelectorAll<TextControl>('[data-complete]')) suggestNames(field)
  if (form.dataset.editor) keepCopies(form)
  takeLocalTime(form)
  const first =
    form.querySelector<TextControl>('[aria-invalid]') ?? form.querySelector('[name=title]')
  if (location.hash === '') (first as TextControl | null)?.focus()
  document.addEventListener('keydown', (event) => {
    const rel = { ArrowLeft: 'prev', ArrowRight: 'next' }[event.key]
    const neighbour = rel && document.querySelector<HTMLAnchorElement>(`.toolbar a[rel=${rel}]`)
    if (event.altKey && !event.ctrlKey && neighbour) {
      event.preventDefault()
      neighbour.click()
    }
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return
    if (event.key !== 's' && event.key !== 'Enter') return
    event.preventDefault()
    const publish = form.querySelector<HTMLButtonElement>('button[name=state][value="1"]')
    form.requestSubmit(event.key === 'Enter' ? publish : null)
  })
}

/** Takes the time of publication in the time zone of the browser. */
function takeLocalTime(form: HTMLFormElement): void {
  const field = form.querySelector<HTMLInputElement>('[data-time-zone]')
  const utc = form.querySelector<HTMLInputElement>('[name=publish_at_utc]')
  const label = field?.labels?.[0]
  if (!field || !utc || !label) return
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  label.textContent = (field.dataset.timeZone ?? '').replace('%', timeZone)
  const update = () => {
    utc.value = field.value && new Date(field.value).toISOString()
  }
  update()
  field.addEventListener('input', update)
}

/** Lets 1, 2 and 3 choose a value, in the first field or the one that has the focus. */
export function startMerge(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-merge]')
  if (!form) return
  const groups = [...form.querySelectorAll<HTMLElement>('[data-choices]')]
  let next = 0
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target instanceof HTMLTextAreaElement || !/^[123]$/.test(event.key)) return
    const focused = groups.findIndex((group) => group.contains(document.activeElement))
    const index = focused === -1 ? next : focused
    const choice =
      groups[index]?.querySelectorAll<HTMLInputElement>('[type=radio]')[Number(event.key) - 1]
    if (!choice) return
    choice.checked = true
    next = index + 1
    const following = groups[next]?.querySelector<HTMLInputElement>('[type=radio]:checked')
    const save = form.querySelector<HTMLButtonElement>('[type=submit]')
    ;(following ?? save)?.focus()
  })
}

type TextControl = HTMLInputElement | HTMLTextAreaElement

/** Sends the form two seconds after the last change, or when a changed field is left. */
function keepCopies(form: HTMLFormElement): void {
  const { editor = '', copyToken = '', kept = '', unsaved = '' } = form.dataset
  const output = form.querySelector('[data-saved]')
  let timer: ReturnType<typeof setTimeout> | undefined
  let isChanged = false
  let isSubmitted = false
  const keep = async () => {
    clearTimeout(timer)
    if (!isChanged || isSubmitted) return
    isChanged = false
    const body = new URLSearchParams([...new FormData(form)] as [string, string][])
    body.set('form_token', copyToken)
    try {
      const response = await fetch(editor, { method: 'POST', body, redirect: 'error' })
      if (!response.ok) throw new Error(response.statusText)
      show(form, (await response.json()) as CopyResponse)
      if (output) output.textContent = kept
    } catch {
      isChanged = true
      if (output) output.textContent = unsaved
    }
  }
  form.addEventListener('input', () => {
    isChanged = true
    clearTimeout(timer)
    timer = setTimeout(keep, keepAfterMs)
  })
  form.addEventListener('change', keep)
  form.addEventListener('submit', () => {
    isSubmitted = true
    clearTimeout(timer)
  })
}

function show(form: HTMLFormElement, { errors, previews, newNames }: CopyResponse): void {
  for (const control of form.querySelectorAll<TextControl>('input[name], textarea[name]')) {
    if (control.type === 'hidden' || control.type === 'checkbox') continue
    const error = errors[control.name]
    // A field in which the editor still types is not wrong yet.
    if (error !== undefined && control === document.activeElement) continue
    showNote(control, 'error', error)
    if (error === undefined) control.removeAttribute('aria-invalid')
    else control.setAttribute('aria-invalid', 'true')
    const names = newNames[control.name]
    if (names) showNote(control, 'new-names', names.length > 0 ? names.join(', ') : undefined)
  }
  showPicture(form)
  for (const element of form.querySelectorAll<HTMLElement>('[data-preview]')) {
    const html = previews[element.dataset.preview ?? '']
    // Rendered and sanitized by the server, like the page of the talk.
    if (html !== undefined) element.innerHTML = html
  }
}

/** Loads the thumbnail again if its URL was changed. */
function showPicture(form: HTMLFormElement): void {
  const picture = form.querySelector<HTMLImageElement>('img.thumbnail')
  const url = form.querySelector<HTMLInputElement>('[name=thumbnail_url]')
  if (!picture || !url || url.value === (picture.dataset.url ?? url.defaultValue)) return
  picture.dataset.url = url.value
  picture.src = `${picture.src.split('?')[0]}?${Date.now()}`
}

/** Shows a note below a field, or removes it. */
function showNote(control: TextControl, kind: 'error' | 'new-names', text: string | undefined) {
  const id = `${control.name}-${kind}`
  const note = document.getElementById(id)
  if (text === undefined) return note?.remove()
  const label = kind === 'error' ? '' : `${document.body.dataset.new ?? ''} `
  if (note) {
    note.textContent = label + text
    return
  }
  const className = kind === 'error' ? 'error' : 'help'
  control.after(createElement('p', { id, class: className, role: 'status' }, label + text))
  const described = (control.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean)
  control.setAttribute('aria-describedby', [...new Set([id, ...described])].join(' '))
}

/** Suggests names of the archive below a field: for the line of the cursor in a text area. */
function suggestNames(field: TextControl): void {
  const kind = field.dataset.complete as 'categories' | 'speakers' | 'tags'
  const list = createElement('div', { class: 'suggested-names', role: 'group' })
  list.setAttribute('aria-label', field.labels?.[0]?.textContent ?? '')
  field.after(list)
  let timer: ReturnType<typeof setTimeout> | undefined
  let latest = 0
  const suggest = async () => {
    const [begin, end] = lineAt(field)
    const text = field.value.slice(begin, end).trim()
    const number = ++latest
    const names = text.length < 2 ? [] : await findNames(kind, text)
    if (number !== latest) return
    list.replaceChildren(
      ...names
        .filter(({ name }) => name !== text)
        .map(({ name, talks }) => {
          const button = createElement('button', { type: 'button', class: 'quiet' }, name)
          button.append(createElement('span', { class: 'help' }, ` ${talks}`))
          button.addEventListener('click', () => {
            field.setRangeText(name, begin, end, 'end')
            list.replaceChildren()
            field.focus()
            field.dispatchEvent(new Event('input', { bubbles: true }))
          })
          return button
        }),
    )
  }
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(suggest, suggestAfterMs)
  })
}

function lineAt({ value, selectionStart }: TextControl): [begin: number, end: number] {
  const cursor = selectionStart ?? value.length
  const end = value.indexOf('\n', cursor)
  return [value.lastIndexOf('\n', cursor - 1) + 1, end === -1 ? value.length : end]
}

async function findNames(
  kind: 'categories' | 'speakers' | 'tags',
  text: string,
): Promise<readonly Suggestion[]> {
  const { base = '' } = document.body.dataset
  const query = new URLSearchParams({ q: text, format: 'json' })
  try {
    const response = await fetch(`${base}/api/v2/suggest?${query}`)
    if (!response.ok) return []
    return ((await response.json()) as Record<typeof kind, readonly Suggestion[]>)[kind]
  } catch {
    return []
  }
}
