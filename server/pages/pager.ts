import type { PagerData } from '@talkshelf/web'
import { type ListPage, maxExactCount } from '../catalogue/catalogue.ts'

/** Pages by number end where counting does. */
export function buildPager(
  page: number,
  { count, isExact }: Pick<ListPage, 'count' | 'isExact'>,
  size: number,
): PagerData {
  const pages = Math.max(1, Math.ceil(Math.min(count, maxExactCount) / size))
  return { page, pages: Math.max(pages, page), isExact: isExact && count <= maxExactCount }
}
