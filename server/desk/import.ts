import {
  editFormat,
  FieldDecision,
  type FieldError,
  type Import,
  type ImportedTalk,
  Problem,
  TalkDecision,
  validate,
} from '@talkshelf/contract'
import {
  deskPages,
  deskPaths,
  type ImportPageData,
  type ImportView,
  importViews,
  type ServerText,
  type TalkChange,
  type TalkRow,
} from '@talkshelf/web'
import { actorOf } from '../auth/auth.ts'
import * as imports from '../imports/imports.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, type PageResponse, parseId } from '../platform/http/pages.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { type Desk, type DeskRequest, idOf } from './mount.ts'

// The page of an import: its plan, decisions about conflicts, and what can be done with it.

const talksPerPage = 50
const maxPosition = 2_147_483_647
/** Longer values are shortened around their difference. */
const maxValueLength = 400
/** A table that can be imported again as a file. */
const refusedLimits = { rows: 5000, length: 3_500_000 }

/** What a page shows of an import, and why a form was refused. */
interface Shown {
  readonly view?: string | undefined
  readonly after?: string | undefined
  readonly error?: ImportPageData['error']
  /** The talk whose decision was refused. */
  readonly refused?: { readonly position: number; readonly reason: ServerText }
  /** The position before the first row of the table of refused rows. */
  readonly refusedAfter?: string | undefined
}

type ImportForm = (id: number, request: DeskRequest<FormRequest>) => Promise<PageResponse>

/** Mounts the page of an import and its forms. */
export function importPage(desk: Desk, pool: Pool, jobRunner: JobRunner): void {
  const path = deskPaths.importPage(':id')
  // Editors of events use their own bulk edits only.
  const access = { role: 'editor', forEventEditors: true, page: path } as const
  const assertMayUse = (request: DeskRequest) =>
    imports.assertMayUseImport(pool, idOf(request), actorOf(request.session))
  const show = async (
    request: DeskRequest,
    shown: Shown,
    status: PageResponse['status'] = 200,
  ): Promise<PageResponse> => {
    const data = await readPage(pool, idOf(request), request, shown)
    return desk.render(request, [deskPages.import, data], status)
  }
  desk.page(path, access, async (request) => {
    await assertMayUse(request)
    const { show: view, after, refused_after: refusedAfter } = request.query
    return show(request, { view, after, refusedAfter })
  })
  desk.page(deskPaths.importRefused(':id'), access, async (request) => {
    await assertMayUse(request)
    const id = idOf(request)
    const after = parsePosition(request.query.after ?? '', 0)
    const { csv } = await imports.readRefused(pool, id, after, refusedLimits)
    return {
      body: csv,
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="import-${id}-refused.csv"`,
        'cache-control': 'private, no-store',
      },
    }
  })

  /** Mounts a form of the page. If its action is not possible, the page says why. */
  const form = (target: string, handle: ImportForm) =>
    desk.form(target, access, async (request) => {
      await assertMayUse(request)
      try {
        return await handle(idOf(request), request)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.problem === 'wrong-state') return show(request, { error: 'wrongState' }, 409)
        if (error.problem === 'forbidden') return show(request, { error: 'needsAdmin' }, 403)
        throw error
      }
    })
  decisionForms(desk, pool, form, show)
  actionForms(desk, pool, form, jobRunner)
}

function decisionForms(
  desk: Desk,
  pool: Pool,
  form: (target: string, handle: ImportForm) => void,
  show: (request: DeskRequest, shown: Shown, status: 400) => Promise<PageResponse>,
): void {
  form(deskPaths.importDecide(':id'), async (id, request) => {
    const position = parsePosition(request.form.get('position') ?? '')
    const view = request.form.get('show') ?? ''
    const after = request.form.get('after') ?? ''
    try {
      const decision = validate(TalkDecision, readDecision(request.form))
      await imports.decideTalk(pool, id, position, decision)
    } catch (error) {
      const errors = error instanceof Problem ? (error.more.errors as FieldError[] | undefined) : []
      const [first] = errors ?? []
      if (!first) throw error
      const reason = { code: first.code, text: `${first.pointer.slice(1)} ${first.detail}` }
      return show(request, { view, after, refused: { position, reason } }, 400)
    }
    const query = new URLSearchParams({ show: view, after, done: 'decided' })
    return desk.redirect(request, `${deskPaths.importPage(id)}?${query}#talk-${position}`)
  })
  form(deskPaths.importDecideAll(':id'), async (id, request) => {
    const field = request.form.get('field') ?? ''
    const decision = { take: request.form.get('take'), ...(field !== '' && { fields: [field] }) }
    await imports.decideFields(pool, id, validate(FieldDecision, decision))
    return desk.redirect(request, `${deskPaths.importPage(id)}?show=conflict&done=decided-all`)
  })
  form(deskPaths.importAcceptMatches(':id'), async (id, request) => {
    const done = (await imports.acceptMatches(pool, id)) > 0 ? 'answered' : 'answered-none'
    return desk.redirect(request, `${deskPaths.importPage(id)}?show=conflict&done=${done}`)
  })
}

function actionForms(
  desk: Desk,
  pool: Pool,
  form: (target: string, handle: ImportForm) => void,
  jobRunner: JobRunner,
): void {
  const run = (
    target: string,
    action: (id: number, request: DeskRequest) => Promise<Import>,
    { mayTakeDown = false } = {},
  ) =>
    form(target, async (id, request) => {
      const isTakedown = mayTakeDown && (await imports.readApplyRole(pool, id)) === 'admin'
      const { session } = request
      // Takedowns require the passkey again, as people and tokens do.
      if (isTakedown && session.person.role === 'admin' && !session.isStrong) {
        const to = encodeURIComponent(deskPaths.importPage(id))
        return desk.redirect(request, `${deskPaths.confirm}?to=${to}`)
      }
      await action(id, request)
      jobRunner.wake()
      return desk.redirect(request, deskPaths.importPage(id))
    })
  const roleOf = ({ session }: DeskRequest) => actorOf(session).role
  run(
    deskPaths.importApply(':id'),
    (id, request) => imports.applyImport(pool, id, roleOf(request)),
    { mayTakeDown: true },
  )
  run(deskPaths.importRedo(':id'), (id, request) => imports.redoImport(pool, id, roleOf(request)), {
    mayTakeDown: true,
  })
  run(deskPaths.importStop(':id'), (id) => imports.stopImport(pool, id))
  run(deskPaths.importUndo(':id'), (id) => imports.undoImport(pool, id))
  form(deskPaths.importDiscard(':id'), async (id, request) => {
    await imports.discardImport(pool, id)
    return desk.redirect(request, `${deskPaths.imports}?done=discarded`)
  })
}

/** Reads the fields of the form of a talk. */
function readDecision(form: URLSearchParams): Record<string, unknown> {
  const take = [...form].flatMap(([name, value]) =>
    name.startsWith('take-') && value === 'theirs' ? [name.slice('take-'.length)] : [],
  )
  const record = (form.get('record') ?? '').trim()
  const same = form.get('same')
  // A record that was typed is the answer to whether the talk is one.
  if (record !== '') return { take, same: same !== 'no', record: parseId(record) ?? 0 }
  return { take, ...(same !== null && { same: same === 'yes' }) }
}

async function readPage(
  pool: Pool,
  id: number,
  { session }: DeskRequest,
  shown: Shown,
): Promise<ImportPageData> {
  const job = await imports.readImport(pool, id)
  const show = importViews.find((view) => view === shown.view) ?? defaultView(job)
  const after = parsePosition(shown.after ?? '', 0)
  const filter = { ...filterOf(show), after, limit: talksPerPage + 1 }
  const found = await imports.listImportTalks(pool, id, filter)
  const talks = found.slice(0, talksPerPage)
  const positions = talks.map(({ position }) => position)
  const decisions = new Map(
    (await imports.findDecisions(pool, id, positions)).map((row) => [row.position, row.decision]),
  )
  const isDecidable = job.state === 'planned' || job.state === 'stopped'
  const toRow = (talk: ImportedTalk): TalkRow => ({
    ...talkRow(talk, decisions.get(talk.position)),
    isOpen: isDecidable && talk.outcome === null,
    error: shown.refused?.position === talk.position ? shown.refused.reason : undefined,
  })
  const conflicts = isDecidable
    ? await imports.countConflicts(pool, id)
    : { undecided: 0, questions: 0, fields: [] }
  const applyRole = await imports.readApplyRole(pool, id)
  const isEdit = job.format === editFormat
  const hasTable = show === 'refused' && talks.length > 0 && !isEdit
  return {
    job,
    show,
    after,
    table: hasTable ? await describeTable(pool, id, shown.refusedAfter) : undefined,
    next: found.length > talksPerPage ? talks.at(-1)?.position : undefined,
    talks: talks.map(toRow),
    conflicts,
    values: isEdit ? await countValues(pool, id) : [],
    needsAdmin: applyRole === 'admin' && session.person.role !== 'admin',
    error: shown.error,
  }
}

/** Describes the table of refused rows, which has a part of them if they are many. */
async function describeTable(
  pool: Pool,
  id: number,
  refusedAfter = '',
): Promise<ImportPageData['table']> {
  const after = parsePosition(refusedAfter, 0)
  const { rows, next_after: next } = await imports.readRefused(pool, id, after, refusedLimits)
  return { after, rows, next: next ?? undefined }
}

/** Longer values are shortened in the counts. */
const maxCountedLength = 100

/** Counts the most frequent changes of a bulk edit. */
async function countValues(pool: Pool, id: number): Promise<ImportPageData['values']> {
  return (await imports.countChangesByValue(pool, id)).map(({ field, count, ...change }) => {
    const before = imports.formatValue(field, change.old)
    const after = imports.formatValue(field, change.new)
    const [old, now] = imports.shortenAroundDifference(before, after, maxCountedLength)
    return { field, count, old, new: now }
  })
}

/** Chooses the talks that matter most in the state of an import. */
function defaultView({ state, planned, undone }: Import): ImportView {
  if (state === 'undone' && (undone.touched ?? 0) > 0) return 'kept'
  const verdicts = ['conflict', 'refused', 'changed', 'new', 'unchanged'] as const
  return verdicts.find((verdict) => (planned[verdict] ?? 0) > 0) ?? 'new'
}

function filterOf(view: ImportView) {
  if (view === 'kept') return { undone: 'touched' as const }
  return view === 'warnings' ? { note: 'warning' as const } : { verdict: view }
}

function talkRow(talk: ImportedTalk, decision: imports.Decision | null = null) {
  const changes = Object.entries(talk.changes).flatMap(([field, change]): TalkChange[] => {
    const values = [change.old, change.new].map((value) => imports.formatValue(field, value))
    const [before = '', after = ''] = values
    // No URL is null or an empty text, which look the same.
    if (before === '' && after === '') return []
    const [old, now] = imports.shortenAroundDifference(before, after, maxValueLength)
    return [
      {
        field,
        old,
        new: now,
        isConflict: change.conflict === true,
        isImported: change.imported === true,
        chosen: change.conflict ? chosenSide(field, decision) : undefined,
      },
    ]
  })
  return { ...talk, changes, same: decision?.same, record: decision?.record }
}

function chosenSide(field: string, decision: imports.Decision | null): TalkChange['chosen'] {
  if (!decision?.take) return undefined
  return decision.take.includes(field) ? 'theirs' : 'mine'
}

/** Parses a position. Returns `otherwise` if it is not one, or throws `not-found`. */
function parsePosition(text: string, otherwise?: number): number {
  const position = parseId(text)
  if (position !== undefined && position <= maxPosition) return position
  if (otherwise !== undefined) return otherwise
  throw new Problem('not-found', 'There is no such talk')
}
