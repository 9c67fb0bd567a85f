import type { Source } from '../data.ts'
import type { PlayerData, PlayerMessages } from '../parts/player-data.ts'
import { makeControls, placeControls } from './controls.ts'
import { type MediaElement, mediaFor } from './hosts.ts'
import { listenToKeys } from './player-keys.ts'
import { withTimeout } from './timeout.ts'

// The player. It is loaded when the reader presses play, replaces the picture, and tries the next
// source if one fails.

export interface OpenedPlayer {
  show(index: number): void
  /** Returns the current time in seconds, as it is in the first source. */
  seconds(): number
}

/** Where the talk is in the recording that plays, in seconds. `end` may be NaN or infinite. */
export interface PlayedPart {
  readonly start: number
  readonly end: number
}

interface PlayerOptions {
  /** Copies a link at the current time. */
  copy(): void
  /** Is called while the talk plays, and at its end. `part` is that of the recording. */
  onTime(seconds: number, part: PlayedPart, isEnded: boolean): void
}

/** Opens the player in its section of the page. */
export function openPlayer(
  root: HTMLElement,
  { at, link, locale, sources, talk, words }: PlayerData,
  { copy, onTime }: PlayerOptions,
): OpenedPlayer {
  const frame = part(root, '.player-frame')
  const status = part(root, '.player-status')
  const controls = makeControls(words.controls, locale, talk ? undefined : link)
  const tried = new Set<number>()
  let media: MediaElement | undefined
  /** In the recording that played last, where the talk starts at `lastStart`. */
  let time = at
  let lastStart = startOf(sources[0])
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
      const start = startOf(source)
      time = time === 0 ? start : Math.max(0, time - lastStart + start)
      lastStart = start
      const { media: opened, hasStartTime, hasControls } = await mediaFor(source, time)
      if (!isCurrent()) return
      removeMedia()
      placeControls(controls, hasControls)
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
      trackState(opened, source, isCurrent)
      // The browser may require another click, on the controls.
      opened.play()?.catch?.(() => undefined)
    } catch {
      if (isCurrent()) tryNext(index)
    }
  }

  /**
   * Remembers time, speed and volume for the next source. Pauses once when playback reaches the end
   * of the part; it can continue after that.
   */
  function trackState(current: MediaElement, { part }: Source, isCurrent: () => boolean): void {
    let lastTime = Number.NaN
    const played = () => ({ start: lastStart, end: part?.end ?? current.duration })
    const on = (name: string, listener: () => void) =>
      current.addEventListener(name, () => isCurrent() && listener())
    on('playing', () => {
      isRunning = true
    })
    on('timeupdate', () => {
      // Some are at 0 for a while before they seek to the start time.
      if (isRunning || current.currentTime > 0) time = current.currentTime
      if (!isRunning) return
      const end = part?.end ?? Number.POSITIVE_INFINITY
      // A seek beyond the end is no end.
      const isEnd = lastTime < end && time >= end && time - lastTime < maxStepSeconds * rate
      lastTime = time
      if (isEnd) current.pause()
      onTime(time, played(), isEnd)
    })
    on('ended', () => onTime(time, played(), true))
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
    const hadFocus = frame.contains(document.activeElement)
    removeMedia()
    tried.clear()
    markSource(-1)
    status.textContent = ''
    const links = [...root.querySelectorAll('.player-sources .player-link')]
    const { panel, retry } = failurePanel(words, links)
    retry.addEventListener('click', () => show(0))
    frame.replaceChildren(panel)
    if (hadFocus) retry.focus({ preventScroll: true })
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

  function show(index: number): void {
    tried.clear()
    status.textContent = ''
    void load(index)
  }

  return {
    show,
    seconds: () => {
      const current = isRunning && media ? media.currentTime : time
      return Math.max(0, current - lastStart + startOf(sources[0]))
    },
  }
}

/** Frames report the time about once a second. */
const maxStepSeconds = 5

/** Returns where the talk starts in a recording, in seconds. */
const startOf = (source: Source | undefined): number => source?.part?.start ?? 0

function loaded(media: MediaElement): Promise<void> {
  return new Promise((resolve) => {
    if (media.readyState > 0) resolve()
    else media.addEventListener('loadedmetadata', () => resolve(), { once: true })
  })
}

function labelFrame(media: MediaElement, name: string): void {
  const frame = media.shadowRoot?.querySelector('iframe')
  if (frame) frame.title = name
}

/** Returns what takes the place of the video if no source plays. */
function failurePanel({ unplayable, retry }: PlayerMessages, links: readonly Element[]) {
  const panel = document.createElement('div')
  panel.className = 'player-failure'
  const text = document.createElement('p')
  text.setAttribute('role', 'alert')
  text.textContent = unplayable
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'player-choice'
  button.textContent = retry
  // The list has room for more, such as a link to report the recording.
  const list = document.createElement('ul')
  list.className = 'player-sources'
  for (const action of [button, ...links.map((link) => link.cloneNode(true))]) {
    const item = document.createElement('li')
    item.append(action)
    list.append(item)
  }
  panel.append(text, list)
  return { panel, retry: button }
}

function part(root: HTMLElement, selector: string): HTMLElement {
  const element = root.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`The player has no ${selector}`)
  return element
}
