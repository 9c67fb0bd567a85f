import type { PlayerData } from '../parts/player-data.ts'
import { formatTimecode, parseTimecode } from '../timecode.ts'
import type { OpenedPlayer } from './player.ts'

// Always loaded, so it is small: waits for a reader to play a talk, and fetches the player then.
// Nothing is asked of a host before.

for (const root of document.querySelectorAll<HTMLElement>('[data-player]')) {
  const given = JSON.parse(root.dataset.player ?? '') as PlayerData
  // An address can say where to begin although the page came from a cache that did not look.
  const asked = new URLSearchParams(location.search).get('t')
  const data: PlayerData = { ...given, at: asked === null ? given.at : parseTimecode(asked) }
  const status = root.querySelector<HTMLElement>('.player-status')
  const copier = root.querySelector<HTMLElement>('[data-copy]')
  let opened: OpenedPlayer | undefined

  copier?.addEventListener('click', copy)

  root.addEventListener('click', (event) => {
    const play = (event.target as Element).closest<HTMLElement>('[data-play]')
    // With a key held down, a reader wants the link and not the player.
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
      // No script, no player: the host has one.
      location.assign(data.sources[index]?.address ?? data.link)
    }
    root.removeAttribute('aria-busy')
  }

  async function copy(): Promise<void> {
    const seconds = Math.floor(opened?.seconds() ?? data.at)
    const link = seconds > 0 ? `${data.link}?t=${seconds}` : data.link
    let said = link
    try {
      await navigator.clipboard.writeText(link)
      said = `${data.words.copied}: ${formatTimecode(seconds)}`
    } catch {
      // Not allowed, or not there without https: then it is shown, to be copied by hand.
    }
    if (status) status.textContent = said
  }
}
