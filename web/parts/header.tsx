import { paths } from '../paths.ts'
import { useView } from '../view.ts'
import { SearchIcon, ShelfIcon } from './icons.tsx'

/** The header of every page. It has no search box if the page itself has one (`isSearch`). */
export function Header({ isSearch }: { isSearch: boolean }) {
  const { words, href, site, address } = useView()
  const menu = [
    [paths.list('category'), words.events],
    [paths.list('speaker'), words.speakers],
    [paths.list('tag'), words.tags],
    [paths.about, words.about],
  ] as const
  return (
    <header class="site-header">
      <div class="frame">
        <a class="brand" href={href(paths.home)}>
          <ShelfIcon />
          <span>{site.name}</span>
        </a>
        {!isSearch && (
          <search class="search-small">
            <form action={href('/search')}>
              <label>
                <span class="unseen">{words.searchTalks}</span>
                <input type="search" name="q" placeholder={words.searchTalks} autocomplete="off" />
              </label>
              <button type="submit" aria-label={words.search}>
                <SearchIcon />
              </button>
            </form>
          </search>
        )}
        <nav aria-label={words.mainMenu}>
          {menu.map(([path, name]) => (
            <a
              key={path}
              href={href(path)}
              aria-current={address.split('?')[0] === path ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
          <button
            type="button"
            class="launch with-scripts"
            data-launch
            aria-label={words.launcher}
            title={words.launcher}
          >
            <SearchIcon />
            <kbd>/</kbd>
          </button>
        </nav>
      </div>
    </header>
  )
}
