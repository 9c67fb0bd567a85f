import { rates } from './controls.ts'
import type { MediaElement } from './hosts.ts'

// Single letters do something only while the focus is in the player: elsewhere they belong to the
// page, and to those who speak to their computer.

interface Player {
  media(): MediaElement | undefined
  press(button: 'media-fullscreen-button'): void
  copy(): void
}

export function listenToKeys(player: HTMLElement, { media, press, copy }: Player): void {
  // Before the controls hear it: the line of time would move by a hundredth of the talk.
  player.addEventListener('keydown', hear, { capture: true })

  function hear(event: KeyboardEvent): void {
    const it = media()
    if (!it || event.ctrlKey || event.metaKey || event.altKey || isTakenBy(event.target, event.key))
      return
    const act = actions(it, { press, copy })[
      event.key.length === 1 ? event.key.toLowerCase() : event.key
    ]
    if (!act) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
}

function isTakenBy(target: EventTarget | null, key: string): boolean {
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
  const go = (seconds: number) => {
    media.currentTime = Math.min(
      Math.max(0, seconds),
      Number.isFinite(media.duration) ? media.duration : seconds,
    )
  }
  const turn = () => {
    if (media.paused) media.play()?.catch?.(() => undefined)
    else media.pause()
  }
  const step = (by: 1 | -1) => {
    const next =
      by > 0
        ? rates.find((rate) => rate > media.playbackRate)
        : rates.findLast((rate) => rate < media.playbackRate)
    if (next !== undefined) media.playbackRate = next
  }
  const tenths = Array.from({ length: 10 }, (_, tenth) => [
    tenth,
    () => Number.isFinite(media.duration) && go((media.duration * tenth) / 10),
  ])
  return {
    ...Object.fromEntries(tenths),
    k: turn,
    ' ': turn,
    j: () => go(media.currentTime - 10),
    l: () => go(media.currentTime + 10),
    ArrowLeft: () => go(media.currentTime - 5),
    ArrowRight: () => go(media.currentTime + 5),
    m: () => {
      media.muted = !media.muted
    },
    f: () => press('media-fullscreen-button'),
    '<': () => step(-1),
    '>': () => step(1),
    c: copy,
  }
}
