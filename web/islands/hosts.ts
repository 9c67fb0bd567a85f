import type { Source } from '../data.ts'
import { withTimeout } from './timeout.ts'

// The media element for a source. What a host needs is fetched when it is played, and not before.

/** All of them have the surface of a video, or as much of it as is needed here. */
export type MediaElement = HTMLVideoElement

export interface OpenedMedia {
  readonly media: MediaElement
  /** It was told where to begin, and must not be sent there again. */
  readonly isPlaced: boolean
}

type Configured = MediaElement & { config: Record<string, unknown> }

export async function mediaFor(
  { host, src }: Source,
  at: number,
  locale: string,
): Promise<OpenedMedia> {
  const start = Math.floor(at)
  switch (host) {
    case 'youtube': {
      await Promise.all([import('youtube-video-element'), withTimeout(youtubeScript())])
      const media = document.createElement('youtube-video') as Configured
      media.config = {
        start: start > 0 ? start : (new URL(src).searchParams.get('start') ?? undefined),
        hl: locale,
        origin: location.origin,
        // Captions are for readers to choose.
        cc_load_policy: undefined,
        // Without the name of our site YouTube refuses to play (its error 153).
        referrerpolicy: 'strict-origin-when-cross-origin',
      }
      return { media: placed(media, src.split('?', 1)[0] ?? src), isPlaced: true }
    }
    case 'vimeo': {
      await import('vimeo-video-element')
      const media = document.createElement('vimeo-video') as Configured
      media.config = { dnt: true, referrerpolicy: 'strict-origin-when-cross-origin' }
      return { media: placed(media, src), isPlaced: false }
    }
    case 'peertube': {
      await import('./peertube.ts')
      const from = new URL(src)
      if (start > 0) from.searchParams.set('start', String(start))
      return {
        media: placed(document.createElement('peertube-video') as MediaElement, from.href),
        isPlaced: true,
      }
    }
    case 'hls': {
      await import('hls-video-element')
      const media = placed(document.createElement('hls-video') as MediaElement, src)
      // The element keeps what went wrong to itself. Its engine is there after this turn.
      setTimeout(() =>
        (media as unknown as { api?: Engine }).api?.on(
          'hlsError',
          (_, { fatal }) => fatal && media.dispatchEvent(new Event('error')),
        ),
      )
      return { media, isPlaced: false }
    }
    case 'file':
      return { media: placed(document.createElement('video'), src), isPlaced: false }
  }
}

let script: Promise<void> | undefined

/**
 * The element would load it by itself, and never say when it can't: many networks let nothing of
 * YouTube in.
 */
function youtubeScript(): Promise<void> {
  script ??= new Promise((resolve, reject) => {
    const it = document.createElement('script')
    it.src = 'https://www.youtube.com/iframe_api'
    it.addEventListener('error', () => {
      script = undefined
      it.remove()
      reject()
    })
    Object.assign(window, { onYouTubeIframeAPIReady: resolve })
    document.head.append(it)
  })
  return script
}

interface Engine {
  on(name: 'hlsError', hear: (name: string, error: { readonly fatal: boolean }) => void): void
}

function placed<M extends MediaElement>(media: M, src: string): M {
  media.slot = 'media'
  media.playsInline = true
  media.setAttribute('src', src)
  return media
}
