import type { Source, Talk } from '../data.ts'
import { paths } from '../paths.ts'
import { formatTimecode } from '../timecode.ts'
import { useView } from '../view.ts'
import type { PlayerData } from './player-data.ts'

// The picture of a talk with a play button. It links to the host; islands/watch.ts replaces it with
// the player.

interface Props {
  readonly talk: Talk
  readonly at: number
  /** Whether it is embedded in another site, where links must leave the frame. */
  readonly isFramed?: boolean
}

/** The player of a talk, or a note if there is nothing to play. */
export function Player({ talk, at, isFramed = false }: Props) {
  const linkAttributes = isFramed ? { target: '_blank', rel: 'noopener' } : {}
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
        <a class="player-facade" href={first.address} data-play="0" {...linkAttributes}>
          <Picture talk={talk} />
          <PlayMark />
          {talk.seconds !== null && talk.seconds > 0 && (
            <span class="player-length">{formatTimecode(talk.seconds)}</span>
          )}
          <span class="player-name">{words.play(talk.title)}</span>
        </a>
      </div>
      <p class="player-note">
        {words.playNote(hostName(first))} {at > 0 && words.startsAt(formatTimecode(at))}
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
              <a class="player-link" href={source.address} {...linkAttributes}>
                {words.watchOn(hostName(source))}
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
  const url = (width: 640 | 1280) => href(paths.picture(id, width, pictureVersion))
  return (
    <img
      class="player-picture"
      src={url(640)}
      srcset={`${url(640)} 640w, ${url(1280)} 1280w`}
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

/** Returns the name of the host. The label of a file is its format, which is not a host. */
const hostName = ({ host, src, label }: Source) =>
  host === 'file' || host === 'hls' ? new URL(src).hostname : label
