import {
  type FieldError,
  invalidFields,
  Problem,
  states,
  Takedown,
  type Video,
  VideoInput,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import {
  changedValues,
  deskPages,
  deskPaths,
  type EditorData,
  type Neighbours,
  paths,
  type TalkField,
  type TalkValues,
  talkFields,
  talkValues,
  toText,
} from '@talkshelf/web'
import { actorOf } from '../auth/auth.ts'
import { resolveNames } from '../entities/entities.ts'
import { listVideoSources } from '../links/links.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, type PageResponse, parseId } from '../platform/http/pages.ts'
import { readPublication, schedulePublication, validTime } from '../publication/publication.ts'
import { readSuggestion } from '../suggestions/suggestions.ts'
import {
  changeVideo,
  createVideo,
  findMergedIds,
  findRevision,
  mergeEdit,
  normalizeVideoInput,
  readCurrentVideo,
  removeFormerNames,
  takeDownVideo,
  videoFieldErrors,
} from '../videos/videos.ts'
import {
  type Desk,
  type DeskRequest,
  idOf,
  revisionIn,
  textFormBytes,
  writeContextOf,
} from './mount.ts'
import { findFindingNeighbours } from './quality.ts'
import {
  deleteCopiesOf,
  deleteWorkingCopy,
  findWorkingCopy,
  saveWorkingCopy,
  type WorkingCopy,
} from './queries.ts'
import { findNeighbours } from './talks.ts'

// The editor of a talk. What others saved meanwhile is merged; the editor is asked only about
// fields that both changed.

const access = { role: 'editor', forEventEditors: true } as const
/** Of the query of the list from which a talk was opened. */
const maxListLength = 2000

/** Mounts the editor of a talk. */
export function talkPages(
  desk: Desk,
  pool: Pool,
  forget: (ids: readonly number[]) => void,
  markdown: Markdown,
): void {
  const talkPath = deskPaths.talk(':id')
  const formAccess = { ...access, page: talkPath }
  const limits = { formBytes: textFormBytes }

  desk.page(talkPath, access, async (request) => {
    const id = idOf(request)
    const current = await readUnlessMerged(pool, id)
    if (!current) return desk.redirect(request, deskPaths.talkHistory(id))
    const { video, revision } = current
    const copy = await findWorkingCopy(pool, request.session.person.id, id)
    const neighbours = await neighboursOf(request)
    const { publish_at: publishAt } = await readPublication(pool, id)
    const data = copy
      ? { ...restoredCopy(copy, video), revision: copy.revision }
      : { values: talkValues(video), revision }
    const shown = { ...data, publishAt: publishAt ?? undefined, ...(neighbours && { neighbours }) }
    return desk.render(request, [deskPages.editor, await editorData(video, shown)])
  })

  desk.form(
    talkPath,
    formAccess,
    async (request) => {
      const id = idOf(request)
      return saveEdit(request, id, revisionIn(request.form), request.form)
    },
    limits,
  )

  // The answer to a question about fields that both changed.
  desk.form(
    deskPaths.talkMerge(':id'),
    formAccess,
    async (request) => {
      const id = idOf(request)
      return saveEdit(request, id, revisionIn(request.form), chosenValues(request.form))
    },
    limits,
  )

  desk.form(
    deskPaths.talkCopy(':id'),
    formAccess,
    async (request) => {
      const id = idOf(request)
      const { form, session } = request
      const revision = revisionIn(form)
      const base = await baseOf(id, revision)
      const edit = await editIn(form, base, revision)
      const copy = { revision, form: copyOf(form, base, edit).toString() }
      if (Object.keys(edit).length > 0) await saveWorkingCopy(pool, session.person.id, id, copy)
      else await deleteWorkingCopy(pool, session.person.id, id)
      const errors = fieldErrors(
        await videoFieldErrors(pool, VideoPatch, normalizeVideoInput(edit)),
      )
      const text = (field: 'summary' | 'description') => edit[field] ?? base[field]
      const previews = await previewsOf(text('summary'), text('description'))
      const newNames = await findNewNames(pool, edit)
      return jsonResponse({ errors, previews, newNames })
    },
    limits,
  )

  desk.form(deskPaths.discardCopy(':id'), { ...access, page: talkPath }, async (request) => {
    const id = idOf(request)
    await deleteWorkingCopy(pool, request.session.person.id, id)
    return desk.redirect(request, `${deskPaths.talk(id)}?done=copy-discarded`)
  })

  desk.form(deskPaths.cancelPublication(':id'), formAccess, async (request) => {
    const id = idOf(request)
    await schedulePublication(pool, id, null, writeContextOf(request))
    return desk.redirect(request, `${deskPaths.talk(id)}?done=publication-cancelled`)
  })

  newTalkPages(desk, pool, limits)
  takedownPages(desk, pool, forget)

  /** Saves what the form changed in the version that the editor saw. */
  async function saveEdit(
    request: DeskRequest<FormRequest>,
    id: number,
    revision: number,
    form: URLSearchParams,
  ): Promise<PageResponse> {
    const base = await baseOf(id, revision)
    const state = stateIn(request.form)
    const edit = {
      ...(await editIn(form, base, revision)),
      ...(state !== undefined && { state }),
    }
    const patch = normalizeVideoInput(edit) as Partial<Video>
    try {
      const errors = await videoFieldErrors(pool, VideoPatch, patch)
      if (errors.length > 0) throw invalidFields(errors)
      const publishAt = publishTimeIn(request.form)
      await changeVideo(pool, id, writeContextOf(request), (current) => {
        const { video, conflicts } = mergeEdit(base, patch, current)
        if (conflicts.length > 0) throw new EditConflicts()
        return video
      })
      if (publishAt !== undefined)
        await schedulePublication(pool, id, publishAt, writeContextOf(request))
    } catch (error) {
      if (error instanceof EditConflicts) return askAboutConflicts(request, base, patch)
      if (!(error instanceof Problem) || error.problem !== 'invalid-fields') throw error
      const { video } = await readCurrentVideo(pool, id)
      const values = { ...talkValues(base), ...formValues(form) }
      const errors = fieldErrors(problemErrors(error))
      const publishAtText = request.form.get('publish_at') ?? undefined
      const shown = { values, revision, errors, publishAtText }
      return desk.render(request, [deskPages.editor, await editorData(video, shown)], 400)
    } finally {
      forget([id])
    }
    await deleteWorkingCopy(pool, request.session.person.id, id)
    const list = request.form.get('list')
    const inList = list === null ? '' : `&list=${encodeURIComponent(list.slice(0, maxListLength))}`
    const done = request.form.has('schedule') ? 'scheduled' : 'saved'
    return desk.redirect(request, `${deskPaths.talk(id)}?done=${done}${inList}`)
  }

  /** Shows the fields that both changed. The form keeps all other changes. */
  async function askAboutConflicts(
    request: DeskRequest<FormRequest>,
    base: Video,
    edit: Partial<Video>,
  ): Promise<PageResponse> {
    const { video, revision } = await readCurrentVideo(pool, base.id)
    const { video: merged, conflicts } = mergeEdit(base, edit, video)
    const asked = conflicts.map(({ field }) => field)
    const kept = talkFields
      .filter((field) => field in edit && !asked.includes(field))
      .map((field) => [field, toText(field, merged[field])] as const)
    const data = {
      id: video.id,
      title: video.title,
      revision,
      state: edit.state,
      publishAt: publishTimeIn(request.form),
      kept,
      fields: conflicts.map(({ field, base, current, edited }) => ({
        field: field as TalkField,
        base: toText(field as TalkField, base),
        current: toText(field as TalkField, current),
        edited: toText(field as TalkField, edited),
      })),
    }
    return desk.render(request, [deskPages.mergeEdit, data], 409)
  }

  /** Finds the talks before and after this one in the list from which it was opened. */
  async function neighboursOf(request: DeskRequest): Promise<Neighbours | undefined> {
    const { list } = request.query
    if (list === undefined) return undefined
    const query = new URLSearchParams(list.slice(0, maxListLength))
    if (!query.has('rule')) return findNeighbours(pool, query, idOf(request))
    // The quality lists are not for editors of single events.
    if (actorOf(request.session).events) return undefined
    return findFindingNeighbours(pool, query, idOf(request))
  }

  /** Returns the version that the editor saw. */
  async function baseOf(id: number, revision: number): Promise<Video> {
    const found = await findRevision(pool, id, revision)
    if (!found) throw new Problem('not-found', 'This version of the talk does not exist')
    return found.record
  }

  /** Returns what a form changed, without former names that are in it because it was open. */
  function editIn(form: URLSearchParams, base: Video, revision: number): Promise<Partial<Video>> {
    return removeFormerNames(pool, base, revision, changedValues(base, form))
  }

  const previewsOf = async (summary: string, description: string) => ({
    summary: await markdown.render(summary),
    description: await markdown.render(description),
  })

  async function editorData(
    video: Video,
    {
      values,
      ...shown
    }: Pick<EditorData, 'revision'> & Partial<EditorData> & { values: TalkValues },
  ): Promise<EditorData> {
    return {
      id: video.id,
      title: video.title,
      path: paths.talk(video),
      isLive: video.state === states.live,
      merged: await findMergedIds(pool, video.id),
      sources: await listVideoSources(pool, video.id, 'editor'),
      values,
      previews: await previewsOf(values.summary, values.description),
      ...shown,
    }
  }
}

/** Reads a talk. Returns undefined if it was merged into another one. */
async function readUnlessMerged(pool: Pool, id: number) {
  try {
    return await readCurrentVideo(pool, id)
  } catch (error) {
    if (error instanceof Problem && error.problem === 'merged') return undefined
    throw error
  }
}

/** Ends a write because others changed the same fields. */
class EditConflicts extends Error {}

function newTalkPages(desk: Desk, pool: Pool, limits: { readonly formBytes: number }): void {
  const path = deskPaths.newTalk
  desk.page(path, access, async (request) => {
    const values = talkValues(await suggestedTalk(pool, request))
    return desk.render(request, [deskPages.newTalk, { values, errors: {} }])
  })
  desk.form(
    path,
    { ...access, page: path },
    async (request) => {
      const { form } = request
      const state = stateIn(form) ?? states.draft
      const input = normalizeVideoInput({ ...changedValues({}, form), state })
      try {
        const errors = await videoFieldErrors(pool, VideoInput, input)
        if (errors.length > 0) throw invalidFields(errors)
        const talk = input as Parameters<typeof createVideo>[1]
        const { id } = await createVideo(pool, talk, writeContextOf(request), undefined)
        return desk.redirect(request, `${deskPaths.talk(id)}?done=created`)
      } catch (error) {
        if (!(error instanceof Problem) || error.problem !== 'invalid-fields') throw error
        const values = { ...talkValues({}), ...formValues(form) }
        const data = { values, errors: fieldErrors(problemErrors(error)) }
        return desk.render(request, [deskPages.newTalk, data], 400)
      }
    },
    limits,
  )
}

/** Returns the fields of a missing talk that a reader suggested, if the page is about one. */
async function suggestedTalk(pool: Pool, { query, session }: DeskRequest): Promise<Partial<Video>> {
  const id = parseId(query.suggestion)
  if (id === undefined) return {}
  const { kind, fields } = await readSuggestion(pool, actorOf(session), id)
  if (kind !== 'missing') return {}
  return Object.fromEntries(fields.map(({ field, suggested }) => [field, suggested]))
}

function takedownPages(desk: Desk, pool: Pool, forget: (ids: readonly number[]) => void): void {
  const path = deskPaths.takedown(':id')
  const dangerous = { role: 'admin', isDangerous: true } as const
  const show = async (request: DeskRequest, status: 200 | 400, error?: string) => {
    const { video } = await readCurrentVideo(pool, idOf(request))
    const data = { id: video.id, title: video.title, ...(error !== undefined && { error }) }
    return desk.render(request, [deskPages.takedown, data], status)
  }
  desk.page(path, dangerous, (request) => show(request, 200))
  desk.form(path, { ...dangerous, page: path }, async (request) => {
    const id = idOf(request)
    const reason = (request.form.get('reason') ?? '').trim()
    const [error] = validationErrors(Takedown, { reason })
    if (error) return show(request, 400, error.detail)
    try {
      await takeDownVideo(pool, id, reason, writeContextOf(request))
    } finally {
      forget([id])
    }
    await deleteCopiesOf(pool, id)
    return desk.redirect(request, `${deskPaths.home}?done=taken-down`)
  })
}

/** Returns the speakers and tags that no entity has, without those that are not valid names. */
async function findNewNames(pool: Pool, { speakers = [], tags = [] }: Partial<Video>) {
  const valid = (names: readonly string[]) =>
    validationErrors(VideoPatch, { tags: names }).length === 0 ? names : []
  const names = { speakers: valid(speakers), tags: valid(tags) }
  const resolved = await resolveNames(pool, names)
  if ('errors' in resolved) return {}
  const missing = (field: 'speakers' | 'tags') =>
    names[field].filter((_, index) => resolved.found[field][index] === null)
  return { speakers: missing('speakers'), tags: missing('tags') }
}

/** Returns the state that the button of the form sets. */
function stateIn(form: URLSearchParams): Video['state'] | undefined {
  const state = Number(form.get('state'))
  return Object.values(states).find((value) => value === state)
}

/**
 * Returns when the draft shall go live, if the form was sent with that button. Scripts send the
 * time in UTC; without them the field itself is in UTC. Throws `invalid-fields` for a wrong time.
 */
function publishTimeIn(form: URLSearchParams): string | undefined {
  if (!form.has('schedule')) return undefined
  return validTime(form.get('publish_at_utc') || `${form.get('publish_at') ?? ''}Z`)
}

/** Returns the fields of a form for its copy: the edit, and all others as they were. */
function copyOf(form: URLSearchParams, base: Video, edit: Partial<Video>): URLSearchParams {
  const copy = formOf(form)
  const changed = changedValues(base, form)
  const isReplaced = (field: TalkField) =>
    field in changed && JSON.stringify(changed[field]) !== JSON.stringify(edit[field])
  for (const field of talkFields)
    if (isReplaced(field)) copy.set(field, toText(field, { ...base, ...edit }[field]))
  return copy
}

/** Returns the fields of the talk in a form. */
function formOf(form: URLSearchParams): URLSearchParams {
  return new URLSearchParams(Object.entries(formValues(form)))
}

function formValues(form: URLSearchParams): Partial<TalkValues> {
  return Object.fromEntries(
    talkFields.flatMap((field) => {
      const text = form.getAll(field).at(-1)
      return text === undefined ? [] : [[field, text]]
    }),
  )
}

/** Returns the values that the editor chose for fields that both changed, and all other changes. */
function chosenValues(form: URLSearchParams): URLSearchParams {
  const values = formOf(form)
  for (const field of talkFields) {
    const choice = form.get(`choice_${field}`)
    if (choice === null) continue
    values.delete(field)
    const chosen = form.get(`${choice}_${field}`)
    if (['base', 'edited', 'other'].includes(choice) && chosen !== null) values.set(field, chosen)
  }
  return values
}

function restoredCopy({ form, saved }: WorkingCopy, video: Video) {
  const values = { ...talkValues(video), ...formValues(new URLSearchParams(form)) }
  return { values, restored: saved }
}

function problemErrors({ more }: Problem): readonly FieldError[] {
  return (more.errors ?? []) as readonly FieldError[]
}

/** Returns the first error of each field. */
function fieldErrors(errors: readonly FieldError[]): Partial<Record<TalkField, string>> {
  return Object.fromEntries(
    errors.toReversed().map(({ pointer, detail }) => {
      const field = pointer.split('/')[1] as TalkField
      // The form has it in hours and minutes, not in seconds.
      const isDuration = field === 'duration'
      return [field, isDuration ? 'must be a duration such as 45:00 or 1:02:03' : detail]
    }),
  )
}

function jsonResponse(body: object): PageResponse {
  return {
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-store',
    },
  }
}
