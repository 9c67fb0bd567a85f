import type { Card, FoundCard, NamedLink, TextPart } from '../data.ts'
import { type EntityPageKind, type PictureWidth, paths } from '../paths.ts'
import { formatTimecode } from '../timecode.ts'
import { useView } from '../view.ts'

interface Props {
  readonly card: FoundCard
  /** Below which heading it stands. */
  readonly level?: 2 | 3
  /** On the page of an event nobody has to be told the event. */
  readonly without?: 'category' | 'speaker' | undefined
  /** The first ones of a page are fetched at once. */
  readonly isFirst?: boolean
}

/** A talk in a list. */
function TalkCard({ card, level = 3, without, isFirst = false }: Props) {
  const { words, href, locale } = useView()
  const Heading = `h${level}` as 'h2' | 'h3'
  const lang = card.language.code === locale ? undefined : card.language.code
  return (
    <article class="card">
      <a class="card-link" href={href(paths.talk(card))}>
        <span class="card-picture">
          <Picture card={card} isFirst={isFirst} />
          {card.seconds !== null && card.seconds > 0 && (
            <span class="card-length">{formatTimecode(card.seconds)}</span>
          )}
        </span>
        <Heading class="card-title" lang={lang} dir="auto">
          {card.titlePieces ? <Pieces pieces={card.titlePieces} /> : card.title}
        </Heading>
      </a>
      {card.speakers.length > 0 && without !== 'speaker' && (
        <p class="card-who">
          <EntityLinks kind="speaker" names={card.speakers} most={4} />
        </p>
      )}
      <p class="card-where">
        {without !== 'category' && <EntityLink kind="category" entity={card.category} />}
        <RecordedDate day={card.recorded} unknown={words.dateUnknown} />
        {lang && <LanguageNote card={card} />}
      </p>
      {card.excerpt && card.excerpt.length > 0 && (
        <p class="card-excerpt" lang={lang} dir="auto">
          <Pieces pieces={card.excerpt} />
        </p>
      )}
    </article>
  )
}

function LanguageNote({ card }: { card: Card }) {
  const { language } = useView()
  return <span>{language(card.language.code, card.language.name)}</span>
}

export function RecordedDate({ day, unknown }: { day: string | null; unknown?: string }) {
  const view = useView()
  return day ? <time dateTime={day}>{view.day(day)}</time> : <span>{unknown}</span>
}

interface PictureProps {
  readonly card: Pick<Card, 'id' | 'pictureVersion'>
  readonly isFirst?: boolean
  readonly sizes?: string
}

/** Beside a title it says nothing that the title does not. */
function Picture({
  card,
  isFirst = false,
  sizes = '(min-width: 48rem) 20rem, 92vw',
}: PictureProps) {
  const { href } = useView()
  const at = (width: PictureWidth) => href(paths.picture(card.id, width, card.pictureVersion))
  return (
    <img
      src={at(640)}
      srcset={`${at(320)} 320w, ${at(640)} 640w, ${at(1280)} 1280w`}
      sizes={sizes}
      width={640}
      height={360}
      alt=""
      decoding="async"
      loading={isFirst ? 'eager' : 'lazy'}
      fetchpriority={isFirst ? 'high' : undefined}
    />
  )
}

function Pieces({ pieces }: { pieces: readonly TextPart[] }) {
  return <>{pieces.map(({ text, hit }, at) => (hit ? <mark key={at}>{text}</mark> : text))}</>
}

export function EntityLink({ kind, entity }: { kind: EntityPageKind; entity: NamedLink }) {
  const { href } = useView()
  return (
    <a href={href(paths.entity(kind, entity))} dir="auto">
      {entity.name}
    </a>
  )
}

export function EntityLinks({
  kind,
  names,
  most: limit = names.length,
}: {
  kind: EntityPageKind
  names: readonly NamedLink[]
  most?: number
}) {
  const shown = names.slice(0, limit)
  return (
    <>
      {shown.map((it, at) => (
        <span key={it.id}>
          {at > 0 && ', '}
          <EntityLink kind={kind} entity={it} />
        </span>
      ))}
      {names.length > shown.length && ` +${names.length - shown.length}`}
    </>
  )
}

interface CardsProps {
  readonly cards: readonly FoundCard[]
  readonly level?: 2 | 3
  readonly without?: Props['without']
  /** How many can be seen without scrolling. */
  readonly first?: number
  readonly shape?: 'grid' | 'shelf' | 'list'
}

export function Cards({ cards, level, without, first = 0, shape = 'grid' }: CardsProps) {
  return (
    <ul class={`cards cards-${shape}`}>
      {cards.map((card, at) => (
        <li key={card.id}>
          <TalkCard card={card} level={level ?? 3} without={without} isFirst={at < first} />
        </li>
      ))}
    </ul>
  )
}
