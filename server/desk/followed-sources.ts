import {
  type FieldError,
  FollowedSourceInput,
  invalidFields,
  Problem,
  validate,
} from '@talkshelf/contract'
import {
  deskPages,
  deskPaths,
  type FollowedSourceErrors,
  type FollowedSourceValues,
} from '@talkshelf/web'
import { normalizeName } from '../entities/entities.ts'
import type { FollowedSources } from '../followed-sources/followed-sources.ts'
import type { FormRequest } from '../platform/http/pages.ts'
import { changeOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

// Pages of followed sources: editors add, change, pause and delete them.

interface RefusedForm {
  readonly typed: FollowedSourceValues
  readonly errors: FollowedSourceErrors
}

/** Mounts the list of followed sources and the page of each one. */
export function followedSourcePages(desk: Desk, sources: FollowedSources): void {
  const { followedSources: listPath } = deskPaths
  const isOff = !sources.isFetching
  const access = { role: 'editor', page: listPath } as const
  const list = async (request: DeskRequest, refused?: RefusedForm) => {
    const data = { isOff, sources: await sources.list(), ...refused }
    return desk.render(request, [deskPages.followedSources, data], refused ? 400 : 200)
  }
  desk.page(listPath, access, (request) => list(request))
  desk.form(listPath, access, async (request) => {
    const typed = Object.fromEntries(request.form)
    try {
      const input = readForm(request.form)
      const { id } = await sources.create(input, changeOrigin(request))
      return desk.redirect(request, `${deskPaths.followedSource(id)}?done=source-followed`)
    } catch (error) {
      return list(request, { typed, errors: errorsOf(error) })
    }
  })

  const path = deskPaths.followedSource(':id')
  const oneAccess = { role: 'editor', page: path } as const
  const show = async (request: DeskRequest, refused?: RefusedForm) => {
    const data = { isOff, source: await sources.read(idOf(request)), ...refused }
    return desk.render(request, [deskPages.followedSource, data], refused ? 400 : 200)
  }
  desk.page(path, oneAccess, (request) => show(request))
  desk.form(path, oneAccess, async (request) => {
    const id = idOf(request)
    const typed = Object.fromEntries(request.form)
    try {
      await sources.change(id, readForm(request.form), changeOrigin(request))
    } catch (error) {
      return show(request, { typed, errors: errorsOf(error) })
    }
    return desk.redirect(request, `${deskPaths.followedSource(id)}?done=saved`)
  })

  /** Mounts a button of one followed source. */
  const action = (
    target: string,
    done: string,
    act: (id: number, request: DeskRequest<FormRequest>) => Promise<unknown>,
    next: (id: number) => string = deskPaths.followedSource,
  ) =>
    desk.form(target, oneAccess, async (request) => {
      const id = idOf(request)
      await act(id, request)
      return desk.redirect(request, `${next(id)}?done=${done}`)
    })
  const setEnabled = (enabled: boolean) => (id: number, request: DeskRequest) =>
    sources.change(id, { enabled }, changeOrigin(request))
  action(deskPaths.fetchFollowedSource(':id'), 'source-requested', (id) => sources.fetchNow(id))
  action(deskPaths.pauseFollowedSource(':id'), 'source-paused', setEnabled(false))
  action(deskPaths.resumeFollowedSource(':id'), 'source-resumed', setEnabled(true))
  action(
    deskPaths.deleteFollowedSource(':id'),
    'source-deleted',
    (id, request) => sources.remove(id, changeOrigin(request)),
    () => listPath,
  )
}

/** Reads a form. Throws `invalid-fields` as the API does. */
function readForm(form: URLSearchParams) {
  const textOf = (name: string) => (form.get(name) ?? '').trim() || undefined
  const options = {
    name: textOf('name'),
    format: textOf('format'),
    source: textOf('source'),
    category: normalizeName(form.get('category') ?? '') || undefined,
    language: textOf('language'),
    recorded: textOf('recorded'),
    keep_titles: form.has('keep_titles') || undefined,
    draft: form.has('draft') || undefined,
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const interval = textOf('interval_hours') ?? ''
  if (!/^\d{1,9}$/.test(interval))
    throw invalidFields([{ pointer: '/interval_hours', code: 'type', detail: 'must be a number' }])
  return validate(FollowedSourceInput, {
    url: textOf('url') ?? '',
    interval_hours: Number(interval),
    options: Object.fromEntries(given),
  })
}

/** Returns the errors of a form by field. Throws other problems again. */
function errorsOf(error: unknown): FollowedSourceErrors {
  if (!(error instanceof Problem)) throw error
  if (error.problem === 'wrong-state') return { url: 'tooMany' }
  if (error.problem !== 'invalid-fields') throw error
  const errors = error.more.errors as readonly FieldError[]
  return Object.fromEntries(
    errors.map(({ pointer, code, detail }) => {
      if (pointer === '/url') return ['url', 'url']
      if (pointer === '/interval_hours') return ['interval_hours', 'interval']
      return [pointer.split('/').at(-1) ?? '', { code, text: detail }]
    }),
  )
}
