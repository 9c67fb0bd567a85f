import { paths } from '../paths.ts'
import { useView } from '../view.ts'
import { MenuIcon, SearchIcon, ShelfIcon } from './icons.tsx'
import { Brand } from './site-links.tsx'

/** The header of every page. It has no search box if the page itself has one (`isSearch`). */
export function Header({ isSearch }: { isSearch: boolean }) {
  const view = useView()
  const { words, href, address } = view
  const menu = [
    [paths.list('category'), words.events],
    [paths.list('speaker'), words.speakers],
    [paths.list('tag'), words.tags],
    [paths.myTalks, words.myTalks],
    [paths.about, words.about],
  ] as const
  return (
    <header class={isSearch ? 'site-header' : 'site-header with-search'}>
      <div class="frame">
        <a class="brand" href={href(paths.home)}>
          <Brand view={view} fallback={<ShelfIcon />} />
        </a>
        {!isSearch && (
          <search class="search-small">
            <form action={href('/search')}>
              <label>
                <span class="unseen">{words.searchTalks}</span>
                <input
                  type="search"
                  name="q"
                  dir="auto"
                  placeholder={words.searchTalks}
                  maxLength={300}
                  autocomplete="off"
                  data-suggest="all"
                />
              </label>
              <button type="submit" aria-label={words.search}>
                <SearchIcon />
              </button>
            </form>
          </search>
        )}
        <button
          type="button"
          class="menu-button"
          popovertarget="menu"
          aria-label={words.menu}
          title={words.menu}
        >
          <MenuIcon />
        </button>
        {/* A popover on small screens, and a row of links on others. */}
        <nav id="menu" popover="auto" aria-label={words.mainMenu}>
          {menu.map(([path, name]) => (
            <a
              key={path}
              href={href(path)}
              class={path === paths.myTalks ? 'if-room' : undefined}
              aria-current={address.split('?')[0] === path ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
      </div>
    </header>
  )
}
