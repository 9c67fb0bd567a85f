import { createImportEndpoint, type MatchDecision, Problem } from '@talkshelf/contract'
import {
  deskPages,
  deskPaths,
  type MatchFormData,
  type MatchPageData,
  parseDuration,
} from '@talkshelf/web'
import { normalizeName } from '../entities/entities.ts'
import { type ImportPlanner, InputRefused } from '../imports/imports.ts'
import { listMatches, type Matches } from '../matches/matches.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { FormRequest, PageResponse } from '../platform/http/pages.ts'
import type { Upload } from '../platform/http/uploads.ts'
import { cleanName, streamOf } from './imports.ts'
import { changeOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

// Matches: the form that starts one, and the page on which its pairs are decided.

const listed = 20
/** Of both files together. */
const maxBytes = 2 * createImportEndpoint.body.maxBytes
const maxSeconds = 1_000_000

/** Mounts the pages of matches. */
export function matchPages(desk: Desk, pool: Pool, matches: Matches, planner: ImportPlanner): void {
  const access = { role: 'editor', page: deskPaths.matches } as const
  const show = async (request: DeskRequest, form: Omit<MatchFormData, 'maxBytes'> = {}) => {
    const found = await listMatches(pool, Number.MAX_SAFE_INTEGER, listed)
    const data = {
      matches: found.map(({ actor: by, ...match }) => ({ ...match, by })),
      form: { ...form, maxBytes },
    }
    return desk.render(request, [deskPages.matches, data], form.errors ? 400 : 200)
  }
  desk.page(deskPaths.matches, access, (request) => show(request))
  desk.upload(
    deskPaths.matches,
    access,
    async (request) => {
      const upload = await request.readForm().catch(uploadError)
      if (typeof upload === 'string') return show(request, { errors: { schedule: upload } })
      const result = await startMatch(matches, planner, upload, request)
      if ('id' in result) return desk.redirect(request, deskPaths.match(result.id))
      return show(request, { values: Object.fromEntries(upload.form), errors: result.errors })
    },
    { maxBytes, maxFiles: 2 },
  )
  matchPage(desk, matches, planner)
}

function uploadError(error: unknown): 'too-large' | 'damaged' {
  if (error instanceof Problem && error.problem === 'too-large') return 'too-large'
  if (error instanceof Problem && error.problem === 'bad-request') return 'damaged'
  throw error
}

type Started = { readonly id: number } | { readonly errors: NonNullable<MatchFormData['errors']> }

async function startMatch(
  matches: Matches,
  planner: ImportPlanner,
  upload: Upload,
  request: DeskRequest,
): Promise<Started> {
  const { form } = upload
  const schedule = readFile(upload, 'schedule')
  const playlist = readFile(upload, 'playlist')
  if (typeof schedule === 'string' || typeof playlist === 'string')
    return {
      errors: {
        ...(typeof schedule === 'string' && { schedule }),
        ...(typeof playlist === 'string' && { playlist }),
      },
    }
  const category = normalizeName(form.get('event') ?? '').slice(0, 255) || undefined
  return planner.run(async () => {
    // The error is that of the file that was opened last; reading starts with the schedule.
    let side: 'schedule' | 'playlist' = 'schedule'
    try {
      const talks = await planner.open(schedule)
      side = 'playlist'
      const recordings = await planner.open(playlist)
      side = 'schedule'
      const input = { schedule: { opened: talks }, playlist: { opened: recordings }, category }
      const onSchedule = () => {
        side = 'playlist'
      }
      return { id: await matches.create({ ...input, onSchedule }, changeOrigin(request)) }
    } catch (error) {
      const isRefused = error instanceof Problem && error.problem === 'import-refused'
      if (isRefused || error instanceof InputRefused) return { errors: { [side]: error.message } }
      throw error
    }
  })
}

/** Reads the file or the URL of one side of the form. Returns what is wrong with it. */
function readFile({ form, files }: Upload, side: 'schedule' | 'playlist') {
  const file = files.find(({ field }) => field === side)
  const url = (form.get(`${side}_url`) ?? '').trim()
  if (file && url !== '') return 'both'
  if (file) return { content: streamOf(file.chunks), name: cleanName(file.name) || side }
  return url === '' ? 'missing' : { url }
}

type MatchForm = (id: number, request: DeskRequest<FormRequest>) => Promise<PageResponse>

function matchPage(desk: Desk, matches: Matches, planner: ImportPlanner): void {
  const path = deskPaths.match(':id')
  const access = { role: 'editor', page: path } as const
  const show = async (
    request: DeskRequest,
    error?: MatchPageData['error'],
    status: PageResponse['status'] = 200,
  ) => {
    const match = await matches.read(idOf(request))
    return desk.render(request, [deskPages.match, { match, error }], status)
  }
  desk.page(path, access, (request) => show(request))
  const form = (target: string, handle: MatchForm) =>
    desk.form(target, access, (request) => handle(idOf(request), request))
  const back = (request: DeskRequest, id: number, done: string) =>
    desk.redirect(request, `${deskPaths.match(id)}?done=${done}#questions`)

  form(deskPaths.matchDecide(':id'), async (id, request) => {
    const decisions = readDecisions(request.form)
    if (typeof decisions === 'string') return show(request, decisions, 400)
    try {
      await matches.decide(id, decisions, changeOrigin(request))
    } catch (error) {
      if (!(error instanceof Problem && error.problem === 'invalid-fields')) throw error
      return show(request, 'stale', 400)
    }
    return back(request, id, 'match-decided')
  })
  form(deskPaths.matchUndo(':id'), async (id, request) => {
    try {
      await matches.undo(id)
    } catch (error) {
      // There is nothing to undo, as after a second click.
      if (!(error instanceof Problem && error.problem === 'wrong-state')) throw error
      return back(request, id, '')
    }
    return back(request, id, 'match-undone')
  })
  form(deskPaths.matchPlan(':id'), async (id, request) => {
    const importId = await planner.run(() => matches.plan(id, changeOrigin(request)))
    return desk.redirect(request, deskPaths.importPage(importId))
  })
  form(deskPaths.matchDiscard(':id'), async (id, request) => {
    await matches.discard(id)
    return desk.redirect(request, `${deskPaths.matches}?done=match-discarded`)
  })
}

const withRecording = ['pair', 'copy', 'not'] as const

/** Reads the decisions of a form. Returns what is wrong with it. */
function readDecisions(form: URLSearchParams): MatchDecision[] | 'choose' | 'part' {
  const talk = form.get('talk') ?? ''
  const recording = form.get('recording') ?? ''
  const other = form.get('other') ?? ''
  const choice = form.get('choice') ?? ''
  if (choice === 'parts') return readParts(form, recording)
  if (choice === 'own-talk' || choice === 'no-talk') return [{ verdict: choice, recording }]
  if (choice === 'none')
    return form
      .getAll('proposal')
      .slice(0, 3)
      .map((proposal) => ({ verdict: 'not', talk, recording: proposal }))
  if (choice === 'other')
    return other === '' || talk === '' ? 'choose' : [{ verdict: 'pair', talk, recording: other }]
  if (choice === 'status') return [{ verdict: 'no-recording', talk, ...statusOf(form) }]
  const verdict = withRecording.find((name) => choice.startsWith(`${name}:`))
  if (!verdict) return 'choose'
  return [{ verdict, talk, recording: choice.slice(verdict.length + 1) }]
}

const statuses = ['expected', 'not-recorded', 'not-published', 'opted-out'] as const

function statusOf(form: URLSearchParams): Pick<MatchDecision, 'status'> {
  const status = statuses.find((name) => name === form.get('status'))
  return status ? { status } : {}
}

function readParts(form: URLSearchParams, recording: string): MatchDecision[] | 'part' {
  const [starts, ends] = [form.getAll('part_start'), form.getAll('part_end')]
  const parts = form.getAll('part_talk').map((talk, index) => {
    const start = parseTime(starts[index] ?? '')
    const end = ends[index]?.trim() ? parseTime(ends[index]) : null
    return { verdict: 'part' as const, talk, recording, start, end }
  })
  const isValid = parts.every(
    ({ start, end }) => start !== undefined && end !== undefined && (end === null || end > start),
  )
  return isValid ? (parts as MatchDecision[]) : 'part'
}

/** Parses a time such as 1:02:03 to seconds. */
function parseTime(text: string): number | undefined {
  const time = parseDuration(text)
  return time !== undefined && time <= maxSeconds ? time : undefined
}
