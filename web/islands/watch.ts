import type { PlayerData } from '../parts/player-data.ts'
import { formatTimecode, parseTimecode } from '../timecode.ts'
import type { OpenedPlayer } from './player.ts'

// Waits for the reader to press play, and loads the player then. No host is contacted before that.
// Small, because every page loads it.

for (const root of document.querySelectorAll<HTMLElement>('[data-player]')) {
  const pageData = JSON.parse(root.dataset.player ?? '') as PlayerData
  // The page may come from a cache that ignores the query.
  const timecode = new URLSearchParams(location.search).get('t')
  const at = timecode === null ? pageData.at : parseTimecode(timecode)
  const data: PlayerData = { ...pageData, at }
  const status = root.querySelector<HTMLElement>('.player-status')
  const copyButton = root.querySelector<HTMLElement>('[data-copy]')
  let opened: OpenedPlayer | undefined

  copyButton?.addEventListener('click', copy)

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

  async function show(index: number): Promise<void> {
    root.setAttribute('aria-busy', 'true')
    try {
      opened ??= (await import('./player.ts')).openPlayer(root, data, copy)
      opened.show(index)
    } catch {
      // The player could not be loaded: go to the host.
      location.assign(data.sources[index]?.address ?? data.link)
    }
    root.removeAttribute('aria-busy')
  }

  async function copy(): Promise<void> {
    const seconds = Math.floor(opened?.seconds() ?? data.at)
    const link = seconds > 0 ? `${data.link}?t=${seconds}` : data.link
    let text = link
    try {
      await navigator.clipboard.writeText(link)
      text = `${data.words.copied}: ${formatTimecode(seconds)}`
    } catch {
      // The clipboard is denied, or missing without https: show the link to copy it by hand.
    }
    if (status) status.textContent = text
  }
}
