import type { PagerData } from '@talkshelf/web'
import { type ListPage, maxExactCount } from '../platform/http/pagination.ts'

/** Builds the pager of a list. Numbered pages end where counts become estimates. */
export function buildPager(
  page: number,
  { count, isExact }: Pick<ListPage, 'count' | 'isExact'>,
  size: number,
): PagerData {
  const pages = Math.max(1, Math.ceil(Math.min(count, maxExactCount) / size))
  return { page, pages: Math.max(pages, page), isExact: isExact && count <= maxExactCount }
}
