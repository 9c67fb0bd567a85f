// The front door. What could be better, by rule: reads what other features write, and removes keys
// that no record has any more (unused-keys.ts).

import {
  type listFindingsEndpoint,
  Problem,
  type QualityFinding,
  type QualityRule,
  type QueryOf,
} from '@talkshelf/contract'
import { buildPage, type ListPage, maxExactCount, pagePosition } from '../catalogue/catalogue.ts'
import type { Db } from '../platform/db/db.ts'
import { toJson } from '../platform/http/json.ts'
import {
  countFindings,
  estimateRecords,
  findDuplicates,
  findRecords,
  findSpellings,
} from './queries.ts'
import type { Rule } from './rule.ts'
import { rules } from './rules.ts'

export { removeUnusedFingerprints } from './unused-fingerprints.ts'

type Counted = Pick<ListPage, 'count' | 'isExact'>

/** One after the other: the lists of all readers share the same few connections. */
export async function readRules(db: Db): Promise<Omit<QualityRule, 'records'>[]> {
  const read: Omit<QualityRule, 'records'>[] = []
  for (const it of rules) {
    const { count: counted, isExact } = await count(db, it)
    read.push({
      rule: it.rule,
      title: it.title,
      advice: it.advice,
      count: counted,
      ...(!isExact && { count_exact: false }),
    })
  }
  return read
}

/** `addressOf` a record, by its id. */
export async function readFindings(
  db: Db,
  name: string,
  asked: QueryOf<typeof listFindingsEndpoint>,
  addressOf: (id: number) => string,
): Promise<ListPage> {
  const rule = rules.find(({ rule }) => rule === name)
  if (!rule) throw new Problem('not-found', 'There is no such rule')
  // A place is one key: an id, a number that is the same for several records, or a spelling.
  const place = pagePosition(
    asked,
    name,
    [{ field: rule.finds === 'spellings' ? 'title' : 'id' }],
    20,
  )
  const slice = {
    way: place.way,
    after: place.after?.[0],
    offset: place.offset,
    limit: place.size + 1,
  }
  const [rows, counted] = await Promise.all([find(db, rule, slice), count(db, rule)])
  return buildPage(place, rows, counted, ({ value, count, records, names }) =>
    toJson({
      value,
      count,
      records: records.map((it) => ({ ...it, address: addressOf(it.id) })),
      names,
    } satisfies QualityFinding),
  )
}

function find(db: Db, rule: Rule, slice: Parameters<typeof findRecords>[2]) {
  if (rule.finds === 'records') return findRecords(db, rule, slice)
  return rule.finds === 'same' ? findDuplicates(db, rule, slice) : findSpellings(db, rule, slice)
}

async function count(db: Db, rule: Rule): Promise<Counted> {
  const counted = await countFindings(db, rule, maxExactCount + 1)
  if (counted <= maxExactCount) return { count: counted, isExact: true }
  // How many groups there are, PostgreSQL has no idea of.
  const expected = rule.finds === 'records' ? await estimateRecords(db, rule) : 0
  return { count: Math.max(expected, counted), isExact: false }
}
