import type { SearchState } from '../paths.ts'
import { useView } from '../view.ts'
import { SearchIcon } from './icons.tsx'

interface Props {
  readonly state: SearchState
  /** What to suggest while the reader types: talks and names, or names only. */
  readonly suggest: 'all' | 'names'
}

/** The large search box of home, search and error pages. A new search keeps the filters. */
export function SearchForm({ state, suggest }: Props) {
  const { words, href } = useView()
  const { q = '', page: _, spelling: __, ...filters } = state
  return (
    <search class="search-large">
      <form action={href('/search')} data-search>
        <label for="q" class="unseen">
          {words.searchTalks}
        </label>
        <input
          id="q"
          type="search"
          name="q"
          dir="auto"
          value={q}
          placeholder={words.searchHint}
          maxLength={300}
          autocomplete="off"
          data-suggest={suggest}
        />
        {Object.entries(filters).map(
          ([name, value]) => value && <input key={name} type="hidden" name={name} value={value} />,
        )}
        <button type="submit">
          <SearchIcon />
          <span>{words.search}</span>
        </button>
      </form>
    </search>
  )
}
