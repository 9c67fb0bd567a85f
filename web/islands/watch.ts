import type { PlayerData } from '../parts/player-data.ts'
import { formatTimecode, parseTimecode } from '../timecode.ts'
import type { OpenedPlayer, PlayedPart } from './player.ts'
import { playNext, showQueue, startsByItself } from './queue.ts'
import { remember, rememberedTalk } from './remembered.ts'

// Waits for the reader to press play, and loads the player then. No host is contacted before that.
// Small, because every page loads it.

/** A talk that was left before this time, or this near to its end, is not resumed. */
const minResume = 10
const endShare = 0.95
const saveEverySeconds = 5

for (const root of document.querySelectorAll<HTMLElement>('[data-player]')) {
  const data = JSON.parse(root.dataset.player ?? '') as PlayerData
  const part = (selector: string) => root.querySelector<HTMLElement>(selector)
  const { talk } = data
  // The page may come from a cache that ignores the query.
  const timecode = new URLSearchParams(location.search).get('t')
  const isTimed = timecode !== null || data.at > 0
  const position = (talk && !isTimed && rememberedTalk(talk.id)?.position) || 0
  const start = data.sources[0]?.part?.start ?? 0
  let at = timecode === null ? data.at || (position && position + start) : parseTimecode(timecode)
  let opened: OpenedPlayer | undefined
  let savedAt = at

  part('[data-copy]')?.addEventListener('click', copy)
  if (talk) {
    offerResume()
    offerLater(talk)
    part('[data-share]')?.addEventListener('toggle', updateShare)
    part('[data-share]')?.addEventListener('keydown', closeShare)
    void showQueue()
    if (startsByItself()) void show(0)
  }

  root.addEventListener('click', (event) => {
    const play = (event.target as Element).closest<HTMLElement>('[data-play]')
    // A click with a modifier key opens the link.
    if (
      !play ||
      event.button !== 0 ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    event.preventDefault()
    void show(Number(play.dataset.play))
  })

  // Space would scroll the page: the picture is a link, but looks like a button.
  root.addEventListener('keydown', (event) => {
    if (event.key !== ' ' || !(event.target as Element).matches('.player-facade')) return
    event.preventDefault()
    void show(0)
  })

  // Later the player handles its keys itself. Here too, letters typed elsewhere do nothing.
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'k' || event.repeat || opened) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { target } = event
    if (target === document.body || (target instanceof Node && root.contains(target))) void show(0)
  })

  async function show(index: number): Promise<void> {
    root.setAttribute('aria-busy', 'true')
    try {
      opened ??= (await import('./player.ts')).openPlayer(root, { ...data, at }, { copy, onTime })
      opened.show(index)
    } catch {
      // The player could not be loaded: go to the host.
      location.assign(data.sources[index]?.address ?? data.link)
    }
    root.removeAttribute('aria-busy')
  }

  function linkAtTime(): { link: string; seconds: number } {
    const seconds = Math.floor(opened?.seconds() ?? at)
    return { seconds, link: seconds > 0 ? `${data.link}?t=${seconds}` : data.link }
  }

  async function copy(): Promise<void> {
    const { link, seconds } = linkAtTime()
    let text = link
    try {
      await navigator.clipboard.writeText(link)
      text = `${data.words.copied}: ${formatTimecode(seconds)}`
    } catch {
      // The clipboard is denied, or missing without https: show the link to copy it by hand.
    }
    const status = part('.player-status')
    if (status) status.textContent = text
  }

  function closeShare(event: KeyboardEvent): void {
    const share = event.currentTarget as HTMLDetailsElement
    if (event.key !== 'Escape' || !share.open) return
    event.stopPropagation()
    share.open = false
    share.querySelector('summary')?.focus()
  }

  function updateShare(): void {
    const text = part('#share-time')
    if (!text?.parentElement || !part('[data-share][open]')) return
    const { link, seconds } = linkAtTime()
    text.textContent = link
    text.parentElement.hidden = seconds === 0
  }

  /** Remembers where the reader is, and continues with the next talk at the end. */
  function onTime(seconds: number, { start: from, end }: PlayedPart, isEnded: boolean): void {
    updateShare()
    if (!talk || (!isEnded && Math.abs(seconds - savedAt) < saveEverySeconds)) return
    savedAt = seconds
    const [played, duration] = [seconds - from, end - from]
    const isWatched = isEnded || (duration > 0 && played > duration * endShare)
    const known = rememberedTalk(talk.id)
    remember({
      ...known,
      ...talk,
      // In the talk, which may be a part of its recording.
      position: isWatched || played < minResume ? 0 : Math.floor(played),
      duration: Number.isFinite(duration) ? Math.round(duration) : 0,
      isWatched: isWatched || (known?.isWatched ?? false),
    })
    if (isEnded) void playNext()
  }

  function offerResume(): void {
    const note = part('[data-resume]')
    const time = note?.querySelector('strong')
    if (!note || !time || position === 0) return
    time.textContent = formatTimecode(position + start)
    note.hidden = false
    note.querySelector('button')?.addEventListener('click', () => {
      at = 0
      note.hidden = true
      void show(0)
    })
  }

  function offerLater(note: NonNullable<PlayerData['talk']>): void {
    const button = part('[data-later]')
    const mark = () =>
      button?.setAttribute('aria-pressed', String(rememberedTalk(note.id)?.isLater ?? false))
    button?.addEventListener('click', () => {
      const known = rememberedTalk(note.id)
      remember({ ...known, ...note, isLater: !known?.isLater })
      mark()
    })
    mark()
  }
}

// A talk without a recording cannot be played: all talks of an event continue with the next one.
if (!document.querySelector('[data-player]') && document.querySelector('[data-queue]')) {
  if (startsByItself()) void playNext()
  else void showQueue()
}
