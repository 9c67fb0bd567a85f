import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { formatRules, patternRules } from './formats.ts'
import { type FieldError, invalidFields } from './problems.ts'

// A response lists all invalid fields, and a record can have some hundred errors.
Settings.Set({ maxErrors: 1000 })

const validators = new WeakMap<TSchema, Validator>()

/** Returns the validator of a schema, compiled on first use. */
export function validatorFor(schema: TSchema): Validator {
  let validator = validators.get(schema)
  if (!validator) {
    validator = Compile(schema)
    validators.set(schema, validator)
  }
  return validator
}

/**
 * Returns the errors of a value, at most one per pointer. The messages never repeat the value
 * itself.
 */
export function validationErrors(schema: TSchema, value: unknown): FieldError[] {
  const validator = validatorFor(schema)
  const errors = new Map(unstorable(value, '').map((error) => [error.pointer, error]))
  if (validator.Check(value)) return [...errors.values()]
  for (const { keyword, instancePath, params } of validator.Errors(value)) {
    if (keyword === 'required')
      for (const name of params.requiredProperties) {
        const pointer = `${instancePath}/${pointerPart(name)}`
        errors.set(pointer, missing(pointer))
      }
    else if (keyword === 'additionalProperties')
      for (const name of params.additionalProperties) {
        const pointer = `${instancePath}/${pointerPart(name)}`
        errors.set(pointer, unknown(pointer))
      }
    else if (keyword in codes && !errors.has(instancePath)) {
      const shape = schemaAt(schema, instancePath)
      // For a nullable value the null branch always fails first; its error is of no use.
      if (keyword === 'type' && 'type' in params && params.type === 'null' && shape.anyOf) continue
      const formatRule =
        keyword === 'format' && 'format' in params ? formatRules[String(params.format)] : undefined
      const patternRule = keyword === 'pattern' ? patternRules.get(shape.pattern ?? '') : undefined
      errors.set(instancePath, {
        pointer: instancePath,
        code: codes[keyword] ?? keyword,
        detail: formatRule ?? patternRule ?? rule(shape),
      })
    }
  }
  // A truncated list of errors may contain only keywords without a message here.
  if (errors.size === 0)
    errors.set('', { pointer: '', code: 'invalid', detail: 'is not valid for this endpoint' })
  return [...errors.values()]
}

/** Returns the value, typed by the schema. Throws a problem that lists all invalid fields. */
export function validate<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const errors = validationErrors(schema, value)
  if (errors.length > 0) throw invalidFields(errors)
  return value as Static<T>
}

// Also checks ignored fields: PostgreSQL cannot store NUL, and a lone surrogate is not a character.
function unstorable(value: unknown, pointer: string): FieldError[] {
  const isUnstorable = (text: string) => !text.isWellFormed() || text.includes('\0')
  if (typeof value === 'string')
    return isUnstorable(value) ? [{ pointer, code: 'format', detail: formatRules.text ?? '' }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => {
    const partPointer = `${pointer}/${pointerPart(key)}`
    return isUnstorable(key)
      ? [{ pointer: partPointer, code: 'format', detail: formatRules.text ?? '' }]
      : unstorable(part, partPointer)
  })
}

const codes: Record<string, string> = {
  type: 'type',
  const: 'not-a-choice',
  enum: 'not-a-choice',
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
  // A lone surrogate could not be encoded in the response.
  return name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')
}

// The JSON Schema keywords used below. The types of TypeBox are separate for each kind of schema.
interface Shape {
  type?: string
  pattern?: string
  const?: unknown
  enum?: unknown[]
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

/** Returns the rule as a message: "must be a whole number from 0 to 10, or null". */
function rule(shape: Shape): string {
  return `must be ${expected(shape)}`
}

const itemNames: Record<string, string> = { integer: 'whole numbers', object: 'objects' }

function expected(shape: Shape): string {
  if (shape.anyOf) {
    const isChoice = shape.anyOf.every((branch) => branch.const !== undefined)
    return shape.anyOf.map(expected).join(isChoice ? ' or ' : ', or ')
  }
  if (shape.enum) return shape.enum.join(' or ')
  if (shape.const !== undefined) return String(shape.const)
  switch (shape.type) {
    case 'integer':
      return `a whole number from ${shape.minimum} to ${shape.maximum}`
    case 'string':
      return shape.maxLength
        ? `a string of ${shape.minLength ?? 0} to ${shape.maxLength} characters`
        : 'a string'
    case 'array':
      return expectedList(shape)
    case 'boolean':
      return 'true or false'
    case 'object':
      return 'an object'
    default:
      return shape.type ?? 'a value'
  }
}

function expectedList({ minItems, maxItems, items }: Shape): string {
  const size = minItems ? `${minItems} to ${maxItems}` : `at most ${maxItems}`
  return `a list of ${size} ${itemNames[items?.type ?? ''] ?? 'strings'}`
}
