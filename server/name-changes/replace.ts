import { randomBytes } from 'node:crypto'
import { createReplacer, type NameReplacer, nameKey, nameWords } from '../entities/entities.ts'
import type { FoundRow, NameChange, ReplacedName } from './queries.ts'
import { isSetting, type SearchedTable, tableRules, technicalKeys } from './tables.ts'

// What a name change makes of the row of a table. No I/O.

export interface ColumnChange {
  readonly column: string
  readonly before: unknown
  readonly after: unknown
}

/** Creates the replacement of the names of a change. */
export function replacerFor(
  { names, in_links: inLinks }: Pick<NameChange, 'names' | 'in_links'>,
  ownUrl: string,
): NameReplacer {
  const pairs = names ?? []
  const replacements = new Map<string, string | null>(
    pairs.map((name) => [nameKey(name.old), name.new]),
  )
  for (const name of pairs) replacements.set(nameKey(name.new), null)
  const find = (key: string) => replacements.get(key)
  return createReplacer({
    find,
    // In lists of names, a longer name is that of another person.
    findWhole: find,
    wordCounts: [...replacements.keys()].map((key) => key.split(' ').length),
    inLinks,
    ownUrl,
  })
}

/** Returns the words of each old name, for a first search. */
export function searchedWords(names: readonly ReplacedName[]): string[][] {
  return names.map(({ old }) => nameWords(old))
}

/** The fields of subjects that an editor wants to keep. */
export type KeptFields = ReadonlyMap<string, ReadonlySet<string>>

/** Returns the columns of a row that change. */
export function changesOf(
  table: SearchedTable,
  { data, subject }: Pick<FoundRow, 'data' | 'subject'>,
  replacer: NameReplacer,
  keptFields: KeptFields,
): ColumnChange[] {
  const { forms = [], labels = [], maxLengths = {}, others = {} } = tableRules[table.name] ?? {}
  const kept = keptFields.get(subject ?? '') ?? new Set()
  const names = [...table.columns.map(({ name }) => name), ...Object.keys(others)]
  // The slug of an entity belongs to its name.
  const isEntity = ['speaker', 'tag', 'category'].includes(table.name)
  const hasKeptName = isEntity && (kept.has('name') || kept.has('title'))
  return names.flatMap((name) => {
    const before = data[name]
    if (kept.has(name) || isSetting(table.name, name)) return []
    if (name === 'slug' && hasKeptName) return []
    const after = replaceColumn(name, before)
    const maxLength = maxLengths[name]
    const isTooLong = typeof after === 'string' && maxLength && after.length > maxLength
    return after === before
      ? []
      : [{ column: name, before, after: isTooLong ? after.slice(0, maxLength) : after }]
  })

  function replaceColumn(name: string, before: unknown): unknown {
    if (typeof before === 'string' && forms.includes(name)) return replaceInForm(before, replacer)
    if (typeof before === 'string' && labels.includes(name)) return replacer.label(before)
    // The name of the column decides about slugs and keys, as that of a key of JSON does.
    const keptKeys = new Set([...technicalKeys, ...kept])
    keptKeys.delete(name)
    return replacer.value({ [name]: before }, keptKeys)[name]
  }
}

/** Returns the columns of accounts and settings that have one of the names. They stay. */
export function settingsWithName(
  table: SearchedTable,
  { data }: Pick<FoundRow, 'data'>,
  linkReplacer: NameReplacer,
): string[] {
  const inLabels = (value: unknown): boolean => {
    if (typeof value === 'string') return linkReplacer.label(value) !== value
    return typeof value === 'object' && value !== null && Object.values(value).some(inLabels)
  }
  return table.columns
    .map(({ name }) => name)
    .filter((name) => isSetting(table.name, name) && inLabels(data[name]))
}

function replaceInForm(form: string, replacer: NameReplacer): string {
  const fields = [...new URLSearchParams(form)]
  const replaced = fields.map(([name, value]): [string, string] => [name, replacer.text(value)])
  const isChanged = replaced.some(([, value], index) => value !== fields[index]?.[1])
  return isChanged ? new URLSearchParams(replaced).toString() : form
}

/** Makes a slug different from all others. A random suffix tells no former name. */
export function withSuffix(change: ColumnChange): ColumnChange {
  const slug = String(change.after).slice(0, 200)
  return { ...change, after: `${slug}-${randomBytes(4).toString('hex')}` }
}

/** How much of a text an excerpt shows before and after the first difference. */
const [excerptBefore, excerptLength] = [40, 140]

/** Returns the part of two values with the first difference. */
export function excerptsOf({ before, after }: ColumnChange): { before: string; after: string } {
  const [old, current] = [textOf(before), textOf(after)]
  let start = 0
  while (start < old.length && old[start] === current[start]) start++
  const from = Math.max(0, start - excerptBefore)
  const excerpt = (text: string) => {
    const cut = text.slice(from, from + excerptLength).toWellFormed()
    return `${from > 0 ? '…' : ''}${cut}${text.length > from + excerptLength ? '…' : ''}`
  }
  return { before: excerpt(old), after: excerpt(current) }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
