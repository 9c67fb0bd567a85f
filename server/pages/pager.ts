import type { Pager } from '@talkshelf/web'
import { mostCounted, type Page } from '../catalogue/catalogue.ts'

/** Pages by number end where counting does. */
export function pagerOf(page: number, { count, isExact }: Pick<Page, 'count' | 'isExact'>, size: number): Pager {
  const pages = Math.max(1, Math.ceil(Math.min(count, mostCounted) / size))
  return { page, pages: Math.max(pages, page), isExact: isExact && count <= mostCounted }
}
