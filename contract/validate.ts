import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { formatRules } from './formats.ts'
import { type FieldError, invalidFields } from './problems.ts'

// One answer names every wrong field, and a record can have some hundred of them.
Settings.Set({ maxErrors: 1000 })

const validators = new WeakMap<TSchema, Validator>()

/** A check of values against this schema, compiled on first use and kept. */
export function validatorFor(schema: TSchema): Validator {
  let it = validators.get(schema)
  if (!it) {
    it = Compile(schema)
    validators.set(schema, it)
  }
  return it
}

/**
 * What is wrong with the value: one error a place, none where it is right. The value itself is
 * never repeated.
 */
export function validationErrors(schema: TSchema, value: unknown): FieldError[] {
  const compiled = validatorFor(schema)
  const found = new Map(unstorable(value, '').map((error) => [error.pointer, error]))
  if (compiled.Check(value)) return [...found.values()]
  for (const { keyword, instancePath, params } of compiled.Errors(value)) {
    if (keyword === 'required')
      for (const name of params.requiredProperties)
        found.set(
          `${instancePath}/${pointerPart(name)}`,
          missing(`${instancePath}/${pointerPart(name)}`),
        )
    else if (keyword === 'additionalProperties')
      for (const name of params.additionalProperties)
        found.set(
          `${instancePath}/${pointerPart(name)}`,
          unknown(`${instancePath}/${pointerPart(name)}`),
        )
    else if (keyword in codes && !found.has(instancePath)) {
      const part = schemaAt(schema, instancePath)
      // Of a value that may also be null, the branch for null always fails first and says nothing.
      if (keyword === 'type' && 'type' in params && params.type === 'null' && part.anyOf) continue
      const format =
        keyword === 'format' && 'format' in params ? formatRules[String(params.format)] : undefined
      found.set(instancePath, {
        pointer: instancePath,
        code: codes[keyword] ?? keyword,
        detail: format ?? rule(part),
      })
    }
  }
  // A list of errors that is cut short may hold nothing that we have words for; the value is wrong
  // all the same.
  if (found.size === 0)
    found.set('', { pointer: '', code: 'invalid', detail: 'is not what this call takes' })
  return [...found.values()]
}

/**
 * The value, now known to be what the schema says; otherwise a problem that names every wrong
 * field.
 */
export function validate<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const errors = validationErrors(schema, value)
  if (errors.length > 0) throw invalidFields(errors)
  return value as Static<T>
}

// Also in the fields that are taken and ignored: no database keeps a NUL, and half of a surrogate
// pair is no character.
function unstorable(value: unknown, pointer: string): FieldError[] {
  const isWrong = (text: string) => !text.isWellFormed() || text.includes('\0')
  if (typeof value === 'string')
    return isWrong(value) ? [{ pointer, code: 'format', detail: formatRules.text ?? '' }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => {
    const at = `${pointer}/${pointerPart(key)}`
    return isWrong(key)
      ? [{ pointer: at, code: 'format', detail: formatRules.text ?? '' }]
      : unstorable(part, at)
  })
}

const codes: Record<string, string> = {
  type: 'type',
  const: 'not-a-choice',
  minLength: 'too-short',
  maxLength: 'too-long',
  minItems: 'too-few',
  maxItems: 'too-many',
  minimum: 'out-of-range',
  maximum: 'out-of-range',
  format: 'format',
  pattern: 'format',
}

const missing = (pointer: string): FieldError => ({
  pointer,
  code: 'required',
  detail: 'is required',
})
const unknown = (pointer: string): FieldError => ({
  pointer,
  code: 'unknown-field',
  detail: 'is not a field of this resource',
})

function pointerPart(name: string): string {
  // Half a surrogate pair is no text, and could not be sent on.
  return name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')
}

// The members of JSON Schema that are read below; TypeBox's own types keep each kind apart.
interface Shape {
  type?: string
  const?: unknown
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

function schemaAt(schema: TSchema, pointer: string): Shape {
  let shape: Shape = schema as Shape
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    shape = shape.properties?.[name] ?? shape.items ?? shape
  }
  return shape
}

/** What would be right here, as a sentence: "must be a whole number from 0 to 10, or null". */
function rule(shape: Shape): string {
  return `must be ${wanted(shape)}`
}

const items: Record<string, string> = { integer: 'whole numbers', object: 'objects' }

function wanted(shape: Shape): string {
  if (shape.anyOf)
    return shape.anyOf
      .map(wanted)
      .join(shape.anyOf.every((one) => one.const !== undefined) ? ' or ' : ', or ')
  if (shape.const !== undefined) return String(shape.const)
  switch (shape.type) {
    case 'integer':
      return `a whole number from ${shape.minimum} to ${shape.maximum}`
    case 'string':
      return shape.maxLength
        ? `a string of ${shape.minLength ?? 0} to ${shape.maxLength} characters`
        : 'a string'
    case 'array':
      return `a list of ${shape.minItems ? `${shape.minItems} to` : 'at most'} ${shape.maxItems} ${items[shape.items?.type ?? ''] ?? 'strings'}`
    case 'boolean':
      return 'true or false'
    case 'object':
      return 'an object'
    default:
      return shape.type ?? 'a value'
  }
}
