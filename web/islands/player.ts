import type { PlayerData } from '../parts/player-data.ts'
import { makeControls } from './controls.ts'
import { type MediaElement, mediaFor } from './hosts.ts'
import { listenToKeys } from './player-keys.ts'
import { withTimeout } from './timeout.ts'

// Comes when a reader plays a talk. Takes the place of the picture, and goes from one source to the
// next when one is away.

export interface OpenedPlayer {
  show(index: number): void
  /** Where the talk is now. */
  seconds(): number
}

export function openPlayer(
  root: HTMLElement,
  { at, locale, sources, words }: PlayerData,
  copy: () => void,
): OpenedPlayer {
  const frame = part(root, '.player-frame')
  const picture = part(root, '.player-facade')
  const status = part(root, '.player-status')
  const controls = makeControls(words.controls, locale)
  const tried = new Set<number>()
  let media: MediaElement | undefined
  let moment = at
  let isRunning = false
  let rate = 1
  let isMuted = false
  /** What was begun before this turn and is not finished yet no longer counts. */
  let turn = 0

  listenToKeys(controls, {
    media: () => media,
    press: (button) => controls.querySelector<HTMLElement>(button)?.click(),
    copy,
  })

  async function load(index: number): Promise<void> {
    const source = sources[index]
    if (!source) return
    const mine = ++turn
    const isMine = () => mine === turn
    tried.add(index)
    mark(index)
    try {
      const made = await mediaFor(source, moment, locale)
      if (!isMine()) return
      leave()
      media = made.media
      const it = made.media
      // From the beginning: YouTube says that a video is gone right after it said that it is
      // loaded.
      it.addEventListener('error', () => isMine() && goOn(index))
      controls.prepend(it)
      if (!controls.isConnected) enter()
      await withTimeout(loaded(it))
      if (!isMine()) return
      nameFrame(it, source.label)
      if (!made.isPlaced && moment > 0) it.currentTime = moment
      if (rate !== 1) it.playbackRate = rate
      if (isMuted) it.muted = true
      follow(it, isMine)
      // Browsers may want another click; the controls are there for it.
      it.play()?.catch?.(() => undefined)
    } catch {
      if (isMine()) goOn(index)
    }
  }

  /** What the next source shall be like. */
  function follow(it: MediaElement, isMine: () => boolean): void {
    const on = (name: string, hear: () => void) =>
      it.addEventListener(name, () => isMine() && hear())
    on('playing', () => {
      isRunning = true
    })
    on('timeupdate', () => {
      // Before they begin where they were told to, some are at 0 for a while.
      if (isRunning || it.currentTime > 0) moment = it.currentTime
    })
    on('ratechange', () => {
      rate = it.playbackRate
    })
    on('volumechange', () => {
      isMuted = it.muted
    })
  }

  function goOn(failed: number): void {
    const next = sources.findIndex((_, index) => !tried.has(index))
    if (next < 0) giveUp()
    else {
      const named = (index: number) => sources[index]?.label ?? ''
      status.textContent = words.nextSource
        .replace('{host}', () => named(failed))
        .replace('{next}', () => named(next))
      void load(next)
    }
  }

  function enter(): void {
    frame.replaceChildren(controls)
    // Whoever pressed play on the picture goes on from there.
    controls.querySelector<HTMLElement>('media-play-button')?.focus({ preventScroll: true })
  }

  function giveUp(): void {
    turn++
    const hadFocus = controls.contains(document.activeElement)
    leave()
    tried.clear()
    mark(-1)
    frame.replaceChildren(picture)
    if (hadFocus) picture.focus({ preventScroll: true })
    status.textContent = words.unplayable
  }

  function leave(): void {
    isRunning = false
    media?.remove()
    // Its timers and what it loads end with it.
    media?.removeAttribute('src')
    if (media instanceof HTMLVideoElement) media.load()
    media = undefined
  }

  function mark(current: number): void {
    for (const button of root.querySelectorAll<HTMLElement>('button[data-play]'))
      button.setAttribute('aria-pressed', String(button.dataset.play === String(current)))
  }

  return {
    show(index) {
      tried.clear()
      status.textContent = ''
      void load(index)
    },
    seconds: () => (isRunning && media ? media.currentTime : moment),
  }
}

function loaded(media: MediaElement): Promise<void> {
  return new Promise((resolve) => {
    if (media.readyState > 0) resolve()
    else media.addEventListener('loadedmetadata', () => resolve(), { once: true })
  })
}

/** The controls are ours: who goes through them by keys need not pass through those of the host. */
function nameFrame(media: MediaElement, name: string): void {
  const frame = media.shadowRoot?.querySelector('iframe')
  if (!frame) return
  frame.title = name
  frame.tabIndex = -1
}

function part(root: HTMLElement, selector: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(selector)
  if (!found) throw new Error(`The player has no ${selector}`)
  return found
}
