import assert from 'node:assert/strict'

// Reading an OpenAPI document.

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly parameters?: readonly object[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Content = Readonly<
  Record<
    string,
    {
      readonly schema: { readonly $ref?: string }
      readonly example?: unknown
      readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
    }
  >
>

export const httpMethods = ['get', 'put', 'patch', 'post'] as const

export interface Description {
  readonly paths: Readonly<Record<string, Partial<Record<string, Operation>>>>
}

/** Returns the operations of a document, and a function that follows its references. */
export function descriptionTools(description: Description) {
  return {
    operations: Object.values(description.paths).flatMap((item) =>
      httpMethods.flatMap((method) => item[method] ?? []),
    ),
    /** Returns what a reference refers to; other objects unchanged. */
    resolve<T>(value: T): T {
      const { $ref } = Object(value) as { $ref?: string }
      if ($ref === undefined) return value
      const keys = $ref.split('/').slice(1)
      // biome-ignore lint/suspicious/noExplicitAny: the value is whatever the reference names
      const target = keys.reduce<any>((object, key) => object?.[key], description)
      return target ?? assert.fail(`${$ref} does not exist`)
    },
  }
}
