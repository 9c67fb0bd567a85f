import type { PagerData as Pages } from '../data.ts'
import { useView } from '../view.ts'

/** Links to the pages of a list. `to` returns the path of a page. */
export function PagerNav({
  pager: { page, pages, isExact },
  to,
}: {
  pager: Pages
  to: (page: number) => string
}) {
  const { words, href, number } = useView()
  if (pages <= 1) return null
  const link = (target: number, name: string, rel?: string) => (
    <a href={href(to(target))} rel={rel}>
      {name}
    </a>
  )
  return (
    <nav class="pager" aria-label={words.pages}>
      <ul class="plain row">
        {page > 1 && <li>{link(page - 1, words.previous, 'prev')}</li>}
        {nearbyPages(page, pages).map((nearby, index, all) => (
          <li key={nearby}>
            {nearby > (all[index - 1] ?? 0) + 1 && <span aria-hidden="true">… </span>}
            {nearby === page ? (
              <span aria-current="page">
                <span class="unseen">{words.page('')}</span>
                {number(nearby)}
              </span>
            ) : (
              <a href={href(to(nearby))} aria-label={words.page(number(nearby))}>
                {number(nearby)}
              </a>
            )}
          </li>
        ))}
        {!isExact && <li aria-hidden="true">…</li>}
        {page < pages && <li>{link(page + 1, words.next, 'next')}</li>}
      </ul>
    </nav>
  )
}

/** Returns the first page, those around the current one, and the last. */
function nearbyPages(page: number, pages: number): number[] {
  const candidates = [1, page - 2, page - 1, page, page + 1, page + 2, pages]
  const valid = candidates.filter((candidate) => candidate >= 1 && candidate <= pages)
  return [...new Set(valid)].sort((a, b) => a - b)
}
