import { Fragment } from 'preact'
import type { Card, FoundCard, NamedLink, TextPart } from '../data.ts'
import { directionOf } from '../direction.ts'
import { type EntityPageKind, type PictureWidth, paths } from '../paths.ts'
import { knownDate } from '../recorded.ts'
import { formatTimecode } from '../timecode.ts'
import { useView } from '../view.ts'

type Shape = 'grid' | 'shelf' | 'list'

/** Widths of pictures, as in cards.css. */
const pictureSizes: Record<Shape, string> = {
  grid: '(min-width: 40rem) 20rem, 7.5rem',
  list: '(min-width: 40rem) 15rem, 7.5rem',
  shelf: '(min-width: 40rem) 20rem, 72vw',
}

interface Props {
  readonly card: FoundCard
  /** Level of the heading. */
  readonly level?: 2 | 3
  /** What to omit, because the page or a heading has it. */
  readonly without?: readonly ('category' | 'day')[]
  /** Whether the picture is loaded eagerly, with high priority. */
  readonly isFirst?: boolean
  readonly shape: Shape
}

/** A talk in a list. */
function TalkCard({ card, level = 3, without = [], isFirst = false, shape }: Props) {
  const { words, href, locale } = useView()
  const Heading = `h${level}` as 'h2' | 'h3'
  const lang = card.language.code === locale ? undefined : card.language.code
  const whereItems = [
    !without.includes('category') && <EntityLink kind="category" entity={card.category} />,
    !without.includes('day') && <RecordedDate day={card.recorded} unknown={words.dateUnknown} />,
    lang && <LanguageNote card={card} />,
  ].filter(Boolean)
  return (
    // Its direction is that of the title: names and excerpts have directions of their own.
    <article class="card" dir={directionOf(card.title)}>
      <a class="card-link" href={href(paths.talk(card))}>
        <span class="card-picture">
          <Picture card={card} isFirst={isFirst} shape={shape} />
          {card.seconds !== null && card.seconds > 0 && (
            <span class="card-length">
              {card.isLengthDoubtful ? words.lengthDoubtful : formatTimecode(card.seconds)}
            </span>
          )}
        </span>
        <Heading class="card-title" lang={lang}>
          {card.titlePieces ? <Pieces pieces={card.titlePieces} /> : card.title}
        </Heading>
      </a>
      {card.speakers.length > 0 && (
        <p class="card-who">
          <EntityLinks kind="speaker" names={card.speakers} limit={4} />
        </p>
      )}
      <p class="card-where">
        {whereItems.map((item, index) => (
          <Fragment key={index}>
            {/* Outside of the items, because they have directions of their own. */}
            {index > 0 && '\u00a0· '}
            {item}
          </Fragment>
        ))}
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
  return <span dir="auto">{language(card.language.code, card.language.name)}</span>
}

/** The date of the recording. */
export function RecordedDate({ day, unknown }: { day: string | null; unknown?: string }) {
  const { recorded } = useView()
  if (!day) return <span dir="auto">{unknown}</span>
  // The text around it may have another direction.
  return (
    <time dateTime={knownDate(day)} dir="auto">
      {recorded(day)}
    </time>
  )
}

interface PictureProps {
  readonly card: Pick<Card, 'id' | 'pictureVersion'>
  readonly isFirst: boolean
  readonly shape: Shape
}

/** The picture of a talk. It has no alternative text, because the title is next to it. */
function Picture({ card, isFirst, shape }: PictureProps) {
  const { href } = useView()
  const url = (width: PictureWidth) => href(paths.picture(card.id, width, card.pictureVersion))
  return (
    <img
      src={url(640)}
      srcset={`${url(320)} 320w, ${url(640)} 640w, ${url(1280)} 1280w`}
      sizes={pictureSizes[shape]}
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
  return <>{pieces.map(({ text, hit }, index) => (hit ? <mark key={index}>{text}</mark> : text))}</>
}

/** A link to the page of an entity. */
export function EntityLink({ kind, entity }: { kind: EntityPageKind; entity: NamedLink }) {
  const { href } = useView()
  return (
    <a href={href(paths.entity(kind, entity))} dir="auto">
      {entity.name}
    </a>
  )
}

/** A list of links to entities, with the number of those beyond the limit. */
export function EntityLinks({
  kind,
  names,
  limit = names.length,
}: {
  kind: EntityPageKind
  names: readonly NamedLink[]
  limit?: number
}) {
  const visible = names.slice(0, limit)
  return (
    <>
      {visible.map((entity, index) => (
        <span key={entity.id}>
          {index > 0 && ', '}
          <EntityLink kind={kind} entity={entity} />
        </span>
      ))}
      {names.length > visible.length && ` +${names.length - visible.length}`}
    </>
  )
}

interface CardsProps {
  readonly cards: readonly FoundCard[]
  readonly level?: 2 | 3
  readonly without?: NonNullable<Props['without']>
  /** Number of cards that are visible without scrolling. */
  readonly first?: number
  readonly shape?: Shape
}

/** A list of talks. */
export function Cards({ cards, level, without = [], first = 0, shape = 'grid' }: CardsProps) {
  return (
    <ul class={`cards cards-${shape}`}>
      {cards.map((card, index) => (
        <li key={card.id}>
          <TalkCard
            card={card}
            level={level ?? 3}
            without={without}
            isFirst={index < first}
            shape={shape}
          />
        </li>
      ))}
    </ul>
  )
}
