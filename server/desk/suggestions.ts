import {
  type Acceptance,
  type FieldError,
  Problem,
  Refusal,
  type SuggestedFields,
  type Suggestion,
  suggestedFields,
  type Video,
  validationErrors,
} from '@talkshelf/contract'
import { changedValues, deskPages, deskPaths, type SuggestionPageData } from '@talkshelf/web'
import { actorOf } from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { FormRequest, PageResponse } from '../platform/http/pages.ts'
import { parseId } from '../platform/http/pages.ts'
import {
  acceptSuggestion,
  type Decided,
  declineSuggestion,
  readSuggestion,
  reopenSuggestion,
} from '../suggestions/suggestions.ts'
import { type Desk, type DeskRequest, idOf, textFormBytes, writeContextOf } from './mount.ts'

// The page of a suggestion, and the forms that decide it. After a decision, the inbox shows the
// next one.

const access = { role: 'editor', forEventEditors: true } as const

/** Mounts the page of a suggestion and its forms. */
export function suggestionPages(
  desk: Desk,
  pool: Pool,
  forget: (ids: readonly number[]) => void,
): void {
  const page = deskPaths.suggestion(':id')
  const formAccess = { ...access, page }

  desk.page(page, access, (request) => show(request, {}))

  desk.form(
    deskPaths.acceptSuggestion(':id'),
    formAccess,
    async (request) => {
      const id = idOf(request)
      const suggestion = await readSuggestion(pool, actorOf(request.session), id)
      const acceptance = acceptanceIn(request.form, suggestion)
      return decide(request, () => acceptSuggestion(pool, id, acceptance, writeContextOf(request)))
    },
    { formBytes: textFormBytes },
  )

  desk.form(deskPaths.declineSuggestion(':id'), formAccess, async (request) => {
    const { form } = request
    const reason = (form.get('reason') ?? '').trim() || (form.get('code') ?? '')
    if (validationErrors(Refusal, { reason }).length > 0)
      return show(request, { error: 'reason' }, 400)
    return decide(request, () =>
      declineSuggestion(pool, idOf(request), reason, writeContextOf(request)),
    )
  })

  desk.form(deskPaths.reopenSuggestion(':id'), formAccess, (request) =>
    decide(request, () => reopenSuggestion(pool, idOf(request), writeContextOf(request))),
  )

  /** Runs a decision and goes on to the inbox. If it is refused, shows the suggestion again. */
  async function decide(
    request: DeskRequest<FormRequest>,
    work: () => Promise<Decided>,
  ): Promise<PageResponse> {
    try {
      const { suggestion, changed } = await work()
      if (changed !== undefined) forget([changed])
      return desk.redirect(request, pathAfter(suggestion))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const { problem, more } = error
      if (problem === 'wrong-state') return show(request, { error: 'decided' }, 409)
      if (problem === 'fields-changed') return show(request, { error: 'changed' }, 409)
      if (problem !== 'invalid-fields') throw error
      const errors = fieldErrors(more.errors as readonly FieldError[])
      const isNone = 'fields' in errors
      return show(request, { error: isNone ? 'none' : 'fields', errors }, 400)
    }
  }

  async function show(
    request: DeskRequest | DeskRequest<FormRequest>,
    { error, errors = {} }: Partial<Pick<SuggestionPageData, 'error' | 'errors'>>,
    status?: PageResponse['status'],
  ): Promise<PageResponse> {
    const suggestion = await readSuggestion(pool, actorOf(request.session), idOf(request))
    // After a change of the talk, the editor decides about what it is now.
    const form = 'form' in request && error !== 'changed' ? request.form : new URLSearchParams()
    const data: SuggestionPageData = {
      suggestion,
      typed: Object.fromEntries([...form].filter(([name]) => isSuggested(name))),
      ticked: form.has('has_fields') ? form.getAll('field') : undefined,
      error,
      errors,
    }
    return desk.render(request, [deskPages.suggestion, data], status)
  }
}

const isSuggested = (name: string) => (suggestedFields as readonly string[]).includes(name)

/**
 * Returns what the form accepts. A value that the editor changed, and one of a field that was
 * changed since, is an edit.
 */
function acceptanceIn(form: URLSearchParams, suggestion: Suggestion): Acceptance {
  const revision = parseId(form.get('revision') ?? '')
  if (!form.has('has_fields')) return {}
  const ticked = form.getAll('field')
  const fields = suggestion.fields.filter(({ field }) => ticked.includes(field))
  const suggested = Object.fromEntries(fields.map(({ field, suggested }) => [field, suggested]))
  const typed = changedValues(suggested as Partial<Video>, form)
  const edits = Object.fromEntries(
    fields.flatMap(({ field, state }) => {
      if (field in typed) return [[field, typed[field]]]
      // The editor has seen both values. Without the text, the form is that of the inbox.
      return state === 'conflict' && form.has(field) ? [[field, suggested[field]]] : []
    }),
  ) as SuggestedFields
  return {
    fields: fields.map(({ field }) => field).filter((field) => !(field in edits)),
    ...(Object.keys(edits).length > 0 && { edits }),
    ...(revision !== undefined && { revision }),
  }
}

/** Returns the page after a decision: the inbox, or where the editor goes on with the talk. */
function pathAfter({ id, state, kind, video, duplicate_of: other, revision }: Suggestion): string {
  const inbox = (done: string) => `${deskPaths.home}?done=${done}&decided=${id}`
  if (state === 'open') return `${deskPaths.suggestion(id)}?done=suggestion-reopened`
  if (state !== 'accepted') return inbox(`suggestion-${state}`)
  if (kind === 'duplicate' && video !== null) return `${deskPaths.mergeTalks(video)}?with=${other}`
  if (kind === 'missing') return `${deskPaths.newTalk}?suggestion=${id}`
  if (kind === 'removal') return inbox('suggestion-hidden')
  return inbox(revision === null ? 'suggestion-noted' : 'suggestion-accepted')
}

/** Returns the first error of each field. `fields` stands for the lack of any. */
function fieldErrors(errors: readonly FieldError[]): Record<string, string> {
  return Object.fromEntries(
    errors.toReversed().map(({ pointer, detail }) => {
      const [, first = '', second = ''] = pointer.split('/')
      return [first === 'edits' ? second : first, detail]
    }),
  )
}
