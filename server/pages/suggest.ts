import {
  type FieldError,
  Problem,
  type SuggestedField,
  type SuggestedFields,
  type SuggestionInput,
  type SuggestionKind,
  suggestedFields,
  suggestionKinds,
  type Video,
} from '@talkshelf/contract'
import {
  changedValues,
  type FollowedData,
  pages,
  paths,
  renderPage,
  type SuggestData,
  talkValues,
} from '@talkshelf/web'
import type { Pool } from '../platform/db/pool.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import {
  type FormRequest,
  type MountForm,
  type MountPage,
  type PageLimits,
  type PageRequest,
  type PageResponse,
  parseId,
} from '../platform/http/pages.ts'
import {
  type FormInput,
  followSuggestion,
  minFormMs,
  openForm,
  proofOfWorkBits,
  readShownVersion,
  removeName,
  replyToSuggestion,
  sendForm,
  suggestibleVideo,
  withdraw,
} from '../suggestions/suggestions.ts'
import { talkIdIn } from './talk.ts'
import { buildView, localPath, type PageSite, pageHeaders } from './view.ts'

// The pages with which readers suggest corrections and follow the outcome. They work without
// scripts and are never cached.

/** All fields of a talk, percent-encoded. */
const limits: PageLimits = { isPrivate: true, formBytes: 1_048_576 }
const maxReply = 1000

interface SuggestContext {
  readonly mountPage: MountPage
  readonly mountForm: MountForm
  readonly pool: Pool
  readonly site: PageSite
}

/** Mounts the forms of suggestions and the pages of their outcome. */
export function suggestRoutes(context: SuggestContext): void {
  formRoutes(context)
  followRoutes(context)
}

/** The current version of the talk that a form is about. */
interface CurrentTalk {
  readonly video: Video
  readonly revision: number
}

/** A field that people do not see. Only programs fill it in. */
const honeypotField = 'website'

/** What a form is about: a kind, and a talk unless that is missing. */
interface FormSubject {
  readonly kind: SuggestionKind
  readonly talk: CurrentTalk | undefined
}

function formRoutes({ mountPage, mountForm, pool, site }: SuggestContext): void {
  const talkPath = '/video/:id/:slug/suggest'

  mountPage(
    talkPath,
    async (request) => {
      // Changes are made in the archive that this one is a copy of.
      if (site.source !== undefined) return redirectToSource(site.source, request)
      const talk = await suggestibleVideo(pool.lookups, idOf(request))
      const path = paths.suggest(talk.video)
      if (path !== request.address.split('?')[0]) return redirectTo(site, path + queryOf(request))
      return show(request, { kind: kindOfTalk(request.query.kind), talk })
    },
    limits,
  )
  mountForm(
    talkPath,
    async (request) => {
      const id = idOf(request)
      const talk = await suggestibleVideo(pool.lookups, id)
      return receive(request, { kind: kindOfTalk(request.form.get('kind')), talk }, id)
    },
    limits,
  )
  const missing = { kind: 'missing', talk: undefined } as const
  mountPage(
    paths.suggestMissing,
    async (request) =>
      site.source === undefined ? show(request, missing) : redirectToSource(site.source, request),
    limits,
  )
  mountForm(paths.suggestMissing, (request) => receive(request, missing, null), limits)

  /** Receives a form about a talk with this id, which may have been merged meanwhile. */
  async function receive(
    request: FormRequest,
    subject: FormSubject,
    id: number | null,
  ): Promise<PageResponse> {
    const { form } = request
    const typed = await withoutOtherTalk(form, subject, id)
    const refuse = (
      error: SuggestData['error'],
      errors: SuggestData['errors'] = {},
      status: PageResponse['status'] = 400,
    ) => show(request, { ...subject, form: typed, error, errors }, status)
    if ((form.get(honeypotField) ?? '') !== '') return refuse('honeypot')
    try {
      const sent = await sendForm(pool, formInput(request, id), (shown) =>
        inputOf(form, subject.kind, shown, id),
      )
      if (sent === 'too-fast' || sent === 'expired') return await refuse(sent)
      if (sent.secret === undefined)
        return await render(request, pages.sameSuggestion, { talk: linkOf(subject.talk) })
      return redirectTo(site, `${paths.suggestion(sent.id, sent.secret)}?new=1`)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (error.problem === 'too-many-requests') return refuse('too-many-requests', {}, 429)
      if (error.problem === 'queue-full') return refuse('queue-full', {}, 409)
      if (error.problem !== 'invalid-fields') throw error
      const errors = fieldErrors(error.more.errors as readonly FieldError[])
      return 'fields' in errors ? refuse('empty') : refuse('', errors)
    }
  }

  /**
   * Returns what was typed. If the talk with this id was merged meanwhile, the form of the talk
   * that was kept must not get all fields of the other one.
   */
  async function withoutOtherTalk(
    form: URLSearchParams,
    { kind, talk }: FormSubject,
    id: number | null,
  ): Promise<URLSearchParams> {
    if (id === null || talk?.video.id === id) return form
    const shown = await readShownVersion(pool, id, form.get('form') ?? '')
    return shown ? withFields(form, inputOf(form, kind, shown, id)) : form
  }

  /** Shows a form with the current version of a talk, and what was typed. */
  async function show(
    request: PageRequest,
    {
      kind,
      talk,
      form,
      error,
      errors = {},
    }: FormSubject & {
      readonly form?: URLSearchParams
      readonly error?: SuggestData['error']
      readonly errors?: SuggestData['errors']
    },
    status: PageResponse['status'] = 200,
  ): Promise<PageResponse> {
    const { token, asksProofOfWork, isFull } = await openForm(
      pool,
      talk,
      form?.get('form') ?? undefined,
    )
    const typed = form ?? new URLSearchParams()
    const data: SuggestData = {
      kind,
      talk: linkOf(talk),
      // A form that was sent stays, so that nothing typed is lost.
      token: isFull && !form ? undefined : token,
      proofOfWorkBits: asksProofOfWork ? proofOfWorkBits : undefined,
      waitMs: minFormMs,
      values: { ...shownValues(kind, talk), ...typedValues(typed) },
      duplicateOf: typed.get('duplicate_of') ?? '',
      comment: typed.get('comment') ?? '',
      name: typed.get('name') ?? '',
      showName: typed.has('show_name'),
      honeypotField,
      error,
      errors,
    }
    return render(request, pages.suggest, data, status)
  }

  function render<Data extends object>(
    request: PageRequest,
    page: Parameters<typeof renderPage<Data>>[0],
    data: Data,
    status?: PageResponse['status'],
  ) {
    return renderPrivate(site, request, page, data, status)
  }
}

/** Returns what the signed form is about, and all that was typed, without surrounding spaces. */
function formInput({ form, network }: FormRequest, video: number | null): FormInput {
  const typed = new URLSearchParams([...form].map(([name, value]) => [name, value.trim()]))
  typed.delete('form')
  typed.delete('proof_of_work')
  typed.sort()
  return {
    video,
    network,
    token: form.get('form') ?? '',
    proofOfWork: form.get('proof_of_work') ?? '',
    typed: typed.toString(),
  }
}

/** Returns a form with only those fields of the talk that the input has. */
function withFields(form: URLSearchParams, { fields = {} }: SuggestionInput): URLSearchParams {
  return new URLSearchParams([...form].filter(([name]) => !isSuggested(name) || name in fields))
}

/** Returns what the form suggests, compared with the version that it showed. */
function inputOf(
  form: URLSearchParams,
  kind: SuggestionKind,
  shown: Video | undefined,
  id: number | null,
): SuggestionInput {
  const hasFields = kind === 'correction' || kind === 'dead-link' || kind === 'missing'
  const fields = hasFields ? fieldsIn(form, kind, shown) : undefined
  const other = kind === 'duplicate' ? talkIdIn(form.get('duplicate_of') ?? '') : undefined
  const name = form.get('name') ?? ''
  return {
    kind,
    ...(id !== null && { video: id }),
    ...(fields && { fields }),
    ...(other !== undefined && { duplicate_of: other }),
    // Browsers send line breaks as CR LF, which count twice.
    comment: (form.get('comment') ?? '').replaceAll('\r\n', '\n'),
    ...(name.trim() !== '' && { name, show_name: form.has('show_name') }),
  }
}

/** Returns the fields that the reader changed. */
function fieldsIn(
  form: URLSearchParams,
  kind: SuggestionKind,
  shown: Video | undefined,
): SuggestedFields {
  const allowed = new URLSearchParams([...form].filter(([name]) => isSuggested(name)))
  const changed = changedValues(shown ?? {}, allowed)
  const isTyped = ([, value]: [string, unknown]) => value !== null && value !== ''
  // An empty field of a dead link means that the reader knows no other.
  const values = Object.entries(changed).filter(kind === 'dead-link' ? isTyped : () => true)
  return Object.fromEntries(values) as SuggestedFields
}

const isSuggested = (name: string): name is SuggestedField =>
  (suggestedFields as readonly string[]).includes(name)

/** A dead link is not offered as the new address. */
function shownValues(kind: SuggestionKind, talk: CurrentTalk | undefined): SuggestData['values'] {
  return kind === 'correction' && talk ? talkValues(talk.video) : {}
}

function typedValues(form: URLSearchParams): SuggestData['values'] {
  return Object.fromEntries([...form].filter(([name]) => isSuggested(name)))
}

/** Returns the first error of each field. `fields` stands for the lack of any. */
function fieldErrors(errors: readonly FieldError[]): Record<string, string> {
  return Object.fromEntries(
    errors.toReversed().map(({ pointer, detail }) => {
      const [, first = '', second] = pointer.split('/')
      const name = second ?? first
      // The form has it in hours and minutes, not in seconds.
      const isDuration = name === 'duration'
      const rule = isDuration ? 'must be a duration such as 45:00 or 1:02:03' : detail
      return [name, `${name}: ${rule}`]
    }),
  )
}

const linkOf = (talk: CurrentTalk | undefined) =>
  talk && { id: talk.video.id, slug: talk.video.slug, title: talk.video.title }

/** Returns the kind of a form about a talk. */
function kindOfTalk(text: string | null | undefined): SuggestionKind {
  const known = suggestionKinds.find((kind) => kind === text)
  return known === undefined || known === 'missing' ? 'correction' : known
}

function followRoutes({ mountPage, mountForm, pool, site }: SuggestContext): void {
  const secretOf = ({ params }: PageRequest) => params.secret ?? ''
  const show = async (
    request: PageRequest,
    { error, typed = '' }: { error?: FollowedData['replyError']; typed?: string } = {},
    status?: PageResponse['status'],
  ) => {
    const secret = secretOf(request)
    const suggestion = await followSuggestion(pool, idOf(request), secret)
    const isNew = request.query.new === '1' && suggestion.state === 'open'
    const data = { ...suggestion, secret, isNew, replyError: error, typedReply: typed }
    return renderPrivate(site, request, pages.followedSuggestion, data, status)
  }
  const back = (request: PageRequest) =>
    redirectTo(site, paths.suggestion(idOf(request), secretOf(request)))

  mountPage(paths.suggestion(':id', ':secret'), (request) => show(request), limits)
  mountForm(
    paths.withdrawSuggestion(':id', ':secret'),
    async (request) => {
      await withdraw(pool, idOf(request), secretOf(request))
      return back(request)
    },
    limits,
  )
  mountForm(
    paths.removeSuggestionName(':id', ':secret'),
    async (request) => {
      await removeName(pool, idOf(request), secretOf(request))
      return back(request)
    },
    limits,
  )
  mountForm(
    paths.replyToSuggestion(':id', ':secret'),
    async (request) => {
      const typed = (request.form.get('reply') ?? '').replaceAll('\r\n', '\n').trim()
      const reply = typed.toWellFormed().replaceAll('\0', '').slice(0, maxReply).toWellFormed()
      if (reply === '') return show(request, { error: 'empty' }, 400)
      try {
        await replyToSuggestion(pool, idOf(request), secretOf(request), reply)
      } catch (error) {
        if (!(error instanceof Problem) || error.problem !== 'queue-full') throw error
        return show(request, { error: 'full', typed: reply }, 409)
      }
      return back(request)
    },
    limits,
  )
}

async function renderPrivate<Data extends object>(
  site: PageSite,
  request: PageRequest,
  page: Parameters<typeof renderPage<Data>>[0],
  data: Data,
  status: PageResponse['status'] = 200,
): Promise<PageResponse> {
  const view = buildView(site, request)
  return {
    status,
    body: await runInOwnTask(() => renderPage(page, data, view)),
    headers: {
      ...pageHeaders(view),
      'cache-control': 'private, no-store',
      // The address of an outcome has a secret. Without a policy that sends the origin, browsers
      // would send forms without one.
      'referrer-policy': 'strict-origin',
      'x-robots-tag': 'noindex, nofollow',
    },
  }
}

function redirectTo(site: PageSite, path: string): PageResponse {
  return {
    status: 303,
    headers: { location: localPath(site, path), 'cache-control': 'private, no-store' },
  }
}

function redirectToSource(source: string, { address }: PageRequest): PageResponse {
  return {
    status: 303,
    headers: { location: source + address, 'cache-control': 'private, no-store' },
  }
}

function queryOf({ address }: PageRequest): string {
  const [, query] = address.split('?')
  return query ? `?${query}` : ''
}

function idOf({ params }: PageRequest): number {
  const id = parseId(params.id)
  if (id === undefined) throw new Problem('not-found', 'This page does not exist')
  return id
}
