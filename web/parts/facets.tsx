import type { CountedValue, FacetKind, SearchData } from '../data.ts'
import { paths, type SearchState } from '../paths.ts'
import { useView } from '../view.ts'

const initialCount = 6

/** Filters for the search results, as links. */
export function FacetLists({
  facets,
  state,
}: {
  facets: NonNullable<SearchData['facets']>
  state: SearchState
}) {
  const { words } = useView()
  const kinds: FacetKind[] = ['year', 'category', 'speaker', 'tag', 'language', 'duration']
  const useful = kinds.filter((kind) => !state[kind] && facets[kind].length > 1)
  if (useful.length === 0) return <div class="facets" />
  return (
    <details class="facets" data-facets>
      <summary>{words.filters}</summary>
      <div class="facet-groups">
        {useful.map((kind) => (
          <Facet key={kind} kind={kind} values={facets[kind]} state={state} />
        ))}
      </div>
    </details>
  )
}

function Facet({
  kind,
  values,
  state,
}: {
  kind: FacetKind
  values: readonly CountedValue[]
  state: SearchState
}) {
  const { words } = useView()
  const rest = values.slice(initialCount)
  return (
    <section class="facet">
      <h2>{words.facets[kind]}</h2>
      <Values kind={kind} values={values.slice(0, initialCount)} state={state} />
      {rest.length > 0 && (
        <details>
          <summary>
            {words.more} <span class="unseen">({words.facets[kind]})</span>
          </summary>
          <Values kind={kind} values={rest} state={state} />
        </details>
      )}
    </section>
  )
}

function Values({
  kind,
  values,
  state,
}: {
  kind: FacetKind
  values: readonly CountedValue[]
  state: SearchState
}) {
  const view = useView()
  const { page: _, ...filters } = state
  return (
    <ul class="plain">
      {values.map((facet) => (
        <li key={facet.value}>
          <a href={view.href(paths.search({ ...filters, [kind]: facet.value }))} rel="nofollow">
            <span dir="auto">{facetName(view, kind, facet)}</span>{' '}
            <span class="count">{view.number(facet.talks)}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** Returns the name of a facet. Lengths and languages are translated. */
export function facetName(
  view: ReturnType<typeof useView>,
  kind: FacetKind,
  { value, name, code }: Omit<CountedValue, 'talks'>,
): string {
  const { lengths } = view.words
  if (kind === 'duration')
    return Object.hasOwn(lengths, value) ? lengths[value as keyof typeof lengths] : name
  return code ? view.language(code, name) : name
}
