import {
  type EditOperation,
  type FieldError,
  fieldsOfOperation,
  type Video,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import { type NameLookup, type NamesToLookUp, normalizeName } from '../../entities/entities.ts'
import { normalizeVideoInput } from '../../videos/videos.ts'
import { quote } from '../quote.ts'

// The operations of a bulk edit: which ones are valid, and what they change in a record. No I/O.

type ListField = 'speakers' | 'tags'
const isList = (field: string): field is ListField => field === 'speakers' || field === 'tags'
const kinds = { category: 'category', language: 'language', speakers: 'speaker', tags: 'tag' }
type NameField = keyof typeof kinds
const hasNames = (field: string): field is NameField => field in kinds
const kindOf = (field: NameField) => kinds[field] as keyof NamesToLookUp

/** Trims and normalises the names in operations, as those of a record. */
export function normalizeOperation(operation: EditOperation): EditOperation {
  const { field, value, with: replacement } = operation
  if (!hasNames(field)) return operation
  return {
    ...operation,
    value: typeof value === 'string' ? normalizeName(value) : value,
    ...(replacement !== undefined && { with: normalizeName(replacement) }),
  }
}

/** Returns what is wrong with an operation, apart from names that do not exist. */
export function operationErrors(operation: EditOperation, index: number): FieldError[] {
  const { op, field, value, with: replacement } = operation
  const at = (part: string) => `/operations/${index}/${part}`
  const fields: readonly string[] = fieldsOfOperation[op]
  if (!fields.includes(field)) {
    const detail = `cannot be changed with ${op}; the fields are ${fields.join(', ')}`
    return [{ pointer: at('field'), code: 'not-a-choice', detail }]
  }
  const errors: FieldError[] = []
  if (op === 'replace') {
    if (typeof value !== 'string' || value === '')
      errors.push({ pointer: at('value'), code: 'too-short', detail: 'must be a text to replace' })
    if (replacement === undefined)
      errors.push({ pointer: at('with'), code: 'required', detail: 'is required' })
    else if (isList(field)) errors.push(...valueErrors(field, [replacement], at('with')))
  } else {
    if (replacement !== undefined)
      errors.push({
        pointer: at('with'),
        code: 'unknown-field',
        detail: 'is only allowed with replace',
      })
    errors.push(...valueErrors(field, isList(field) ? [value] : value, at('value')))
  }
  return errors
}

function valueErrors(field: string, value: unknown, pointer: string): FieldError[] {
  const [error] = validationErrors(VideoPatch, { [field]: value })
  return error ? [{ ...error, pointer }] : []
}

/** Collects the names in operations, each once. */
export function namesOfOperations(operations: readonly EditOperation[]): NamesToLookUp {
  const names = {
    category: new Set<string>(),
    language: new Set<string>(),
    speaker: new Set<string>(),
    tag: new Set<string>(),
  }
  for (const { field, value, with: replacement } of operations)
    if (hasNames(field))
      for (const name of [value, replacement])
        if (typeof name === 'string') names[kindOf(field)].add(name)
  return {
    category: [...names.category],
    language: [...names.language],
    speaker: [...names.speaker],
    tag: [...names.tag],
  }
}

/** Replaces the names in operations by those that their entities have today. */
export function withCurrentOperationNames(
  operations: readonly EditOperation[],
  lookup: NameLookup,
): EditOperation[] {
  return operations.map((operation) => {
    const { field, value, with: replacement } = operation
    if (!hasNames(field)) return operation
    const current = (name: string) => lookup[kindOf(field)].get(name)?.name ?? name
    return {
      ...operation,
      value: typeof value === 'string' ? current(value) : value,
      ...(replacement !== undefined && { with: current(replacement) }),
    }
  })
}

export interface OperationResult {
  /** The fields that change, with their new values. */
  readonly patch: Partial<Video>
  /** Why the record can't have these values. */
  readonly reasons: readonly string[]
}

/** The longest text of a record has 100,000 characters. */
const maxResultLength = 100_000

/** Applies operations to a record, in their order. */
export function applyOperations(
  record: Video,
  operations: readonly EditOperation[],
): OperationResult {
  const edited: Record<string, unknown> = { ...record }
  for (const operation of operations) {
    const { field } = operation
    const value = applyOperation(edited[field], operation)
    if (value === undefined)
      return { patch: {}, reasons: [`${field} would be longer than ${maxResultLength} characters`] }
    edited[field] = value
  }
  const normalized = normalizeVideoInput(edited)
  const fields = [...new Set(operations.map(({ field }) => field))]
  const changed = fields.filter((field) => !isSame(record[field], normalized[field]))
  const patch = Object.fromEntries(changed.map((field) => [field, normalized[field]]))
  const reasons = validationErrors(VideoPatch, patch).map(({ pointer, detail }) => {
    const [, field = ''] = pointer.split('/')
    const value = patch[field]
    return `${field} ${detail}${typeof value === 'string' ? `: ${quote(value)}` : ''}`
  })
  return { patch, reasons }
}

/** Returns the new value of a field. Undefined if it would be too long. */
function applyOperation(before: unknown, operation: EditOperation): unknown {
  const { op, value } = operation
  switch (op) {
    case 'set':
      return value
    case 'add':
      return [...new Set([...(before as string[]), value as string])]
    case 'remove':
      return (before as string[]).filter((name) => name !== value)
    case 'replace':
      return replaceIn(before, value as string, operation.with ?? '')
  }
}

function replaceIn(before: unknown, text: string, replacement: string): unknown {
  if (Array.isArray(before))
    return [...new Set(before.map((name) => (name === text ? replacement : name)))]
  // A URL that is not set is null.
  if (typeof before !== 'string') return before
  const parts = before.split(text)
  const length = before.length + (parts.length - 1) * (replacement.length - text.length)
  return length > maxResultLength ? undefined : parts.join(replacement)
}

/** Returns whether two values of a field are the same. */
export const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
