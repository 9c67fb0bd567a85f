import { createElement } from './dom.ts'
import { message } from './messages.ts'

/** Adds buttons to shelves that are wider than their page, for scrolling without a touch screen. */
export function startShelves(): void {
  for (const list of document.querySelectorAll<HTMLElement>('.cards-shelf')) addArrows(list)
}

function addArrows(list: HTMLElement): void {
  const isRightToLeft = getComputedStyle(list).direction === 'rtl'
  const arrow = (name: string, symbol: string, step: 1 | -1) => {
    const button = createElement('button', { type: 'button', 'aria-label': message(name) }, symbol)
    button.addEventListener('click', () => {
      const left = step * (isRightToLeft ? -1 : 1) * list.clientWidth * 0.85
      list.scrollBy({ left })
    })
    return button
  }
  const back = arrow('scrollBack', '‹', -1)
  const forward = arrow('scrollForward', '›', 1)
  const arrows = createElement('div', { class: 'shelf-arrows' }, back, forward)
  list.before(arrows)
  const update = () => {
    const room = list.scrollWidth - list.clientWidth
    // It is negative in scripts that are written from right to left.
    const position = Math.abs(list.scrollLeft)
    arrows.hidden = room < 2
    back.disabled = position < 2
    forward.disabled = position > room - 2
  }
  list.addEventListener('scroll', update, { passive: true })
  new ResizeObserver(update).observe(list)
}
