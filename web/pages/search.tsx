import type { FacetKind, SearchData } from '../data.ts'
import { Cards } from '../parts/card.tsx'
import { chosenValues, FacetLists, facetName, toggleFacet } from '../parts/facets.tsx'
import { CloseIcon, FeedIcon } from '../parts/icons.tsx'
import { PageLayout } from '../parts/page.tsx'
import { PagerNav } from '../parts/pager.tsx'
import { SearchForm } from '../parts/search-form.tsx'
import { paths, type SearchState } from '../paths.ts'
import { type PageView, useView } from '../view.ts'

const facetKinds: FacetKind[] = ['category', 'speaker', 'tag', 'language', 'year', 'duration']

/** The search results with filters. */
export function Search(data: SearchData) {
  const view = useView()
  const { words, number } = view
  const { state } = data
  const title = searchTitle(view, data)
  return (
    <PageLayout
      name="search"
      title={title}
      description={`${title}: ${words.results(number(data.count))}`}
      feed={feedOf(data)}
      skipTo={{ id: 'count', text: words.skipToResults }}
      // Search results are not indexed, except for the page of all talks.
      {...(Object.keys(state).length === 0 && { canonical: paths.search() })}
    >
      <h1 class="unseen">{title}</h1>
      <SearchForm state={state} suggest="names" />
      <p class="unseen" role="status" data-found />
      {/* A script replaces the results while the reader types. */}
      <div id="results" data-results>
        <NamedEntities {...data} />
        <Interpretation {...data} />
        <ActiveFilters {...data} />
        <div class="found">
          {data.facets && (
            <FacetLists facets={data.facets} estimated={data.estimatedFacets} state={state} />
          )}
          <section aria-labelledby="count">
            <div class="found-head">
              <ResultCount {...data} />
              <SortForm {...data} isSortable={data.count > 1} />
            </div>
            <Cards cards={data.cards} shape="list" first={2} />
            <PagerNav
              pager={data.pager}
              to={(page) => paths.search({ ...state, page: page > 1 ? String(page) : '' })}
            />
          </section>
        </div>
      </div>
    </PageLayout>
  )
}

/** Returns the title of the page: the query and the filters. */
function searchTitle(view: PageView, data: SearchData): string {
  const { words } = view
  const { q } = data.state
  const filters = facetKinds.flatMap((kind) => {
    const names = activeFilters(view, data, kind).map(({ name }) => name)
    return names.length > 0 ? [`${words.facets[kind]}: ${names.join(', ')}`] : []
  })
  const parts = [...(q ? [words.resultsFor(q)] : []), ...filters]
  return parts.length > 0 ? `${parts.join(', ')} – ${words.search}` : words.allTalks
}

/** Feeds are always sorted by date, and search for the words as they are. */
function feedOf({ state, correctedQuery }: SearchData): string {
  const { page: _, ordering: __, ...followed } = state
  return paths.search(correctedQuery === undefined ? followed : { ...followed, q: correctedQuery })
}

function ResultCount(data: SearchData) {
  const { count, isExact } = data
  const { words, number } = useView()
  const advice = adviceFor(data)
  const formatted = isExact ? number(count) : words.approximately(number(count))
  const text = count === 1 ? words.oneResult : words.results(formatted)
  return (
    <div>
      <h2 id="count" tabindex={-1}>
        {count === 0 ? words.noResults : text}
      </h2>
      {count === 0 && <p>{advice ? words.noResultsHelp[advice] : words.emptyArchive}</p>}
    </div>
  )
}

/** Tells what the reader can change in a search without results, if anything. */
function adviceFor({
  state,
  hasOnlyExclusions,
}: SearchData): 'both' | 'filters' | 'words' | 'exclusions' | undefined {
  if (hasOnlyExclusions) return 'exclusions'
  const hasFilter = facetKinds.some((kind) => state[kind])
  if (state.q) return hasFilter ? 'both' : 'words'
  return hasFilter ? 'filters' : undefined
}

/** Tells whether words were corrected, and whether some results do not have all of them. */
function Interpretation({ state, correctedQuery, allWords, count }: SearchData) {
  const { words, number, href } = useView()
  const { page: _, ...exact } = { ...state, spelling: 'exact' }
  const isPartial = allWords < count
  if (correctedQuery === undefined && !isPartial) return null
  return (
    <div class="note">
      {correctedQuery !== undefined && (
        <p>
          {words.corrected} <strong dir="auto">{correctedQuery}</strong>. {words.searchInstead}{' '}
          <a href={href(paths.search(exact))} rel="nofollow" dir="auto">
            {state.q}
          </a>
          .
        </p>
      )}
      {isPartial && (
        <p>{allWords === 0 ? words.loose : words.partial(allWords, number(allWords))}</p>
      )}
    </div>
  )
}

/** Links to the pages of the speakers, events and tags that the query names. */
function NamedEntities({ named }: SearchData) {
  const { words, number, href } = useView()
  if (named.length === 0) return null
  return (
    <ul class="plain named">
      {named.map((entity) => (
        <li key={entity.kind}>
          <a href={href(paths.entity(entity.kind, entity))}>
            <span>{words.facets[entity.kind]}</span> <bdi>{entity.name}</bdi>{' '}
            <span>{words.talks(entity.talks, number(entity.talks))}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** Returns the active filters of a kind with their names. */
function activeFilters(view: PageView, { state, facets, filters }: SearchData, kind: FacetKind) {
  return chosenValues(state, kind).map((value) => {
    const facet = facets?.[kind].find((facet) => facet.value === value) ?? filters[kind]
    return { kind, value, name: facetName(view, kind, facet ?? { value, name: value }) }
  })
}

/** The active filters, each with a link that removes it. */
function ActiveFilters(data: SearchData) {
  const view = useView()
  const { words, href } = view
  const { state } = data
  const active = facetKinds.flatMap((kind) => activeFilters(view, data, kind))
  if (active.length === 0) return null
  return (
    <ul class="plain active" aria-label={words.filters}>
      {active.map(({ kind, value, name }) => (
        <li key={kind + value}>
          <a
            href={href(paths.search(toggleFacet(state, kind, value)))}
            aria-label={words.removeFilter(`${words.facets[kind]}: ${name}`)}
          >
            <span>{words.facets[kind]}:</span> <bdi>{name}</bdi>
            <CloseIcon />
          </a>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <a href={href(paths.search(withoutFilters(state)))}>{words.clearFilters}</a>
        </li>
      )}
    </ul>
  )
}

const withoutFilters = ({ q = '', ordering = '', spelling = '' }: SearchState): SearchState => ({
  q,
  ordering,
  spelling,
})

function SortForm({ isSortable, ...data }: SearchData & { isSortable: boolean }) {
  const { words, href } = useView()
  const { state } = data
  const { ordering = '', page: _, ...filters } = state
  const orders = Object.entries(words.orders).filter(([name]) => name !== 'best' || state.q)
  const defaultOrder = state.q ? 'best' : '-recorded,title'
  return (
    <form class="order" action={href('/search')} data-order>
      {Object.entries(filters).map(
        ([name, value]) => value && <input key={name} type="hidden" name={name} value={value} />,
      )}
      {isSortable && (
        <>
          <label>
            {words.order}{' '}
            <select name="ordering">
              {orders.map(([name, text]) => (
                <option
                  key={name}
                  value={name === defaultOrder ? '' : name}
                  selected={name === (ordering || defaultOrder)}
                >
                  {text}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">{words.apply}</button>
        </>
      )}
      <a class="follow" href={href(paths.follow(feedOf(data)))} rel="nofollow">
        <FeedIcon /> {words.searchFeed}
      </a>
    </form>
  )
}
