import { isTextField } from './dom.ts'

// Keys of the questions of a match: 1 2 3 choose a recording, Enter takes the chosen one, n says
// that it is none of these, j and k move, and u undoes the last decision.

/** Installs the keys, if the page has questions or a decision to undo. */
export function startMatchKeys(): void {
  const undo = document.querySelector<HTMLFormElement>('[data-match-undo]')
  if (!undo) return
  const questions = () => [...document.querySelectorAll<HTMLFormElement>('[data-question]')]
  const current = () => questions().find((form) => form.contains(document.activeElement))
  const focus = (form: HTMLFormElement | undefined) => {
    form?.querySelector<HTMLInputElement>('input:checked')?.focus()
    form?.scrollIntoView({ block: 'nearest' })
  }
  focus(questions()[0])
  document.addEventListener('keydown', (event) => {
    const { key } = event
    if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return
    if (!/^[123njku]$/.test(key)) return
    event.preventDefault()
    if (key === 'u') return undo.requestSubmit()
    const form = current() ?? questions()[0]
    if (key === 'j' || key === 'k') {
      const all = questions()
      const step = key === 'j' ? 1 : -1
      return focus(
        all[Math.min(Math.max(all.indexOf(form as HTMLFormElement) + step, 0), all.length - 1)],
      )
    }
    const radios = [...(form?.querySelectorAll<HTMLInputElement>('input[type=radio]') ?? [])]
    const chosen =
      key === 'n'
        ? radios.find(({ value }) => value === 'none')
        : radios.filter(({ value }) => value.startsWith('pair:'))[Number(key) - 1]
    if (!form || !chosen) return
    chosen.checked = true
    form.requestSubmit()
  })
}
