import {
  CategoryPatch,
  type Endpoint,
  Merge,
  mergeCategoryEndpoint,
  mergeSpeakerEndpoint,
  mergeTagEndpoint,
  NamePatch,
  patchCategoryEndpoint,
  patchSpeakerEndpoint,
  patchTagEndpoint,
  Split,
  splitSpeakerEndpoint,
  validate,
} from '@talkshelf/contract'
import { normalizeEntityInput } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { Mount, RouteResponse } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import * as names from './directory.ts'

export function directoryRoutes(
  mount: Mount,
  pool: Pool,
  jobRunner: JobRunner,
  forget: (ids: readonly number[]) => void,
): void {
  async function answer(writing: Promise<names.EntityWriteResult>): Promise<RouteResponse> {
    const { entity, changed, left } = await writing
    forget(changed)
    if (left > 0) jobRunner.wake()
    return { body: entity.body, tag: entity.tag }
  }

  mount(patchCategoryEndpoint, (call) => {
    const { title, aliases, retired_slugs, description, url, start_date, end_date } = validate(
      CategoryPatch,
      normalizeEntityInput(call.body),
    )
    const about = Object.fromEntries(
      Object.entries({ description, url, start_date, end_date }).filter(
        ([, value]) => value !== undefined,
      ),
    )
    const patch = { name: title, aliases, about, retiredSlugs: retired_slugs }
    return answer(
      names.patchEntity(
        pool,
        'category',
        call.params.slug,
        patch,
        writeContext(patchCategoryEndpoint, call),
      ),
    )
  })

  for (const [patch, kind] of [
    [patchSpeakerEndpoint, 'speaker'],
    [patchTagEndpoint, 'tag'],
  ] as const)
    mount(patch, (call) => {
      const {
        name,
        aliases,
        retired_slugs: retiredSlugs,
      } = validate(NamePatch, normalizeEntityInput(call.body))
      return answer(
        names.patchEntity(
          pool,
          kind,
          call.params.slug,
          { name, aliases, retiredSlugs },
          writeContext<Endpoint>(patch, call),
        ),
      )
    })

  for (const [merge, kind] of [
    [mergeCategoryEndpoint, 'category'],
    [mergeSpeakerEndpoint, 'speaker'],
    [mergeTagEndpoint, 'tag'],
  ] as const)
    mount(merge, (call) => {
      const { into } = validate(Merge, call.body)
      return answer(
        names.mergeEntity(pool, kind, call.params.slug, into, writeContext<Endpoint>(merge, call)),
      )
    })

  mount(splitSpeakerEndpoint, (call) =>
    answer(
      names.splitSpeaker(
        pool,
        call.params.slug,
        validate(Split, normalizeEntityInput(call.body)),
        writeContext(splitSpeakerEndpoint, call),
      ),
    ),
  )
}
