import type { Source } from '../data.ts'

// Creates the media element of a source. The code for a host is loaded when the reader presses
// play.

/** The interface that all media elements share, as far as the player uses it. */
export type MediaElement = HTMLVideoElement

export interface OpenedMedia {
  readonly media: MediaElement
  /** Whether the element starts at the requested time by itself. */
  readonly hasStartTime: boolean
  /**
   * Whether the host shows controls of its own in its frame, over which its terms allow nothing to
   * be drawn. Ours stand below it.
   */
  readonly hasControls: boolean
}

type ConfigurableMedia = MediaElement & { config: Record<string, unknown> }

/** Creates the media element of a source that starts at a time in seconds. */
export async function mediaFor({ host, src }: Source, at: number): Promise<OpenedMedia> {
  const start = Math.floor(at)
  switch (host) {
    case 'youtube': {
      await import('./youtube.ts')
      const url = new URL(src)
      if (start > 0) url.searchParams.set('start', String(start))
      return {
        media: prepare(document.createElement('youtube-video') as MediaElement, url.href),
        hasStartTime: true,
        hasControls: true,
      }
    }
    case 'vimeo': {
      await import('vimeo-video-element')
      const media = document.createElement('vimeo-video') as ConfigurableMedia
      media.config = { dnt: true, referrerpolicy: 'strict-origin-when-cross-origin' }
      media.controls = true
      return { media: prepare(media, src), hasStartTime: false, hasControls: true }
    }
    case 'peertube': {
      await import('./peertube.ts')
      const url = new URL(src)
      if (start > 0) url.searchParams.set('start', String(start))
      return {
        media: prepare(document.createElement('peertube-video') as MediaElement, url.href),
        hasStartTime: true,
        hasControls: false,
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
      return { media, hasStartTime: false, hasControls: false }
    }
    case 'file':
      return {
        media: prepare(document.createElement('video'), src),
        hasStartTime: false,
        hasControls: false,
      }
  }
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
