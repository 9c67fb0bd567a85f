import { Problem } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import { actorOf } from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, parseId } from '../platform/http/pages.ts'
import {
  assertMayChange,
  readCurrentVideo,
  readHistory,
  readRevision,
  revertRevision,
} from '../videos/videos.ts'
import { type Desk, type DeskRequest, idOf, writeContextOf } from './mount.ts'

// The history of a talk, and the form that reverts its changes.

const maxRevision = 2_147_483_647

/** Mounts the page of the history of a talk and its form. */
export function historyPages(
  desk: Desk,
  pool: Pool,
  forget: (ids: readonly number[]) => void,
): void {
  const access = { role: 'editor', forEventEditors: true } as const
  const page = deskPaths.talkHistory(':id')
  desk.page(page, access, async (request) => {
    const id = idOf(request)
    const { record, ...history } = await readHistory(pool, id, parseId(request.query.before))
    const mayRevert = await mayChange(pool, request, id)
    const { title, slug } = record
    return desk.render(request, [deskPages.history, { id, title, slug, mayRevert, ...history }])
  })

  desk.form(deskPaths.revert(':id'), { ...access, page }, async (request) => {
    const id = idOf(request)
    const revision = revisionIn(request)
    const named = request.form.getAll('field').slice(0, 50)
    const fields = named.length > 0 ? named : undefined
    try {
      await revertRevision(pool, id, revision, fields, writeContextOf(request))
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'fields-changed') throw error
      return showRefusal(request, id, revision, fields, error.more.fields as string[])
    } finally {
      forget([id])
    }
    return desk.redirect(request, `${deskPaths.talkHistory(id)}?done=reverted`)
  })

  /** Shows which fields were changed since, with their values, and offers to revert the others. */
  async function showRefusal(
    request: DeskRequest,
    id: number,
    revision: number,
    named: readonly string[] | undefined,
    changedSince: readonly string[],
  ) {
    const { video: current } = await readCurrentVideo(pool, id)
    const { record: old } = await readRevision(pool, id, revision - 1)
    const { fields } = await readRevision(pool, id, revision)
    const conflicts = changedSince.map((field) => ({
      field,
      current: current[field as keyof typeof current],
      old: old[field as keyof typeof old],
    }))
    const others = (named ?? fields).filter((field) => !changedSince.includes(field))
    const data = { id, title: current.title, revision, conflicts, others }
    return desk.render(request, [deskPages.revertRefused, data], 409)
  }
}

/** Returns whether the person may change a talk. Editors of single events see all histories. */
async function mayChange(pool: Pool, request: DeskRequest, id: number): Promise<boolean> {
  try {
    await assertMayChange(pool, actorOf(request.session), id)
    return true
  } catch (error) {
    if (error instanceof Problem && error.problem === 'forbidden') return false
    throw error
  }
}

function revisionIn({ form }: FormRequest): number {
  const revision = parseId(form.get('revision') ?? '') ?? notFound()
  return revision <= maxRevision ? revision : notFound()
}

function notFound(): never {
  throw new Problem('not-found', 'This page does not exist')
}
