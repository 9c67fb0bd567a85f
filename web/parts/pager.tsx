import type { PagerData as Pages } from '../data.ts'
import { useView } from '../view.ts'

/** The way through the pages of a list. `to` is the address of a page. */
export function PagerNav({
  pager: { page, pages, isExact },
  to,
}: {
  pager: Pages
  to: (page: number) => string
}) {
  const { words, href, number } = useView()
  if (pages <= 1) return null
  const link = (at: number, name: string, rel?: string) => (
    <a href={href(to(at))} rel={rel}>
      {name}
    </a>
  )
  return (
    <nav class="pager" aria-label={words.pages}>
      <ul class="plain row">
        {page > 1 && <li>{link(page - 1, words.previous, 'prev')}</li>}
        {around(page, pages).map((at) => (
          <li key={at}>
            {at === page ? (
              <span aria-current="page">
                <span class="unseen">{words.page('')}</span>
                {number(at)}
              </span>
            ) : (
              <a href={href(to(at))} aria-label={words.page(number(at))}>
                {number(at)}
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

/** The first, those around, and the last. */
function around(page: number, pages: number): number[] {
  const wanted = [1, page - 2, page - 1, page, page + 1, page + 2, pages]
  return [...new Set(wanted.filter((at) => at >= 1 && at <= pages))].sort((a, b) => a - b)
}
