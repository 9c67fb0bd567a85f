import { type AtRiskReport, maxAtRiskRows } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import {
  countLosses,
  countRiskGroups,
  countSourceTotals,
  findCategories,
  type RiskGroup,
} from './queries.ts'

// Computes which talks are at risk: those that one operator has, or none that can be reached.

/** Talks or sources that one statement counts: far from the statement timeout. */
const defaultBatchSize = 50_000
const months = 24
/** Talks of more operators are counted together. */
const manyOperators = 4

interface EventRisk {
  talks: number
  single: number
  unavailable: number
}

interface OperatorRisk {
  talks: number
  only: number
  unavailable: number
}

/** Reads the report. Takes a walk over all live talks: its result is cached. */
export async function readAtRisk(db: Db, batchSize = defaultBatchSize): Promise<AtRiskReport> {
  const byOperators = Array.from({ length: manyOperators + 1 }, () => 0)
  const operators = new Map<string, OperatorRisk>()
  const events = new Map<number, EventRisk>()
  const totals = { talks: 0, unavailable: 0 }

  for await (const group of riskGroups(db, batchSize)) {
    const { category_id: event, available, unavailable, talks } = group
    const isLost = available.length === 0 && unavailable.length > 0
    totals.talks += talks
    if (isLost) totals.unavailable += talks
    const slot = Math.min(available.length, manyOperators)
    byOperators[slot] = (byOperators[slot] ?? 0) + talks
    const risk = getOrAdd(events, event, () => ({ talks: 0, single: 0, unavailable: 0 }))
    risk.talks += talks
    if (available.length <= 1) risk.single += talks
    if (isLost) risk.unavailable += talks
    for (const operator of new Set([...available, ...unavailable])) {
      const own = getOrAdd(operators, operator, () => ({ talks: 0, only: 0, unavailable: 0 }))
      own.talks += talks
      if (available.length === 1 && available[0] === operator) own.only += talks
      if (!available.includes(operator)) own.unavailable += talks
    }
  }

  const losses = await countLosses(db, months)
  return {
    ...totals,
    ...(await countAllSources(db, batchSize)),
    by_operators: byOperators.map((talks, count) => ({ operators: count, talks })),
    hosts: [...operators]
      .map(([operator, risk]) => ({ operator, ...risk }))
      .sort((a, b) => b.only - a.only || b.talks - a.talks || (a.operator < b.operator ? -1 : 1))
      .slice(0, maxAtRiskRows),
    events: await mostAtRisk(db, events),
    losses: losses.toReversed(),
  }
}

async function* riskGroups(db: Db, batchSize: number): AsyncGenerator<RiskGroup> {
  let after = 0
  for (let scanned = batchSize; scanned === batchSize; ) {
    scanned = 0
    const groups = await countRiskGroups(db, after, batchSize)
    for (const group of groups) {
      scanned += group.talks
      after = Math.max(after, group.last_id)
      yield group
    }
  }
}

async function countAllSources(
  db: Db,
  batchSize: number,
): Promise<Pick<AtRiskReport, 'sources' | 'checked'>> {
  const totals = { sources: 0, checked: 0 }
  let after = 0
  for (let scanned = batchSize; scanned === batchSize; ) {
    const batch = await countSourceTotals(db, after, batchSize)
    totals.sources += batch.sources
    totals.checked += batch.checked
    after = batch.last_id ?? after
    scanned = batch.scanned
  }
  return totals
}

async function mostAtRisk(
  db: Db,
  events: ReadonlyMap<number, EventRisk>,
): Promise<AtRiskReport['events']> {
  const listed = [...events]
    .filter(([, { single, unavailable }]) => single + unavailable > 0)
    .sort(([idA, a], [idB, b]) => b.unavailable - a.unavailable || b.single - a.single || idA - idB)
    .slice(0, maxAtRiskRows)
  return withCategories(db, listed)
}

/** Adds the categories, as they are now, to risks by their ids. */
export async function withCategories(
  db: Db,
  risks: readonly (readonly [number, EventRisk])[],
): Promise<AtRiskReport['events']> {
  const categories = await findCategories(
    db,
    risks.map(([id]) => id),
  )
  const byId = new Map(categories.map((category) => [category.id, category]))
  return risks.flatMap(([id, risk]) => {
    const category = byId.get(id)
    return category ? [{ category, ...risk }] : []
  })
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const created = create()
  map.set(key, created)
  return created
}
