import type { Source, Talk } from '../data.ts'
import { paths } from '../paths.ts'
import { formatTimecode } from '../timecode.ts'
import { useView } from '../view.ts'
import type { PlayerData } from './player-data.ts'

// The picture of a talk with a button on it. Without scripts it leads to the host; with them the
// player takes its place: islands/watch.ts.

interface Props {
  readonly talk: Talk
  readonly at: number
  /** In the page of somebody else, where a link must lead out of the frame. */
  readonly isFramed?: boolean
}

export function Player({ talk, at, isFramed = false }: Props) {
  const out = isFramed ? { target: '_blank', rel: 'noopener' } : {}
  const { words, origin, locale } = useView()
  const [first] = talk.sources
  const data: PlayerData = {
    link: origin + paths.talk(talk),
    locale,
    at,
    sources: talk.sources,
    words: {
      copied: words.copied,
      unplayable: words.unplayable,
      nextSource: words.nextSource('{host}', '{next}'),
      controls: words.controls,
    },
  }
  if (!first) return <Unplayable talk={talk} />
  return (
    <section class="player" aria-label={words.video} data-player={JSON.stringify(data)}>
      <div class="player-frame">
        <a class="player-facade" href={first.address} data-play="0" {...out}>
          <Picture talk={talk} />
          <PlayMark />
          {talk.seconds !== null && talk.seconds > 0 && (
            <span class="player-length">{formatTimecode(talk.seconds)}</span>
          )}
          <span class="player-name">{words.play(talk.title)}</span>
        </a>
      </div>
      <p class="player-note">
        {words.playNote(placeOf(first))} {at > 0 && words.startsAt(formatTimecode(at))}
      </p>
      <div class="player-bar">
        <ul class="player-sources" aria-label={words.sources}>
          {talk.sources.map((source, index) => (
            <li key={source.src}>
              <button
                type="button"
                class="player-choice with-scripts"
                data-play={index}
                aria-pressed="false"
                hidden={talk.sources.length < 2}
              >
                {source.label}
              </button>
              <a class="player-link" href={source.address} {...out}>
                {words.watchOn(placeOf(source))}
              </a>
            </li>
          ))}
        </ul>
        <button type="button" class="player-copy with-scripts" data-copy>
          {words.copyAtTime}
        </button>
      </div>
      <p class="player-status" role="status" />
    </section>
  )
}

function Unplayable({ talk }: { readonly talk: Talk }) {
  const { words } = useView()
  return (
    <section class="player" aria-label={words.video}>
      <div class="player-frame">
        <Picture talk={talk} />
      </div>
      <p class="player-note">
        {talk.downloads.length + talk.links.length > 0 ? words.unplayable : words.noVideo}
      </p>
    </section>
  )
}

function Picture({ talk: { id, pictureVersion } }: { readonly talk: Talk }) {
  const { href } = useView()
  const at = (width: 640 | 1280) => href(paths.picture(id, width, pictureVersion))
  return (
    <img
      class="player-picture"
      src={at(640)}
      srcset={`${at(640)} 640w, ${at(1280)} 1280w`}
      sizes="(min-width: 70rem) 64rem, 100vw"
      width="1280"
      height="720"
      alt=""
      fetchpriority="high"
    />
  )
}

const PlayMark = () => (
  <svg class="player-mark" viewBox="0 0 80 80" width="80" height="80" aria-hidden="true">
    <circle cx="40" cy="40" r="39" />
    <path d="M32 24.5v31a2 2 0 0 0 3.1 1.7l23.2-15.5a2 2 0 0 0 0-3.4L35.1 22.8a2 2 0 0 0-3.1 1.7z" />
  </svg>
)

/** Who sends the video: a format sends nothing. */
const placeOf = ({ host, src, label }: Source) =>
  host === 'file' || host === 'hls' ? new URL(src).hostname : label
