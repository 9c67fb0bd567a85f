import { isTextField } from './dom.ts'

// Pages of imports: progress without reloading the page, keys that decide conflicts, and the limit
// of a file before it is sent.

const pollMs = 1000

/** Enhances the pages of imports and other jobs. Does nothing on other pages. */
export function startImports(): void {
  const progress = document.querySelector<HTMLElement>('[data-progress]')
  if (progress) followProgress(progress)
  for (const file of document.querySelectorAll<HTMLInputElement>('[data-max-bytes]'))
    checkSize(file)
  if (document.querySelector('[data-conflict]')) startKeys()
}

/** Updates the progress until the job stops running, then shows the page again. */
function followProgress(section: HTMLElement): void {
  const url = section.dataset.progress ?? ''
  setTimeout(async () => {
    const page = await fetchPage(url).catch(() => undefined)
    const current = page?.querySelector<HTMLElement>('[data-progress]')
    if (page && !current) return location.replace(url)
    if (current) section.replaceWith(current)
    followProgress(current ?? section)
  }, pollMs)
}

async function fetchPage(url: string, init?: RequestInit): Promise<Document> {
  const response = await fetch(url, { headers: { accept: 'text/html' }, ...init })
  if (!response.ok) throw new Error(`Status ${response.status}`)
  return new DOMParser().parseFromString(await response.text(), 'text/html')
}

/** Says that a file is too large before it is sent. */
function checkSize(input: HTMLInputElement): void {
  const { maxBytes, tooLarge = '' } = input.dataset
  const error = document.getElementById(`${input.name}-error`)
  input.addEventListener('change', () => {
    const isTooLarge = (input.files?.[0]?.size ?? 0) > Number(maxBytes)
    input.setCustomValidity(isTooLarge ? tooLarge : '')
    if (error) error.textContent = isTooLarge ? tooLarge : ''
    if (isTooLarge) input.setAttribute('aria-invalid', 'true')
    else input.removeAttribute('aria-invalid')
  })
}

/** Installs the keys: j and k move between conflicts, 1 and 2 choose and save. */
function startKeys(): void {
  const help = document.querySelector<HTMLElement>('[data-keys]')
  if (help) help.hidden = false
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    const isModified = event.ctrlKey || event.metaKey || event.altKey
    if (isModified || !['j', 'k', '1', '2'].includes(key) || isTextField(target)) return
    event.preventDefault()
    if (key === 'j' || key === 'k') move(key === 'j' ? 1 : -1)
    else choose(Number(key) - 1)
  })
}

const conflicts = () => [...document.querySelectorAll<HTMLElement>('[data-conflict]')]
const currentIndex = () => conflicts().findIndex((field) => field.contains(document.activeElement))

function move(step: 1 | -1): void {
  const fields = conflicts()
  const index = currentIndex()
  const next = index < 0 ? 0 : Math.min(Math.max(index + step, 0), fields.length - 1)
  focusField(fields[next])
}

function focusField(field: HTMLElement | undefined): void {
  const radio =
    field?.querySelector<HTMLInputElement>('input:checked') ?? field?.querySelector('input')
  radio?.focus()
  field?.scrollIntoView({ block: 'nearest' })
}

let saving: Promise<void> = Promise.resolve()

/** Chooses an answer of the conflict that has the focus, moves to the next one, and saves. */
function choose(answer: number): void {
  const index = currentIndex()
  const fields = conflicts()
  const field = fields[index]
  const form = field?.closest('form')
  const radio = field?.querySelectorAll<HTMLInputElement>('input')[answer]
  const row = field?.closest('tr')
  if (!form || !radio || !row) return
  radio.checked = true
  const entries = [...new FormData(form)].map(([name, value]) => [name, `${value}`])
  focusField(fields[index + 1] ?? field)
  // One after the other: a talk can have several conflicts.
  saving = saving.then(() => save(form.action, new URLSearchParams(entries), row.id))
}

/** Saves a decision and replaces the row of its talk. */
async function save(action: string, body: URLSearchParams, id: string): Promise<void> {
  try {
    const saved = (await fetchPage(action, { method: 'POST', body })).getElementById(id)
    const row = document.getElementById(id)
    if (!saved || !row) return location.reload()
    const index = row.contains(document.activeElement) ? currentIndex() : -1
    row.replaceWith(saved)
    if (index >= 0) focusField(conflicts()[index])
  } catch {
    // The page says what has changed meanwhile.
    location.reload()
  }
}
