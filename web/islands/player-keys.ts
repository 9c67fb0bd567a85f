import { rates } from './controls.ts'
import type { MediaElement } from './hosts.ts'

// Keyboard shortcuts of the player. Single letters work only while the player has the focus: on the
// whole page they would interfere with speech input.

interface Player {
  media(): MediaElement | undefined
  press(button: 'media-fullscreen-button'): void
  copy(): void
}

/** Installs the keyboard shortcuts of a player. */
export function listenToKeys(player: HTMLElement, { media, press, copy }: Player): void {
  // In the capture phase: otherwise the time slider would move by a hundredth of the talk.
  player.addEventListener('keydown', onKeyDown, { capture: true })

  function onKeyDown(event: KeyboardEvent): void {
    const { key, target } = event
    const current = media()
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return
    if (isUsedBy(target, key)) {
      // The buttons act when the key is released, and leave the page to scroll by it.
      if (key === ' ') event.preventDefault()
      return
    }
    const action = actions(current, { press, copy })[key.length === 1 ? key.toLowerCase() : key]
    if (!action) return
    event.preventDefault()
    event.stopPropagation()
    action()
  }
}

/** Tells whether a control handles the key itself. */
function isUsedBy(target: EventTarget | null, key: string): boolean {
  const { localName, keysUsed } = (target ?? {}) as {
    localName?: string
    keysUsed?: string[] | null
  }
  if (localName === 'media-time-range' && (key === 'ArrowLeft' || key === 'ArrowRight'))
    return false
  return keysUsed?.includes(key) ?? false
}

function actions(
  media: MediaElement,
  { press, copy }: Pick<Player, 'press' | 'copy'>,
): Record<string, (() => void) | undefined> {
  const seek = (seconds: number) => {
    media.currentTime = Math.min(
      Math.max(0, seconds),
      Number.isFinite(media.duration) ? media.duration : seconds,
    )
  }
  const togglePlay = () => {
    if (media.paused) media.play()?.catch?.(() => undefined)
    else media.pause()
  }
  const changeRate = (direction: 1 | -1) => {
    const next =
      direction > 0
        ? rates.find((rate) => rate > media.playbackRate)
        : rates.findLast((rate) => rate < media.playbackRate)
    if (next !== undefined) media.playbackRate = next
  }
  const tenths = Array.from({ length: 10 }, (_, tenth) => [
    tenth,
    () => Number.isFinite(media.duration) && seek((media.duration * tenth) / 10),
  ])
  return {
    ...Object.fromEntries(tenths),
    k: togglePlay,
    ' ': togglePlay,
    j: () => seek(media.currentTime - 10),
    l: () => seek(media.currentTime + 10),
    ArrowLeft: () => seek(media.currentTime - 5),
    ArrowRight: () => seek(media.currentTime + 5),
    m: () => {
      media.muted = !media.muted
    },
    f: () => press('media-fullscreen-button'),
    '<': () => changeRate(-1),
    '>': () => changeRate(1),
    c: copy,
  }
}
