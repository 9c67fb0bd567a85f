import {
  CategoryPatch,
  type Endpoint,
  Merge,
  mergeCategory,
  mergeSpeaker,
  mergeTag,
  NamePatch,
  patchCategory,
  patchSpeaker,
  patchTag,
  Split,
  splitSpeaker,
  valid,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import type { Answer, Mount } from '../platform/http/mount.ts'
import { requestOf } from '../platform/http/request.ts'
import type { Batches } from '../platform/ops/batches.ts'
import { tidied } from '../vocabulary/vocabulary.ts'
import * as names from './names.ts'

export function nameRoutes(mount: Mount, pool: Pool, batches: Batches, forget: (ids: readonly number[]) => void): void {
  async function answer(writing: Promise<names.Written>): Promise<Answer> {
    const { thing, changed, left } = await writing
    forget(changed)
    if (left > 0) batches.wake()
    return { body: thing.body, tag: thing.tag }
  }

  mount(patchCategory, (asked) => {
    const { title, aliases, description, url, start_date, end_date } = valid(CategoryPatch, tidied(asked.body))
    const about = Object.fromEntries(Object.entries({ description, url, start_date, end_date }).filter(([, value]) => value !== undefined))
    const patch = { name: title, aliases, about }
    return answer(names.patchThing(pool, 'category', asked.params.slug, patch, requestOf(patchCategory, asked)))
  })

  for (const [patch, kind] of [
    [patchSpeaker, 'speaker'],
    [patchTag, 'tag'],
  ] as const)
    mount(patch, (asked) => {
      const { name, aliases } = valid(NamePatch, tidied(asked.body))
      return answer(names.patchThing(pool, kind, asked.params.slug, { name, aliases }, requestOf<Endpoint>(patch, asked)))
    })

  for (const [merge, kind] of [
    [mergeCategory, 'category'],
    [mergeSpeaker, 'speaker'],
    [mergeTag, 'tag'],
  ] as const)
    mount(merge, (asked) => {
      const { into } = valid(Merge, asked.body)
      return answer(names.mergeThing(pool, kind, asked.params.slug, into, requestOf<Endpoint>(merge, asked)))
    })

  mount(splitSpeaker, (asked) =>
    answer(names.splitSpeaker(pool, asked.params.slug, valid(Split, tidied(asked.body)), requestOf(splitSpeaker, asked))),
  )
}
