import { addTranslation, setLanguage } from 'media-chrome/dist/utils/i18n.js'
import 'media-chrome/media-controller'
import 'media-chrome/media-control-bar'
import 'media-chrome/media-play-button'
import 'media-chrome/media-mute-button'
import 'media-chrome/media-volume-range'
import 'media-chrome/media-time-range'
import 'media-chrome/media-time-display'
import 'media-chrome/media-captions-button'
import 'media-chrome/media-pip-button'
import 'media-chrome/media-fullscreen-button'
import 'media-chrome/media-loading-indicator'
import 'media-chrome/media-playback-rate-button'
import 'media-chrome/menu/media-chrome-menu-item'
import 'media-chrome/menu/media-playback-rate-menu'
import 'media-chrome/menu/media-playback-rate-menu-button'
import type { PlayerMessages } from '../parts/player-data.ts'

// The controls of the player: media-chrome, with the texts of the page.

export const rates = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]

/**
 * Creates the controls. The media element is added to them as a child. An embedded player has a
 * link to the page of its talk.
 */
export function makeControls(
  words: PlayerMessages['controls'],
  locale: string,
  talkLink?: string,
): HTMLElement {
  addTranslation(locale, dictionary(words))
  setLanguage(locale)
  const prefersReducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches
  return element('media-controller', { nohotkeys: '', class: 'player-controls' }, [
    // The default indicator is animated: readers who prefer less motion get a text.
    element(
      'media-loading-indicator',
      { slot: 'centered-chrome', noautohide: '' },
      prefersReducedMotion ? [loadingText(words.loading)] : [],
    ),
    element('media-playback-rate-menu', { hidden: '', anchor: 'auto', rates: rates.join(' ') }),
    element('media-control-bar', { class: 'player-time' }, [element('media-time-range')]),
    element('media-control-bar', {}, [
      element('media-play-button'),
      element('media-mute-button'),
      element('media-volume-range'),
      element('media-time-display', { showduration: '', notoggle: '' }),
      element('span', { class: 'player-space' }),
      ...(talkLink === undefined ? [] : [linkTo(talkLink, words.openTalk)]),
      element('media-captions-button'),
      element('media-playback-rate-menu-button'),
      // Below a frame, where the menu would cover the frame.
      element('media-playback-rate-button', { rates: rates.join(' ') }),
      element('media-pip-button'),
      element('media-fullscreen-button'),
    ]),
  ])
}

/** Puts the controls below the frame of a host, or over the video. */
export function placeControls(controls: HTMLElement, isBelow: boolean): void {
  controls.toggleAttribute('data-below', isBelow)
  controls.toggleAttribute('gesturesdisabled', isBelow)
  for (const bar of controls.querySelectorAll('media-control-bar'))
    bar.toggleAttribute('noautohide', isBelow)
}

function loadingText(text: string): HTMLElement {
  const span = element('span', { slot: 'icon', class: 'player-waiting' })
  span.textContent = text
  return span
}

function linkTo(href: string, name: string): HTMLElement {
  const attributes = { href, target: '_blank', rel: 'noopener', 'aria-label': name, title: name }
  const link = element('a', { ...attributes, class: 'player-home' })
  link.textContent = '↗'
  return link
}

function element(
  tag: string,
  attributes: Record<string, string> = {},
  children: HTMLElement[] = [],
): HTMLElement {
  const created = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value)
  created.append(...children)
  return created
}

/** Returns the texts by the keys of media-chrome, which are its English texts. */
function dictionary(words: PlayerMessages['controls']): Record<string, string> {
  return {
    'video player': words.player,
    Play: words.play,
    play: words.play,
    Pause: words.pause,
    pause: words.pause,
    Mute: words.mute,
    mute: words.mute,
    Unmute: words.unmute,
    unmute: words.unmute,
    volume: words.volume,
    seek: words.seek,
    'playback time': words.time,
    '{currentTime} of {totalTime}': words.timeOf,
    'video not loaded, unknown time.': words.timeUnknown,
    'media loading': words.loading,
    'Playback rate': words.speed,
    'Playback rate {playbackRate}': `${words.speed} {playbackRate}x`,
    'closed captions': words.captions,
    'Enable captions': words.captionsOn,
    'Disable captions': words.captionsOff,
    'Enter fullscreen mode': words.fullScreen,
    'enter fullscreen mode': words.fullScreen,
    'Exit fullscreen mode': words.fullScreenOff,
    'exit fullscreen mode': words.fullScreenOff,
    'Enter picture in picture mode': words.pictureInPicture,
    'enter picture in picture mode': words.pictureInPicture,
    'Exit picture in picture mode': words.pictureInPictureOff,
    'exit picture in picture mode': words.pictureInPictureOff,
    hour: words.hour,
    hours: words.hours,
    minute: words.minute,
    minutes: words.minutes,
    second: words.second,
    seconds: words.seconds,
  }
}
