import {
  type FieldError,
  invalidFields,
  MergeVideo,
  mergeVideoEndpoint,
  Problem,
  validate,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import { normalizeVideoInput } from '../videos/videos.ts'
import { mergeTalks } from './merges.ts'

/** Mounts the endpoint that merges records. `forget` removes changed records from the cache. */
export function mergeRoutes(
  mount: Mount,
  pool: Pool,
  forget: (ids: readonly number[]) => void,
): void {
  mount(mergeVideoEndpoint, async (call) => {
    const { id } = call.params
    const input = validate(MergeVideo, normalizeFields(call.body))
    const { into, into_revision: intoRevision, fields } = input
    const context = writeContext(mergeVideoEndpoint, call)
    try {
      return await mergeTalks(pool, id, { into, intoRevision, fields }, context)
    } catch (error) {
      throw withPointers(error)
    } finally {
      forget([id, into])
    }
  })
}

/** Normalises the fields. Leaves values of wrong types for the validation. */
function normalizeFields(body: unknown): unknown {
  const { fields } = body as { fields?: unknown }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return body
  return { ...(body as object), fields: normalizeVideoInput(fields) }
}

/** Returns the error of a write with the pointers of this body. */
function withPointers(error: unknown): unknown {
  if (!(error instanceof Problem) || error.problem !== 'invalid-fields') return error
  const errors = error.more.errors as readonly FieldError[]
  const pointerOf = ({ pointer }: FieldError) =>
    pointer === '/into' ? pointer : `/fields${pointer}`
  return invalidFields(errors.map((each) => ({ ...each, pointer: pointerOf(each) })))
}
