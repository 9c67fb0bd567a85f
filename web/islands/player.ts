import type { PlayerData } from '../parts/player-data.ts'
import { makeControls } from './controls.ts'
import { type MediaElement, mediaFor } from './hosts.ts'
import { listenToKeys } from './player-keys.ts'
import { withTimeout } from './timeout.ts'

// The player. It is loaded when the reader presses play, replaces the picture, and tries the next
// source if one fails.

export interface OpenedPlayer {
  show(index: number): void
  /** Returns the current time in seconds. */
  seconds(): number
}

/** Opens the player in its section of the page. `copy` copies a link at the current time. */
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
  let time = at
  let isRunning = false
  let rate = 1
  let isMuted = false
  /** Number of the last attempt. Results of earlier attempts are ignored. */
  let attempt = 0

  listenToKeys(controls, {
    media: () => media,
    press: (button) => controls.querySelector<HTMLElement>(button)?.click(),
    copy,
  })

  async function load(index: number): Promise<void> {
    const source = sources[index]
    if (!source) return
    const ownAttempt = ++attempt
    const isCurrent = () => ownAttempt === attempt
    tried.add(index)
    markSource(index)
    try {
      const { media: opened, hasStartTime } = await mediaFor(source, time, locale)
      if (!isCurrent()) return
      removeMedia()
      media = opened
      // Before it is loaded: YouTube reports a missing video right after it reports it as loaded.
      opened.addEventListener('error', () => isCurrent() && tryNext(index))
      controls.prepend(opened)
      if (!controls.isConnected) showControls()
      await withTimeout(loaded(opened))
      if (!isCurrent()) return
      labelFrame(opened, source.label)
      if (!hasStartTime && time > 0) opened.currentTime = time
      if (rate !== 1) opened.playbackRate = rate
      if (isMuted) opened.muted = true
      trackState(opened, isCurrent)
      // The browser may require another click, on the controls.
      opened.play()?.catch?.(() => undefined)
    } catch {
      if (isCurrent()) tryNext(index)
    }
  }

  /** Remembers time, speed and volume for the next source. */
  function trackState(current: MediaElement, isCurrent: () => boolean): void {
    const on = (name: string, listener: () => void) =>
      current.addEventListener(name, () => isCurrent() && listener())
    on('playing', () => {
      isRunning = true
    })
    on('timeupdate', () => {
      // Some are at 0 for a while before they seek to the start time.
      if (isRunning || current.currentTime > 0) time = current.currentTime
    })
    on('ratechange', () => {
      rate = current.playbackRate
    })
    on('volumechange', () => {
      isMuted = current.muted
    })
  }

  function tryNext(failed: number): void {
    const next = sources.findIndex((_, index) => !tried.has(index))
    if (next < 0) giveUp()
    else {
      const label = (index: number) => sources[index]?.label ?? ''
      status.textContent = words.nextSource
        .replace('{host}', () => label(failed))
        .replace('{next}', () => label(next))
      void load(next)
    }
  }

  function showControls(): void {
    frame.replaceChildren(controls)
    // The focus was on the play button of the picture.
    controls.querySelector<HTMLElement>('media-play-button')?.focus({ preventScroll: true })
  }

  function giveUp(): void {
    attempt++
    const hadFocus = controls.contains(document.activeElement)
    removeMedia()
    tried.clear()
    markSource(-1)
    frame.replaceChildren(picture)
    if (hadFocus) picture.focus({ preventScroll: true })
    status.textContent = words.unplayable
  }

  function removeMedia(): void {
    isRunning = false
    media?.remove()
    // Stops its timers and downloads.
    media?.removeAttribute('src')
    if (media instanceof HTMLVideoElement) media.load()
    media = undefined
  }

  function markSource(current: number): void {
    for (const button of root.querySelectorAll<HTMLElement>('button[data-play]'))
      button.setAttribute('aria-pressed', String(button.dataset.play === String(current)))
  }

  return {
    show(index) {
      tried.clear()
      status.textContent = ''
      void load(index)
    },
    seconds: () => (isRunning && media ? media.currentTime : time),
  }
}

function loaded(media: MediaElement): Promise<void> {
  return new Promise((resolve) => {
    if (media.readyState > 0) resolve()
    else media.addEventListener('loadedmetadata', () => resolve(), { once: true })
  })
}

/** Names the frame and removes it from the tab order: the page has its own controls. */
function labelFrame(media: MediaElement, name: string): void {
  const frame = media.shadowRoot?.querySelector('iframe')
  if (!frame) return
  frame.title = name
  frame.tabIndex = -1
}

function part(root: HTMLElement, selector: string): HTMLElement {
  const element = root.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`The player has no ${selector}`)
  return element
}
