import { isTextField } from './dom.ts'

// Keys of suggestions: a accepts, e edits first, x takes a field out, d declines with a digit for
// the reason, u undoes the last decision. They act on the suggestion that has the focus.

/** Installs the keys, if the page has suggestions or a decision to undo. */
export function startInbox(): void {
  if (!document.querySelector('[data-suggestion], form[data-undo]')) return
  let isSent = false
  const send = (form: HTMLFormElement | null | undefined, button?: HTMLElement) => {
    if (!form || isSent) return
    isSent = true
    form.requestSubmit(button)
    // The browser may have refused the form.
    setTimeout(() => {
      isSent = false
    }, 2000)
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return
    if (document.querySelector('dialog[open]')) return
    if (event.key === 'u') return send(document.querySelector<HTMLFormElement>('form[data-undo]'))
    const item = currentItem()
    if (!item) return
    if (event.key === 'a') accept(item, send)
    else if (event.key === 'e') edit(item)
    else if (event.key === 'x') takeOut(item)
    else if (event.key === 'd') openReasons(item)
    else if (/^[1-6]$/.test(event.key)) chooseReason(item, Number(event.key), send)
    else return
    event.preventDefault()
  })
}

type Send = (form: HTMLFormElement | null | undefined, button?: HTMLElement) => void

/** Returns the suggestion with the focus, or the only one of the page. */
function currentItem(): HTMLElement | null {
  return (
    document.activeElement?.closest<HTMLElement>('[data-suggestion]') ??
    document.querySelector<HTMLElement>('[data-suggestion="only"]')
  )
}

/** Accepts a suggestion. What hides a talk needs the key twice. */
function accept(item: HTMLElement, send: Send): void {
  const form = item.querySelector<HTMLFormElement>('form[data-accept]')
  const button = form?.querySelector<HTMLElement>('button[type="submit"]')
  if (form?.dataset.confirm !== undefined && document.activeElement !== button) button?.focus()
  else send(form)
}

/** Opens the page on which a suggestion is edited; there, moves to the first field. */
function edit(item: HTMLElement): void {
  const link = item.querySelector<HTMLAnchorElement>('a[data-edit-suggestion]')
  if (link) link.click()
  else item.querySelector<HTMLElement>('form[data-accept] textarea')?.focus()
}

/** Unticks the field with the focus, or the last one that is ticked. Ticks all if none is. */
function takeOut(item: HTMLElement): void {
  const boxes = [...item.querySelectorAll<HTMLInputElement>('input[name="field"]:enabled')]
  const ticked = boxes.filter(({ checked }) => checked)
  const focused = ticked.find((box) => box === document.activeElement)
  const box = focused ?? ticked.at(-1)
  if (box) {
    box.checked = false
    box.focus()
  } else for (const each of boxes) each.checked = true
}

function openReasons(item: HTMLElement): void {
  const details = item.querySelector<HTMLDetailsElement>('details[data-decline]')
  if (!details) return
  details.open = true
  details.querySelector<HTMLElement>('button')?.focus()
}

function chooseReason(item: HTMLElement, number: number, send: Send): void {
  const details = item.querySelector<HTMLDetailsElement>('details[data-decline][open]')
  const button = details?.querySelectorAll<HTMLButtonElement>('button[name="code"]')[number - 1]
  if (button) send(button.form, button)
}
