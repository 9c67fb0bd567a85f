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

/** Builds the pager of a list whose last page is not known. */
export function openEndedPager(page: number, { next }: Pick<ListPage, 'next'>): PagerData {
  return { page, pages: next ? page + 1 : page, isExact: next === undefined }
}
