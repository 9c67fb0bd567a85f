import type { Fact } from '@talkshelf/contract'
import type { NameReplacer } from '../../entities/entities.ts'
import { canonicalJson } from '../../platform/http/json.ts'
import { normalizeVideoInput } from '../../videos/videos.ts'
import { findColumn } from '../formats/csv-columns.ts'
import type { ImportItem, ItemFields, ParsedItem } from '../item.ts'

// Former names of speakers in imported files. No I/O.

const note = {
  kind: 'repaired',
  field: '',
  detail: 'had a former name of a speaker, which was replaced by the new one',
} as const

/** The sources of a joined talk are replaced by themselves: their keys were chosen before. */
const replacedSeparately: ReadonlySet<string> = new Set(['cells', 'joined'])

/** Replaces former names in all texts of an item. Returns the same item if it has none. */
export function replaceInItem(names: NameReplacer, parsed: ParsedItem): ParsedItem {
  const replaced = names.value(parsed, replacedSeparately)
  if (!('fields' in parsed) || !('fields' in replaced)) return replaced
  const cells = parsed.cells?.map((row) => replaceInCell(names, row))
  const { joined } = parsed
  const own = joined && names.value(joined.own)
  const others = joined?.others.map((other) => ({
    ...other,
    fields: names.value(other.fields),
    facts: names.value(other.facts),
  }))
  const isChanged =
    replaced !== parsed ||
    own !== joined?.own ||
    cells?.some(([, cell], index) => cell !== parsed.cells?.[index]?.[1]) ||
    others?.some(({ fields, facts }, index) => {
      const before = joined?.others[index]
      return fields !== before?.fields || facts !== before?.facts
    })
  if (!isChanged) return parsed
  return { ...replaced, ...(cells && { cells }), ...(own && others && { joined: { own, others } }) }
}

type Cell = NonNullable<ImportItem['cells']>[number]

function replaceInCell(names: NameReplacer, [column, cell]: Cell): Cell {
  const field = findColumn(column)
  if (field !== 'speakers' && field !== 'tags') return [column, names.text(cell)]
  return [column, cell.replaceAll(/[^;]+/g, (part) => replacePart(names, part))]
}

/** Replaces a name between two separators, without the white space around it. */
function replacePart(names: NameReplacer, part: string): string {
  const text = part.trim()
  return text === '' ? part : part.replace(text, () => names.name(text))
}

/**
 * Returns the keys under which a source may have a talk: first as its file has it, last without
 * former names.
 */
export function keyCandidates(asRead: string, replaced: string, names: NameReplacer): string[] {
  return [...new Set([asRead, names.label(asRead), replaced, names.label(replaced)])]
}

/** Chooses the key that the source has already. A new talk gets the one without former names. */
export function chooseKey(candidates: readonly string[], known: ReadonlySet<string>): string {
  return candidates.find((key) => known.has(key)) ?? (candidates.at(-1) as string)
}

/** What is stored about a talk. */
export interface StoredTexts {
  /** The fields of its record. */
  readonly record: Readonly<Record<string, unknown>> | undefined
  readonly facts: readonly Fact[]
  /** The fields that its source had at the last import. */
  readonly base: Readonly<Record<string, unknown>> | undefined
}

/**
 * Takes back the replacement of texts that are stored as they were read: an editor has kept them,
 * because they are about another person.
 */
export function keepStoredTexts(
  asRead: ImportItem,
  replaced: ImportItem,
  { record, facts, base }: StoredTexts,
): ImportItem {
  const storedFacts = new Set(facts.map(canonicalJson))
  const keep = (before: Content, after: Content): Content => {
    const normalized = normalizeVideoInput(before.fields) as Record<string, unknown>
    const isStored = (field: string) =>
      isSame(normalized[field], record?.[field]) || isSame(normalized[field], base?.[field])
    const fields = Object.entries(before.fields).filter(([field]) => isStored(field))
    return {
      fields: { ...after.fields, ...Object.fromEntries(fields) },
      facts: after.facts.map((fact, index) => {
        const own = before.facts[index]
        return own && storedFacts.has(canonicalJson(own)) ? own : fact
      }),
    }
  }
  const { joined } = replaced
  return {
    ...replaced,
    ...keep(asRead, replaced),
    ...(joined &&
      asRead.joined && {
        joined: {
          own: keep(asRead.joined.own, joined.own),
          others: joined.others.map((other, index) => ({
            ...other,
            ...keep(asRead.joined?.others[index] ?? other, other),
          })),
        },
      }),
  }
}

interface Content {
  readonly fields: ItemFields
  readonly facts: readonly Fact[]
}

/** Adds a note to an item whose texts were replaced. */
export function withNote(asRead: ImportItem, item: ImportItem): ImportItem {
  const textsOf = ({ fields, fallback, facts }: ImportItem) => [fields, fallback, facts]
  return isSame(textsOf(asRead), textsOf(item)) ? item : { ...item, notes: [...item.notes, note] }
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
