import type { Source } from '../data.ts'
import { withTimeout } from './timeout.ts'

// Creates the media element of a source. The code for a host is loaded when the reader presses
// play.

/** The interface that all media elements share, as far as the player uses it. */
export type MediaElement = HTMLVideoElement

export interface OpenedMedia {
  readonly media: MediaElement
  /** Whether the element starts at the requested time by itself. */
  readonly hasStartTime: boolean
}

type ConfigurableMedia = MediaElement & { config: Record<string, unknown> }

/** Creates the media element of a source that starts at a time in seconds. */
export async function mediaFor(
  { host, src }: Source,
  at: number,
  locale: string,
): Promise<OpenedMedia> {
  const start = Math.floor(at)
  switch (host) {
    case 'youtube': {
      await Promise.all([import('youtube-video-element'), withTimeout(youtubeScript())])
      const media = document.createElement('youtube-video') as ConfigurableMedia
      media.config = {
        start: start > 0 ? start : (new URL(src).searchParams.get('start') ?? undefined),
        hl: locale,
        origin: location.origin,
        // Captions are off until the reader turns them on.
        cc_load_policy: undefined,
        // YouTube does not play without a referrer (error 153).
        referrerpolicy: 'strict-origin-when-cross-origin',
      }
      return { media: prepare(media, src.split('?', 1)[0] ?? src), hasStartTime: true }
    }
    case 'vimeo': {
      await import('vimeo-video-element')
      const media = document.createElement('vimeo-video') as ConfigurableMedia
      media.config = { dnt: true, referrerpolicy: 'strict-origin-when-cross-origin' }
      return { media: prepare(media, src), hasStartTime: false }
    }
    case 'peertube': {
      await import('./peertube.ts')
      const url = new URL(src)
      if (start > 0) url.searchParams.set('start', String(start))
      return {
        media: prepare(document.createElement('peertube-video') as MediaElement, url.href),
        hasStartTime: true,
      }
    }
    case 'hls': {
      await import('hls-video-element')
      const media = prepare(document.createElement('hls-video') as MediaElement, src)
      // The element does not report fatal errors. Its engine exists after the current task.
      setTimeout(() =>
        (media as unknown as { api?: Engine }).api?.on(
          'hlsError',
          (_, { fatal }) => fatal && media.dispatchEvent(new Event('error')),
        ),
      )
      return { media, hasStartTime: false }
    }
    case 'file':
      return { media: prepare(document.createElement('video'), src), hasStartTime: false }
  }
}

let youtubeScriptLoaded: Promise<void> | undefined

/**
 * Loads the script of YouTube. The element would load it by itself, but not report a failure, and
 * many networks block YouTube.
 */
function youtubeScript(): Promise<void> {
  youtubeScriptLoaded ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = 'https://www.youtube.com/iframe_api'
    script.addEventListener('error', () => {
      youtubeScriptLoaded = undefined
      script.remove()
      reject()
    })
    Object.assign(window, { onYouTubeIframeAPIReady: resolve })
    document.head.append(script)
  })
  return youtubeScriptLoaded
}

interface Engine {
  on(name: 'hlsError', listener: (name: string, error: { readonly fatal: boolean }) => void): void
}

function prepare<M extends MediaElement>(media: M, src: string): M {
  media.slot = 'media'
  media.playsInline = true
  media.setAttribute('src', src)
  return media
}
