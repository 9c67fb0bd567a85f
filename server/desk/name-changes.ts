import { type FieldError, Problem } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import { countFormerNames } from '../entities/entities.ts'
import {
  applyNameChange,
  beginNameChange,
  choosePlaces,
  discardNameChange,
  listNameChanges,
  readNameChange,
} from '../name-changes/name-changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { readEdited } from './entity-data.ts'
import { auditOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

// Changes the name of a speaker permanently: the form, the plan with a checkbox for each occurrence,
// and the progress. Nothing of it can be undone, so it needs a sign-in within the last ten minutes.

/** A form has at most 200 fields. */
const placesPerPage = 150
const access = { role: 'admin', isDangerous: true } as const
/** What the person sees if a name change cannot be applied any more. */
const staleProblems = ['wrong-state', 'invalid-fields']

interface Refused {
  readonly name: string
  readonly oldNames: string
  readonly inLinks: boolean
  readonly errors: Readonly<Record<string, string>>
}

/** Mounts the form of a name change, and its plan. */
export function nameChangePages(desk: Desk, pool: Pool, jobRunner: JobRunner): void {
  const showForm = async (request: DeskRequest, refused?: Refused) => {
    const { id, name, slug, fields } = await readEdited(pool, 'speaker', request.params.id ?? '')
    const aliases = fields.aliases as readonly { readonly name: string }[]
    const data = {
      slug,
      title: name,
      name: '',
      oldNames: [name, ...aliases.map((alias) => alias.name)].join('\n'),
      inLinks: false,
      errors: {},
      ...refused,
      changes: await listNameChanges(pool.lists, id),
      formerNames: await countFormerNames(pool.lists, id),
    }
    return desk.render(request, [deskPages.speakerName, data], refused ? 400 : 200)
  }
  const formPath = deskPaths.speakerName(':id')
  desk.page(formPath, access, (request) => showForm(request))
  desk.form(formPath, { ...access, page: formPath }, async (request) => {
    const { form } = request
    const speaker = await readEdited(pool, 'speaker', request.params.id ?? '')
    const input = {
      name: form.get('name') ?? '',
      oldNames: form.get('old_names') ?? '',
      inLinks: form.has('in_links'),
    }
    try {
      const oldNames = input.oldNames.split('\n').filter((line) => line.trim() !== '')
      const id = await beginNameChange(
        pool,
        { ...input, oldNames, speaker: speaker.id },
        auditOrigin(request),
      )
      jobRunner.wake()
      return desk.redirect(request, deskPaths.nameChange(id))
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'invalid-fields') throw error
      const found = (error.more.errors ?? []) as readonly FieldError[]
      const errors = Object.fromEntries(found.map((one) => [one.pointer.slice(1), one.detail]))
      return showForm(request, { ...input, errors })
    }
  })

  const planPath = deskPaths.nameChange(':id')
  const show = async (request: DeskRequest, error?: string) => {
    const after = parseId(request.query.after) ?? 0
    const data = await readNameChange(pool, idOf(request), after, placesPerPage)
    const status = error === undefined ? 200 : 409
    return desk.render(request, [deskPages.nameChange, { ...data, error }], status)
  }
  // The page reloads itself, so it needs no recent sign-in; its form does.
  desk.page(planPath, { role: 'admin' }, (request) => show(request))
  desk.form(planPath, { ...access, page: planPath }, async (request) => {
    const { form } = request
    const id = idOf(request)
    const action = form.get('action')
    try {
      if (action === 'discard') {
        await discardNameChange(pool, id, auditOrigin(request))
        return desk.redirect(request, `${deskPaths.speakers}?done=saved`)
      }
      const from = parseId(form.get('from') ?? '')
      const to = parseId(form.get('to') ?? '')
      const taken = [...form.keys()].flatMap((field) =>
        field.startsWith('take_') ? (parseId(field.slice('take_'.length)) ?? []) : [],
      )
      if (from !== undefined && to !== undefined) await choosePlaces(pool, id, { from, to, taken })
      if (action === 'apply') {
        await applyNameChange(pool, id, auditOrigin(request))
        jobRunner.wake()
        return desk.redirect(request, deskPaths.nameChange(id))
      }
      const next = parseId(form.get('next') ?? '')
      const query = next === undefined ? '?done=saved' : `?after=${next}`
      return desk.redirect(request, `${deskPaths.nameChange(id)}${query}`)
    } catch (error) {
      if (!(error instanceof Problem) || !staleProblems.includes(error.problem)) throw error
      return show(request, errorText(error))
    }
  })
}

/** Describes why a name change is not applied. */
function errorText({ message, more }: Problem): string {
  const [first] = (more.errors ?? []) as readonly FieldError[]
  return first ? `${first.pointer.slice(1)}: ${first.detail}` : message
}
