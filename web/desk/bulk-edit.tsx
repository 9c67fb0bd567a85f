import { type EditedField, type EditOperation, fieldsOfOperation } from '@talkshelf/contract'
import { deskPaths } from '../paths.ts'
import { Field, Form } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

// The form of a bulk edit: which talks, and up to three changes of them.

export const operationRows = [1, 2, 3] as const

/** The talks of a bulk edit: some ids, or all of a list. */
export type TalkSelection =
  | { readonly ids: readonly number[] }
  | { readonly q: string; readonly state: 'live' | 'draft' }

export interface OperationErrors {
  readonly value?: string
  readonly with?: string
}

export interface BulkEditData {
  readonly selection: TalkSelection
  readonly count: number
  readonly isTooMany: boolean
  /** What was entered before. */
  readonly values?: URLSearchParams
  /** Why the edit was refused. */
  readonly error?: 'missingChange' | { readonly text: string } | undefined
  readonly rowErrors?: ReadonlyMap<number, OperationErrors | 'missingValue'>
}

/** The form of a bulk edit. */
export function BulkEditPage(data: BulkEditData) {
  const { words, number } = useDesk()
  const text = words.bulk
  const { selection, count, isTooMany, error } = data
  const message = error === 'missingChange' ? text.missingChange : error?.text
  return (
    <DeskLayout title={text.title}>
      {message !== undefined && (
        <p class="error" role="alert">
          {message}
        </p>
      )}
      {count === 0 && <p>{text.noTalks}</p>}
      {isTooMany && <p>{text.tooMany}</p>}
      {count > 0 && !isTooMany && (
        <Form action={deskPaths.bulkEdit}>
          <p>{text.talks(number(count), count)}</p>
          <p class="help">{text.help}</p>
          <SelectionFields selection={selection} />
          {operationRows.map((row) => (
            <OperationRow key={row} row={row} data={data} />
          ))}
          <button type="submit">{text.showPlan}</button>
        </Form>
      )}
    </DeskLayout>
  )
}

function SelectionFields({ selection }: { selection: TalkSelection }) {
  if ('ids' in selection) return <input type="hidden" name="ids" value={selection.ids.join(',')} />
  return (
    <>
      <input type="hidden" name="all" value="1" />
      <input type="hidden" name="q" value={selection.q} />
      <input type="hidden" name="state" value={selection.state} />
    </>
  )
}

function OperationRow({ row, data }: { row: number; data: BulkEditData }) {
  const { words } = useDesk()
  const text = words.bulk
  const { values, rowErrors } = data
  const found = rowErrors?.get(row)
  const errors = found === 'missingValue' ? { value: text.missingValue } : found
  const id = `field-operation-${row}`
  const chosen = values?.get(`operation-${row}`) ?? (row === 1 ? 'set copyright_text' : '')
  return (
    <fieldset class="field operation">
      <legend>{text.change(row)}</legend>
      <div class="field">
        <label for={id}>{text.what}</label>
        <select id={id} name={`operation-${row}`}>
          <option value="">{text.nothing}</option>
          <OperationOptions chosen={chosen} />
        </select>
      </div>
      <Field
        label={text.value}
        name={`value-${row}`}
        value={values?.get(`value-${row}`) ?? ''}
        maxLength={20_000}
        error={errors?.value}
        {...(row === 1 && { help: text.valueHelp })}
      />
      <Field
        label={text.replacement}
        name={`with-${row}`}
        value={values?.get(`with-${row}`) ?? ''}
        maxLength={20_000}
        error={errors?.with}
        {...(row === 1 && { help: text.replacementHelp })}
      />
    </fieldset>
  )
}

type Choice = readonly [value: string, label: string]

function OperationOptions({ chosen }: { chosen: string }) {
  const { words } = useDesk()
  const text = words.bulk
  const choice = (op: keyof typeof text.operations, field: EditedField): Choice => [
    `${op} ${field}`,
    `${text.operations[op]}: ${words.talkFields[field]}`,
  ]
  const isList = (field: EditedField) => field === 'speakers' || field === 'tags'
  const lists = fieldsOfOperation.add
  const groups: readonly (readonly [label: string, choices: readonly Choice[]])[] = [
    [
      text.groups.set,
      [
        ...setOrder.map((field) => choice('set', field)),
        ['set state 1', text.makeLive],
        ['set state 2', text.makeDraft],
      ],
    ],
    [
      text.groups.names,
      lists.flatMap((field) =>
        (['add', 'remove', 'replace'] as const).map((op) => choice(op, field)),
      ),
    ],
    [
      text.groups.replace,
      fieldsOfOperation.replace
        .filter((field) => !isList(field))
        .map((field) => choice('replace', field)),
    ],
    [text.groups.clear, clearableFields.map((field) => choice('clear', field))],
  ]
  return (
    <>
      {groups.map(([label, choices]) => (
        <optgroup key={label} label={label}>
          {choices.map(([value, name]) => (
            <option key={value} value={value} selected={value === chosen}>
              {name}
            </option>
          ))}
        </optgroup>
      ))}
    </>
  )
}

const clearableFields = ['copyright_text', 'recorded', 'quality_notes', 'whiteboard'] as const
const setOrder = [
  'copyright_text',
  'category',
  'language',
  'recorded',
  'quality_notes',
  'whiteboard',
] as const satisfies readonly (typeof fieldsOfOperation)['set'][number][]

/**
 * Parses an operation of the form: `set state 1`, `clear recorded`, `add tags`. Returns undefined
 * if it is none. The contract decides whether it is valid.
 */
export function parseOperation(
  choice: string,
  value: string,
  replacement: string,
): Readonly<Record<keyof EditOperation, unknown>> | undefined {
  const [op, field, state] = choice.split(' ')
  if (!op || !field) return undefined
  if (op === 'clear') {
    const empty = field === 'recorded' ? null : ''
    return { op: 'set', field, value: empty, with: undefined }
  }
  if (state !== undefined) return { op, field, value: Number(state), with: undefined }
  return { op, field, value, with: op === 'replace' ? replacement : undefined }
}
