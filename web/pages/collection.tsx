import {
  type Card,
  type CollectionData,
  type CountedValue,
  type FacetKind,
  maxCommonFacets,
} from '../data.ts'
import { breadcrumbsJsonLd, eventJsonLd, jsonLdText, personJsonLd } from '../json-ld.ts'
import { plainText } from '../markdown.ts'
import { Cards } from '../parts/card.tsx'
import { Chips } from '../parts/chips.tsx'
import { DateRange } from '../parts/date-range.tsx'
import { facetName, inOrder } from '../parts/facets.tsx'
import { FeedIcon, PlayIcon, SearchIcon } from '../parts/icons.tsx'
import { PageLayout } from '../parts/page.tsx'
import { PagerNav } from '../parts/pager.tsx'
import { Banner, bannerStyle, ProfileDetails, placeText } from '../parts/profile.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** The talks of an event, speaker, tag, language or year. */
export function Collection(data: CollectionData) {
  const view = useView()
  const { words, number } = view
  const { kind, about, path, pager, count } = data
  const name = data.code ? view.language(data.code, data.name) : data.name
  const title = words.titles[kind](name)
  const formatted = data.isExact ? number(count) : words.approximately(number(count))
  const talkCount = words.talks(count, formatted)
  const pageOf = (page: number) => (page > 1 ? `${path}?page=${page}` : path)
  return (
    <PageLayout
      name="collection"
      title={pager.page > 1 ? `${title} (${words.page(number(pager.page))})` : title}
      description={plainText(about?.description ?? '', 200) || `${title}: ${talkCount}`}
      canonical={pageOf(pager.page)}
      feed={path}
      preview={{ type: kind === 'speaker' ? 'profile' : 'website' }}
      style={bannerStyle(data.profile)}
      jsonLd={jsonLdOf(data, title, view).map(jsonLdText)}
    >
      <CollectionHeader {...data} name={name} talkCount={talkCount} />
      {count === 0 && <p>{words.noTalks}</p>}
      {kind === 'category' ? (
        <Programme cards={data.cards} isOneDay={about?.first === about?.last} />
      ) : (
        <Cards cards={data.cards} level={2} first={3} />
      )}
      <PagerNav pager={pager} to={pageOf} />
      <CommonFacets {...data} />
    </PageLayout>
  )
}

function CollectionHeader({
  kind,
  name,
  about,
  profile,
  aliases,
  hasSchedule,
  state,
  path,
  cards,
  talkCount,
}: CollectionData & { talkCount: string }) {
  const view = useView()
  const { words, href } = view
  const place = profile ? placeText(profile, view) : ''
  return (
    <header class="collection-head">
      <Banner profile={profile}>
        <p class="kind">{words.kinds[kind]}</p>
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <p class="facts">
          {profile?.pronouns && <bdi>{profile.pronouns}</bdi>}
          {profile?.pronouns && ' · '}
          {about && (about.first || about.last) && (
            <>
              <DateRange first={about.first} last={about.last} /> ·{' '}
            </>
          )}
          {place && `${place} · `}
          {talkCount}
          {about?.url && (
            <>
              {' · '}
              <a href={about.url} rel="nofollow noopener ugc">
                {words.website}
              </a>
            </>
          )}
        </p>
      </Banner>
      {aliases.length > 0 && (
        <p>
          {words.alsoKnownAs}:{' '}
          {aliases.map((alias, index) => (
            <>
              {index > 0 && ', '}
              <bdi>{alias}</bdi>
            </>
          ))}
        </p>
      )}
      {about?.html && (
        <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: about.html }} />
      )}
      <ProfileDetails profile={profile} />
      <p class="row actions">
        {kind === 'category' && cards[0] && (
          <a class="button with-scripts" href={href(paths.talk(cards[0]))} data-play-all={name}>
            <PlayIcon /> {words.playAll}
          </a>
        )}
        <a class="button" href={href(paths.search(state))} rel="nofollow">
          <SearchIcon /> {words.searchThese}
        </a>
        {hasSchedule && (
          <a class="button" href={href(paths.schedule(path))}>
            {words.schedule}
          </a>
        )}
        <a class="button" href={href(paths.follow(path))}>
          <FeedIcon /> {words.follow}
        </a>
      </p>
    </header>
  )
}

/**
 * The talks of an event, by day. There are no headings if the talks have about as many days as
 * there are talks, as in the series of a user group.
 */
function Programme({ cards, isOneDay }: { cards: readonly Card[]; isOneDay: boolean }) {
  const view = useView()
  const days = [...Map.groupBy(cards, ({ recorded }) => recorded)]
  if ((isOneDay && days.length < 2) || days.length > cards.length / 2)
    return <Cards cards={cards} level={2} first={3} without={['category']} />
  return (
    <>
      {days.map(([recorded, ofDay], index) => (
        <section key={recorded} class="programme-day">
          <h2>{recorded ? view.recorded(recorded) : view.words.dateUnknown}</h2>
          <Cards cards={ofDay} first={index === 0 ? 3 : 0} without={['category', 'day']} />
        </section>
      ))}
    </>
  )
}

function jsonLdOf(
  { kind, entity, name, aliases, about, profile, path }: CollectionData,
  title: string,
  { site, origin }: ReturnType<typeof useView>,
) {
  const steps = [
    { name: site.name, path: paths.home },
    { name: title, path },
  ]
  const crumbs = breadcrumbsJsonLd(steps, origin)
  if (entity && kind === 'speaker')
    return [personJsonLd({ ...entity, name, aliases, ...about, profile }, origin), crumbs]
  if (entity && kind === 'category' && about)
    return [eventJsonLd({ ...entity, name, ...about, profile }, origin), crumbs]
  return [crumbs]
}

/** Links to the most frequent years, events, speakers, tags and languages of the talks. */
function CommonFacets({ facets, estimatedFacets, state, speakers }: CollectionData) {
  const view = useView()
  const { words, number } = view
  const kinds = (['year', 'category', 'speaker', 'tag', 'language'] as FacetKind[]).filter(
    (kind) => (facets[kind]?.length ?? 0) > 1 && !state[kind],
  )
  if (kinds.length === 0) return null
  const listed = (kind: FacetKind, values: readonly CountedValue[]) =>
    kind === 'speaker'
      ? values.toSorted((a, b) => a.name.localeCompare(b.name, view.locale))
      : inOrder(kind, values)
  const chips = (kind: FacetKind, values: readonly CountedValue[]) => (
    <Chips
      items={values.map((facet) => ({
        href: paths.search({ ...state, [kind]: facet.value }),
        name: facetName(view, kind, facet),
        talks: facet.talks,
      }))}
      isExact={!estimatedFacets.includes(kind)}
    />
  )
  return (
    <div class="columns in-common">
      {kinds.map((kind) => (
        <section key={kind}>
          <h2>{words.facets[kind]}</h2>
          {chips(kind, listed(kind, (facets[kind] ?? []).slice(0, maxCommonFacets)))}
          {kind === 'speaker' && speakers && (
            <details>
              <summary>{words.allSpeakers(number(speakers.length))}</summary>
              {chips(kind, speakers)}
            </details>
          )}
        </section>
      ))}
    </div>
  )
}
