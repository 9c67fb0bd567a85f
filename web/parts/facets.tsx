import type { CountedValue, FacetKind, SearchData } from '../data.ts'
import { paths, type SearchState } from '../paths.ts'
import { useView } from '../view.ts'

const initialCount = 6

const allowsSeveral = (kind: FacetKind) => kind === 'year'

/** Returns the values of a filter that are chosen. */
export function chosenValues(state: SearchState, kind: FacetKind): string[] {
  const value = state[kind]
  if (!value) return []
  return allowsSeveral(kind) ? value.split(',') : [value]
}

/** Adds a value to a search, or removes it. Other values are kept if the filter allows several. */
export function toggleFacet(state: SearchState, kind: FacetKind, value: string): SearchState {
  const { page: _, ...rest } = state
  const chosen = chosenValues(state, kind)
  const others = chosen.filter((other) => other !== value)
  const added = chosen.includes(value) ? [] : [value]
  const values = allowsSeveral(kind) ? [...others, ...added].sort() : added
  return { ...rest, [kind]: values.join(',') }
}

/** Sorts years from the newest on. Other values stay in the order of their frequency. */
export const inOrder = (kind: FacetKind, values: readonly CountedValue[]) =>
  kind === 'year' ? values.toSorted((a, b) => Number(b.value) - Number(a.value)) : values

/** Filters for the search results, as links. */
export function FacetLists({
  facets,
  estimated,
  state,
}: {
  facets: NonNullable<SearchData['facets']>
  /** The facets whose numbers are estimates. */
  estimated: readonly FacetKind[]
  state: SearchState
}) {
  const { words } = useView()
  const kinds: FacetKind[] = ['year', 'category', 'speaker', 'tag', 'language', 'duration']
  const useful = kinds.filter(
    (kind) => facets[kind].length > 1 && (allowsSeveral(kind) || !state[kind]),
  )
  if (useful.length === 0) return null
  return (
    <div class="facets">
      {/* The heading of wide screens, on which the filters are always open. */}
      <h2>{words.filters}</h2>
      <details data-facets>
        <summary>
          <h2>{words.filters}</h2>
        </summary>
        <div class="facet-groups">
          {useful.map((kind) => (
            <Facet
              key={kind}
              kind={kind}
              values={inOrder(kind, facets[kind])}
              isExact={!estimated.includes(kind)}
              state={state}
            />
          ))}
        </div>
      </details>
    </div>
  )
}

interface FacetProps {
  readonly kind: FacetKind
  readonly values: readonly CountedValue[]
  readonly isExact: boolean
  readonly state: SearchState
}

function Facet({ kind, values, isExact, state }: FacetProps) {
  const { words } = useView()
  const rest = values.slice(initialCount)
  const chosen = chosenValues(state, kind)
  return (
    <section class="facet">
      <h3>{words.facets[kind]}</h3>
      <Values kind={kind} values={values.slice(0, initialCount)} isExact={isExact} state={state} />
      {rest.length > 0 && (
        <details open={rest.some(({ value }) => chosen.includes(value))}>
          <summary>
            {words.more} <span class="unseen">({words.facets[kind]})</span>
          </summary>
          <Values kind={kind} values={rest} isExact={isExact} state={state} />
        </details>
      )}
    </section>
  )
}

function Values({ kind, values, isExact, state }: FacetProps) {
  const view = useView()
  const countOf = ({ talks }: CountedValue) =>
    isExact ? view.number(talks) : view.words.approximately(view.number(talks))
  const chosen = chosenValues(state, kind)
  return (
    <ul class="plain">
      {values.map((facet) => (
        <li key={facet.value}>
          <a
            href={view.href(paths.search(toggleFacet(state, kind, facet.value)))}
            rel="nofollow"
            aria-current={chosen.includes(facet.value) ? 'true' : undefined}
          >
            <span dir="auto">{facetName(view, kind, facet)}</span>{' '}
            <span class="count">{countOf(facet)}</span>
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
