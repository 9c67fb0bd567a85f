import { type ImportAdditions, type WarningCode, warningCodes } from '@talkshelf/contract'
import { lookUpNames } from '../../entities/entities.ts'
import type { Db } from '../../platform/db/db.ts'
import type { ImportWarning } from '../item.ts'
import { namesOfItems, type PlannedItem, writtenFields } from './decide.ts'
import { findSimilarSpeakers, type PlanSummary } from './queries.ts'
import { similarNameWarning, warningsAbout } from './warnings.ts'

// Reviews a plan while it is made: adds warnings to its talks, and collects the names that applying
// it creates.

/** Further names of a file are not counted, which bounds the memory. */
const maxNamesCounted = 100_000
/** The names that are stored with an import, of each kind. */
const maxNamesListed = 200

export interface PlanReview {
  /** Adds warnings to planned talks. Call it with all talks of the file, batch by batch. */
  addWarnings(db: Db, planned: readonly PlannedItem[]): Promise<PlannedItem[]>
  summary(): PlanSummary
}

type AddedKind = 'category' | 'speaker' | 'tag'

/** Opens the review of one plan. */
export function openPlanReview(now: Date): PlanReview {
  const added: Record<AddedKind, Set<string>> = {
    category: new Set(),
    speaker: new Set(),
    tag: new Set(),
  }
  const counts = new Map<WarningCode, number>()
  let ignoredCells = 0
  const similarNames = openSimilarNames()

  return {
    async addWarnings(db, planned) {
      const names = namesOfItems(planned.flatMap(writtenFields))
      const lookup = await lookUpNames(db, names)
      const missing = (kind: AddedKind) => names[kind].filter((name) => !lookup[kind].has(name))
      for (const kind of Object.keys(added) as AddedKind[])
        for (const name of missing(kind))
          if (added[kind].size < maxNamesCounted) added[kind].add(name)
      await similarNames.compare(db, missing('speaker'))
      return planned.map((item) => {
        ignoredCells += item.ignoredCells ?? 0
        const notes = [...item.notes, ...warningsOf(item, similarNames.find, now)]
        for (const note of notes)
          if (note.kind === 'warning') counts.set(note.code, (counts.get(note.code) ?? 0) + 1)
        return { ...item, notes }
      })
    },
    summary: () => ({
      creates: {
        categories: listNames(added.category),
        speakers: listNames(added.speaker),
        tags: listNames(added.tag),
      },
      warnings: Object.fromEntries(
        warningCodes.map((code) => [code, counts.get(code) ?? 0]),
      ) as PlanSummary['warnings'],
      ignoredCells,
    }),
  }
}

function listNames(names: ReadonlySet<string>): ImportAdditions[keyof ImportAdditions] {
  return { count: names.size, names: [...names].slice(0, maxNamesListed) }
}

function warningsOf(
  item: PlannedItem,
  findSimilar: (name: string) => ImportWarning | undefined,
  now: Date,
): ImportWarning[] {
  return writtenFields(item).flatMap((fields) => [
    ...warningsAbout(fields, item.create !== undefined, now),
    ...(fields.speakers ?? []).flatMap((name) => findSimilar(name) ?? []),
  ])
}

/** Compares the new speakers of a file with existing ones and with each other. */
function openSimilarNames() {
  const warnings = new Map<string, ImportWarning>()
  const firstBySpelling = new Map<string, string>()
  return {
    find: (name: string) => warnings.get(name),
    async compare(db: Db, newNames: readonly string[]): Promise<void> {
      for (const { name, spelling, existing } of await findSimilarSpeakers(db, newNames)) {
        const first = firstBySpelling.get(spelling)
        if (first === undefined && firstBySpelling.size < maxNamesCounted)
          firstBySpelling.set(spelling, name)
        if (warnings.size >= maxNamesCounted) continue
        if (existing !== null)
          warnings.set(name, similarNameWarning(name, existing, 'the archive has'))
        else if (first !== undefined && first !== name)
          warnings.set(name, similarNameWarning(name, first, 'the file also has'))
      }
    },
  }
}
