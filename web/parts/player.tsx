import type { LostSource, Source, SourceStatus, Talk } from '../data.ts'
import { embedCode, embedSize } from '../embed-code.ts'
import type { Messages } from '../messages/messages.ts'
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
  readonly isFramed?: boolean | undefined
}

/** The player of a talk, or a note if there is nothing to play. */
export function Player({ talk, at, isFramed = false }: Props) {
  const linkAttributes = isFramed ? { target: '_blank', rel: 'noopener' } : {}
  const { words, origin, locale, href } = useView()
  const [first] = talk.sources
  const data: PlayerData = {
    link: origin + paths.talk(talk),
    locale,
    at,
    sources: talk.sources,
    talk: isFramed
      ? undefined
      : {
          id: talk.id,
          title: talk.title,
          path: href(paths.talk(talk)),
          event: talk.category.name,
        },
    words: {
      copied: words.copied,
      unplayable: words.unplayable,
      retry: words.retry,
      nextSource: words.nextSource('{host}', '{next}'),
      controls: words.controls,
    },
  }
  if (!first) return <Unplayable talk={talk} isFramed={isFramed} />
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
        {!isOwn(first) && words.playNote(hostName(first))}{' '}
        {first.part &&
          words.partOfRecording(
            formatTimecode(first.part.start),
            first.part.end === null ? undefined : formatTimecode(first.part.end),
          )}{' '}
        {at > 0 && words.startsAt(formatTimecode(at))}
      </p>
      <p class="player-resume with-scripts" data-resume hidden>
        {words.resumesAt} <strong />.{' '}
        <button type="button" class="as-link">
          {words.fromStart}
        </button>
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
                {words.watchOn(linkName(source))}
              </a>
              <State status={source.status} />
            </li>
          ))}
          {talk.elsewhere.map(({ address, label, status }) => (
            <li key={address}>
              <a class="player-link" href={address} {...linkAttributes}>
                {words.watchOn(label)}
              </a>
              <State status={status} />
            </li>
          ))}
          {talk.lost.map(({ address, label, status }) => (
            <li key={address} class="player-lost">
              <s>{label}</s> <State status={status} />
            </li>
          ))}
        </ul>
        <button type="button" class="player-copy with-scripts" data-copy>
          {words.copyAtTime}
        </button>
        {!isFramed && (
          <>
            <button type="button" class="player-later with-scripts" data-later aria-pressed="false">
              {words.watchLater}
            </button>
            <Share talk={talk} at={at} />
          </>
        )}
      </div>
      <p class="player-status" role="status" />
      {!isFramed && <UpNext />}
    </section>
  )
}

/** Links and code to share the talk, which also work as plain text. */
function Share({ talk, at }: { readonly talk: Talk; readonly at: number }) {
  const { words, origin } = useView()
  const link = origin + paths.talk(talk)
  const rows = [
    { id: 'share-link', name: words.link, text: link },
    { id: 'share-time', name: words.linkAtTime, text: at > 0 ? `${link}?t=${at}` : link },
    {
      id: 'share-embed',
      name: words.embedCode,
      text: embedCode({ src: origin + paths.embed(talk.id), title: talk.title, ...embedSize }),
    },
  ]
  return (
    <details class="player-share" data-share>
      <summary>{words.share}</summary>
      <div class="player-share-panel">
        {rows.map(({ id, name, text }) => (
          // Until the talk plays, the link at the current time is the first link.
          <div key={id} hidden={id === 'share-time' && at === 0}>
            <strong>{name}</strong>
            <pre id={id}>{text}</pre>
            <button type="button" class="player-copy with-scripts" data-copy-text={id}>
              {words.copy} <span class="player-name">{name}</span>
            </button>
          </div>
        ))}
      </div>
    </details>
  )
}

/** The next talk while all talks of an event are played; islands/queue.ts fills it. */
function UpNext() {
  const { words } = useView()
  return (
    <p class="player-next with-scripts" data-queue hidden>
      {words.playingAll} <strong dir="auto" />. {words.upNext} <span data-next /> ·{' '}
      <button type="button" class="as-link">
        {words.stopPlayingAll}
      </button>
    </p>
  )
}

/** What is known against a source. */
function State({ status }: { readonly status: SourceStatus | undefined }) {
  const { words, month } = useView()
  if (!status) return null
  return <span class="player-state">{stateText(status, words, month)}</span>
}

/** Says what is known against a source, and since when. */
export function stateText(
  { state, since, lastGood }: SourceStatus,
  words: Messages,
  month: (date: string) => string,
): string {
  return words.sourceStates[state](month(since), lastGood !== null)
}

/** The picture with a message, and the first links to recordings. The details list all of them. */
function Unplayable({ talk, isFramed }: Pick<Props, 'talk' | 'isFramed'>) {
  const { words } = useView()
  const links = linkedRecordings(talk).slice(0, 3)
  const isLost = isRecordingLost(talk)
  return (
    <section class="player" aria-label={words.video}>
      <div class="player-frame">
        <Picture talk={talk} />
        <div class="player-failure">
          <p>{isLost ? words.recordingLost : unplayableText(links.length > 0, talk, words)}</p>
          {(links.length > 0 || isLost) && (
            <ul class="player-sources">
              {links.map(({ address, label }) => (
                <li key={address}>
                  <a class="player-link" href={address} target="_blank" rel="noopener ugc nofollow">
                    {label}
                  </a>
                </li>
              ))}
              {isLost && (
                <li>
                  <AnotherCopy talk={talk} isFramed={isFramed} />
                </li>
              )}
            </ul>
          )}
        </div>
      </div>
      {!isFramed && talk.lost.length > 0 && <LostSources sources={talk.lost} />}
      {!isFramed && <UpNext />}
    </section>
  )
}

const linkedRecordings = ({ elsewhere, downloads, links }: Talk) =>
  [...elsewhere, ...downloads, ...links].filter(({ isRelated }) => !isRelated)

/** Tells whether a talk had recordings, and none of them is left. */
export const isRecordingLost = (talk: Talk): boolean =>
  talk.lost.length > 0 && talk.sources.length === 0 && linkedRecordings(talk).length === 0

function unplayableText(hasLinks: boolean, { recordingStatus }: Talk, words: Messages): string {
  if (hasLinks) return words.unplayable
  return recordingStatus ? words.noRecording[recordingStatus] : words.noVideo
}

/** Leads to the form for the address of another copy. */
function AnotherCopy({ talk, isFramed }: Pick<Props, 'talk' | 'isFramed'>) {
  const { words, site, base, origin } = useView()
  // Changes are made in the archive that this one is a copy of.
  const start = site.source ?? (isFramed ? origin : base)
  return (
    <a
      class={isFramed ? 'player-link' : 'player-link player-another'}
      href={`${start}${paths.suggest(talk)}?kind=dead-link`}
      rel="nofollow noopener"
      target={isFramed ? '_blank' : undefined}
    >
      {words.anotherCopy}
    </a>
  )
}

/** What was where, until when, and where to look for a copy. */
function LostSources({ sources }: { readonly sources: readonly LostSource[] }) {
  const { words, day } = useView()
  return (
    <ul class="player-losses">
      {sources.map(({ address, label, status }) => (
        <li key={address}>
          <s>{label}</s> <State status={status} />
          {'. '}
          {status.lastGood !== null && `${words.lastSeen(day(status.lastGood))} `}
          <a href={`https://web.archive.org/web/2/${address}`} rel="nofollow noopener ugc">
            {words.wayback}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Picture({ talk: { id, pictureVersion, picture } }: { readonly talk: Talk }) {
  const { href } = useView()
  if (picture) return <img class="player-picture" src={href(picture)} alt="" />
  const url = (width: 640 | 1280) => href(paths.untitledPicture(id, width, pictureVersion))
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

/** Tells whether the archive serves the file itself, as only the demo does. */
const isOwn = ({ src }: Source) => src.startsWith('/')

const isFile = ({ host }: Source) => host === 'file' || host === 'hls'

/** Returns the name of the host. The label of a file is its format, which is not a host. */
const hostName = (source: Source) =>
  isFile(source) ? new URL(source.address).hostname : source.label

/** Returns the name of the host and the format of a file: a host may have several. */
const linkName = (source: Source) =>
  isFile(source) ? `${hostName(source)} (${source.label.split(' ', 1)[0]})` : source.label
