// The differences between an imported and an exported talk that are intended, and why. Any other
// difference is a bug.

export interface Difference {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

interface Kind {
  readonly name: string
  readonly why: string
  is(difference: Difference): boolean
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(text) : [])
const normalize = (name: string) => name.normalize('NFC').trim()

export const comparedKinds: readonly Kind[] = [
  {
    name: 'white space around a title',
    why: 'The API trims titles',
    is: ({ field, before, after }) =>
      field === 'title' && before !== after && text(before).trim() === after,
  },
  {
    name: 'names that are normalized (NFC), trimmed or deduplicated',
    why: 'Spellings of the same name are one speaker or one tag',
    is: ({ field, before, after }) =>
      (field === 'speakers' || field === 'tags') &&
      JSON.stringify([...new Set(list(before).map(normalize))].filter((name) => name !== '')) ===
        JSON.stringify(after),
  },
]

/** Returns the kind of a difference; undefined if it is not intended. */
export function kindOf(difference: Difference): Kind | undefined {
  return comparedKinds.find((kind) => kind.is(difference))
}

/** Compares two talks field by field, ignoring the order of keys. */
export function recordDifferences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Difference[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...fields].flatMap((field) =>
    canonical(before[field]) === canonical(after[field])
      ? []
      : [{ field, before: before[field], after: after[field] }],
  )
}

function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
