import {
  BulkEdit,
  type EditFilter,
  type FieldError,
  maxEditedIds,
  maxEditedRecords,
  Problem,
  states,
  validate,
} from '@talkshelf/contract'
import {
  type BulkEditData,
  deskPages,
  deskPaths,
  type OperationErrors,
  operationRows,
  parseOperation,
  type TalkSelection,
} from '@talkshelf/web'
import { findRecordIds } from '../catalogue/catalogue.ts'
import type { ImportPlanner } from '../imports/imports.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import { changeOrigin, type Desk, type DeskRequest, searchParamsOf } from './mount.ts'

// The form of a bulk edit. The plan is the page of an import.

type FormErrors = Pick<BulkEditData, 'error' | 'rowErrors'>

/** Mounts the form of a bulk edit. */
export function bulkEditPages(desk: Desk, pool: Pool, planner: ImportPlanner): void {
  const access = { role: 'editor', forEventEditors: true, page: deskPaths.talks } as const
  const show = async (
    request: DeskRequest,
    fields: URLSearchParams,
    refused?: FormErrors & { readonly values: URLSearchParams },
  ) => {
    const selection = readSelection(fields)
    const count = await countTalks(pool, selection)
    const isTooMany = count > maxEditedRecords
    const data = { selection, count, isTooMany, ...refused }
    return desk.render(request, [deskPages.bulkEdit, data], refused ? 400 : 200)
  }
  desk.page(deskPaths.bulkEdit, access, (request) => {
    return show(request, searchParamsOf(request))
  })
  desk.form(deskPaths.bulkEdit, access, async (request) => {
    const { form } = request
    const rows = operationRows.filter((row) => form.get(`operation-${row}`))
    const refuse = (errors: FormErrors) => show(request, form, { values: form, ...errors })
    if (rows.length === 0) return refuse({ error: 'missingChange' })
    const empty = rows.filter((row) => isWithoutValue(form, row))
    if (empty.length > 0)
      return refuse({ rowErrors: new Map(empty.map((row) => [row, 'missingValue'] as const)) })
    try {
      const id = await planner.startEdit(readEdit(form, rows), changeOrigin(request))
      return desk.redirect(request, deskPaths.importPage(id))
    } catch (error) {
      const errors = error instanceof Problem ? (error.more.errors as FieldError[]) : undefined
      if (!errors || errors.length === 0) throw error
      return refuse(formErrors(errors, rows))
    }
  })
}

/** Reads which talks were selected: by `id` in the list, by `ids` in the form, or all. */
function readSelection(fields: URLSearchParams): TalkSelection {
  if (fields.has('all'))
    return {
      q: (fields.get('q') ?? '').slice(0, 300),
      state: fields.get('state') === 'draft' ? 'draft' : 'live',
    }
  const texts = [...fields.getAll('id'), ...(fields.get('ids') ?? '').split(',')]
  const ids = texts.slice(0, maxEditedIds).flatMap((text) => parseId(text) ?? [])
  return { ids: [...new Set(ids)] }
}

function filterOf(selection: TalkSelection): EditFilter {
  if ('ids' in selection) return { ids: [...selection.ids] }
  const { q, state } = selection
  return { ...(q.trim() && { q }), state: states[state] }
}

async function countTalks(pool: Pool, selection: TalkSelection): Promise<number> {
  if ('ids' in selection) return selection.ids.length
  return (await findRecordIds(pool, filterOf(selection), maxEditedRecords + 1)).length
}

/** Returns whether a row of the form lacks its value. Only `clear` empties a field. */
function isWithoutValue(form: URLSearchParams, row: number): boolean {
  const [op, field] = (form.get(`operation-${row}`) ?? '').split(' ')
  return op !== 'clear' && field !== 'state' && (form.get(`value-${row}`) ?? '') === ''
}

/** Reads the edit of the form. Throws `invalid-fields` as the API does. */
function readEdit(form: URLSearchParams, rows: readonly number[]): BulkEdit {
  const textOf = (name: string) => form.get(name) ?? ''
  const operations = rows.map((row) => {
    const operation = parseOperation(
      textOf(`operation-${row}`),
      textOf(`value-${row}`),
      textOf(`with-${row}`),
    )
    const given = Object.entries(operation ?? {}).filter(([, value]) => value !== undefined)
    return Object.fromEntries(given)
  })
  return validate(BulkEdit, { filter: filterOf(readSelection(form)), operations })
}

/** Assigns errors to the fields of the form, by their pointers. */
function formErrors(errors: readonly FieldError[], rows: readonly number[]): FormErrors {
  const rowErrors = new Map<number, OperationErrors>()
  const others: string[] = []
  for (const { pointer, detail } of errors) {
    const [, index = '', part = ''] = /^\/operations\/(\d+)\/(\w+)$/.exec(pointer) ?? []
    const row = rows[Number(index)]
    if (index === '' || row === undefined) others.push(`${pointer.slice(1)} ${detail}`)
    else rowErrors.set(row, { ...rowErrors.get(row), [part === 'with' ? 'with' : 'value']: detail })
  }
  return { rowErrors, ...(others.length > 0 && { error: { text: others.join('; ') } }) }
}
