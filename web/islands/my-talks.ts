import { formatTimecode } from '../timecode.ts'
import { forget, progressOf, type RememberedTalk, remember, rememberedTalks } from './remembered.ts'

// The page with the talks that this browser remembers.

const lists: Readonly<Record<string, (talk: RememberedTalk) => boolean>> = {
  continue: ({ position = 0 }) => position > 0,
  later: ({ isLater = false }) => isLater,
  watched: ({ isWatched = false, position = 0 }) => isWatched && position === 0,
}

/** What remains of a talk that is removed from a list. */
const withoutList: Readonly<Record<string, Partial<RememberedTalk>>> = {
  continue: { position: 0 },
  later: { isLater: false },
  watched: { isWatched: false },
}

/** Fills the lists of the page, and makes its buttons work. */
export function startMyTalks(root: HTMLElement): void {
  const show = () => {
    const talks = rememberedTalks()
    for (const section of root.querySelectorAll<HTMLElement>('[data-list]')) {
      const name = section.dataset.list ?? ''
      const found = talks.filter(lists[name] ?? (() => false))
      section.hidden = found.length === 0
      const items = found.map((talk) => itemOf(root, talk, name, show))
      section.querySelector('ul')?.replaceChildren(...items)
    }
    for (const element of root.querySelectorAll<HTMLElement>('[data-empty]'))
      element.hidden = talks.length > 0
    for (const element of root.querySelectorAll<HTMLElement>('[data-filled]'))
      element.hidden = talks.length === 0
  }
  root.querySelector('[data-forget]')?.addEventListener('click', () => {
    if (!confirm(root.dataset.confirm)) return
    forget()
    show()
    root.querySelector<HTMLElement>('[data-empty]')?.focus()
  })
  show()
}

/** Moves the focus to the button that takes the place of the one that was pressed. */
function focusAfterRemoval(root: HTMLElement, list: string, index: number): void {
  const buttons = [...root.querySelectorAll<HTMLElement>(`[data-list="${list}"] li button`)]
  const next = buttons[Math.min(index, buttons.length - 1)]
  const others = root.querySelector<HTMLElement>('[data-list]:not([hidden]) li button')
  ;(next ?? others ?? root.querySelector<HTMLElement>('[data-empty]'))?.focus()
}

function itemOf(
  root: HTMLElement,
  talk: RememberedTalk,
  list: string,
  onChange: () => void,
): HTMLElement {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = talk.path
  link.dir = 'auto'
  link.textContent = talk.title
  const note = document.createElement('span')
  note.className = 'facts'
  const { position = 0, duration = 0 } = talk
  const times = duration > 0 ? [position, duration] : [position]
  note.textContent = [talk.event, ...(position > 0 ? [times.map(formatTimecode).join(' / ')] : [])]
    .filter(Boolean)
    .join(' · ')
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'as-link'
  button.textContent = root.dataset.remove ?? ''
  button.setAttribute('aria-label', `${button.textContent}: ${talk.title}`)
  button.addEventListener('click', () => {
    const index = [...(item.parentElement?.children ?? [])].indexOf(item)
    remember({ ...talk, ...withoutList[list] })
    onChange()
    focusAfterRemoval(root, list, index)
  })
  item.append(link, note, button)
  if (list === 'continue') {
    const bar = document.createElement('span')
    bar.className = 'card-progress'
    bar.style.setProperty('--progress', `${Math.ceil(progressOf(talk) * 100)}%`)
    item.append(bar)
  }
  return item
}
