import {
  type FieldError,
  Problem,
  type SuggestedField,
  type SuggestedFields,
  suggestedFields,
} from '@talkshelf/contract'
import { changedValues, pages, paths, renderPage, talkValues } from '@talkshelf/web'
import type { Pool } from '../platform/db/pool.ts'
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
  confirmTalks,
  listSpeakerTalks,
  openSpeakerLink,
  readSpeakerTalk,
  requestAsSpeaker,
  suggestAsSpeaker,
} from '../speaker-links/speaker-links.ts'
import { buildView, localPath, type PageSite, pageHeaders } from './view.ts'

// The pages behind the link of a speaker. Opening them changes nothing, so that a program that checks
// links in mails uses nothing up.

const limits: PageLimits = { isPrivate: true, formBytes: 1_048_576 }
const requestKinds = ['profile', 'name', 'removal'] as const

interface SpeakerLinkContext {
  readonly mountPage: MountPage
  readonly mountForm: MountForm
  readonly pool: Pool
  readonly site: PageSite
}

/** Mounts the pages of a speaker who has a link. */
export function speakerLinkRoutes({ mountPage, mountForm, pool, site }: SpeakerLinkContext): void {
  const open = ({ params }: PageRequest) => openSpeakerLink(pool, params.secret ?? '')
  const secretOf = ({ params }: PageRequest) => params.secret ?? ''
  const path = paths.speakerLink(':secret')
  const talkPath = paths.speakerLinkTalk(':secret', ':id')

  const back = (request: PageRequest, done: string): PageResponse => ({
    status: 303,
    headers: {
      location: `${localPath(site, paths.speakerLink(secretOf(request)))}?done=${done}`,
      'cache-control': 'private, no-store',
    },
  })

  mountPage(
    path,
    async (request) => {
      const { speaker, name, profile } = await open(request)
      const talks = await listSpeakerTalks(pool, speaker)
      const links = (profile.links ?? []).map(({ url }) => url)
      const data = {
        secret: secretOf(request),
        name,
        talks: talks.map(({ video, revision, confirmed }) => ({
          id: video.id,
          revision,
          title: video.title,
          details: [video.category, video.recorded].filter(Boolean).join(' · '),
          confirmed: confirmed?.slice(0, 10),
        })),
        profile: [profile.pronouns, profile.description, ...links].filter(
          (line) => line,
        ) as string[],
        done: request.query.done,
      }
      return render(site, request, pages.speakerLink, data)
    },
    limits,
  )
  mountForm(
    path,
    async (request) => {
      const link = await open(request)
      const { form } = request
      const action = form.get('action')
      if (action === 'confirm') {
        const talks = form.getAll('video').flatMap(parseSeenTalk)
        if (talks.length === 0) return back(request, 'empty')
        const isSaved = await confirmTalks(pool, link, talks)
        return back(request, isSaved ? 'confirmed' : 'changed')
      }
      const kind = requestKinds.find((known) => known === action)
      if (!kind) throw new Problem('bad-request', 'The form is not complete')
      const comment = form.get(`${kind}_comment`) ?? ''
      if (comment.trim() === '') return back(request, 'empty')
      return orFull(request, () => requestAsSpeaker(pool, link, kind, comment))
    },
    limits,
  )

  const showTalk = async (
    request: PageRequest,
    refused: { form?: URLSearchParams; error?: string; errors?: Record<string, string> } = {},
  ) => {
    const link = await open(request)
    const { video, revision } = await readSpeakerTalk(pool, link, idOf(request))
    const { form = new URLSearchParams(), error, errors = {} } = refused
    const typed = Object.fromEntries([...form].filter(([name]) => isSuggested(name)))
    const data = {
      secret: secretOf(request),
      id: video.id,
      title: video.title,
      revision: parseId(form.get('revision') ?? '') ?? revision,
      values: { ...talkValues(video), ...typed },
      comment: form.get('comment') ?? '',
      error,
      errors,
    }
    return render(site, request, pages.speakerLinkTalk, data, error === undefined ? 200 : 400)
  }
  mountPage(talkPath, (request) => showTalk(request), limits)
  mountForm(
    talkPath,
    async (request) => {
      const link = await open(request)
      const { form } = request
      const { video, revision } = await readSpeakerTalk(pool, link, idOf(request))
      if (form.get('kind') === 'removal') {
        const comment = (form.get('why') ?? '').trim()
        if (comment === '') return showTalk(request, { form, error: 'empty' })
        const input = { kind: 'removal', video: video.id, comment } as const
        return orFull(request, () => suggestAsSpeaker(pool, link, input))
      }
      const allowed = new URLSearchParams([...form].filter(([name]) => isSuggested(name)))
      try {
        await suggestAsSpeaker(pool, link, {
          kind: 'correction',
          video: video.id,
          base_revision: Math.min(parseId(form.get('revision') ?? '') ?? revision, revision),
          fields: changedValues(video, allowed) as SuggestedFields,
          comment: (form.get('comment') ?? '').replaceAll('\r\n', '\n'),
        })
        return back(request, 'sent')
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.problem === 'queue-full') return back(request, 'full')
        if (error.problem !== 'invalid-fields') throw error
        const found = (error.more.errors ?? []) as readonly FieldError[]
        const errors = Object.fromEntries(
          found.map(({ pointer, detail }) => [pointer.split('/').at(-1) ?? '', detail]),
        )
        const isEmpty = found.some(({ pointer }) => pointer === '/fields')
        const message = found.map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`)
        return showTalk(request, { form, error: isEmpty ? 'empty' : message.join('; '), errors })
      }
    },
    limits,
  )

  async function orFull(request: FormRequest, work: () => Promise<void>): Promise<PageResponse> {
    try {
      await work()
      return back(request, 'sent')
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'queue-full') throw error
      return back(request, 'full')
    }
  }
}

/** Reads a talk with the revision that the page showed, such as `17.3`. */
function parseSeenTalk(text: string): { id: number; revision: number }[] {
  const [id, revision] = text.split('.').map((part) => parseId(part))
  return id && revision && revision <= 2_147_483_647 ? [{ id, revision }] : []
}

const isSuggested = (name: string): name is SuggestedField =>
  (suggestedFields as readonly string[]).includes(name)

function idOf({ params }: PageRequest): number {
  const id = parseId(params.id)
  if (id === undefined) throw new Problem('not-found', 'This page does not exist')
  return id
}

function render<Data extends object>(
  site: PageSite,
  request: PageRequest,
  page: Parameters<typeof renderPage<Data>>[0],
  data: Data,
  status: PageResponse['status'] = 200,
): PageResponse {
  const view = buildView(site, request)
  return {
    status,
    body: renderPage(page, data, view),
    headers: {
      ...pageHeaders(view),
      'cache-control': 'private, no-store',
      // Forms need the origin; other sites get nothing.
      'referrer-policy': 'same-origin',
      'x-robots-tag': 'noindex, nofollow',
    },
  }
}
