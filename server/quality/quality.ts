// Entry point of data quality: lists the findings of each rule in the data of other features, fixes
// those whose right value is certain (fixes.ts, apply-fixes.ts), and removes fingerprints that no
// record has any more (unused-fingerprints.ts). single-operator.ts finds talks with one copy.

import {
  type listFindingsEndpoint,
  Problem,
  type QualityFinding,
  type QualityRule,
  type QueryOf,
} from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import {
  buildPage,
  type ListPage,
  maxExactCount,
  pagePosition,
} from '../platform/http/pagination.ts'
import {
  countFindings,
  estimateRecords,
  type FindingRow,
  type FindingSlice,
  findDuplicates,
  findRecords,
  findReplacements,
  findSources,
  findSpellings,
} from './queries.ts'
import type { Rule } from './rule.ts'
import { rules } from './rules.ts'
import { countSingleOperator, findSingleOperator } from './single-operator.ts'

export { applyFix, type CertainFix, findFixes } from './apply-fixes.ts'
export { removeUnusedFingerprints } from './unused-fingerprints.ts'

type FindingCount = Pick<ListPage, 'count' | 'isExact'>

/**
 * Reads all rules with their number of findings. Counts sequentially, because all lists share a few
 * connections.
 */
export async function readRules(db: Db): Promise<Omit<QualityRule, 'records'>[]> {
  const results: Omit<QualityRule, 'records'>[] = []
  for (const rule of rules) results.push(describeRule(rule, await countOrEstimate(db, rule)))
  return results
}

/** Describes a rule, with the number of its findings. Throws 404 if there is no such rule. */
export function readRule(name: string, counted: FindingCount): Omit<QualityRule, 'records'> {
  return describeRule(ruleNamed(name), counted)
}

function describeRule({ rule, title, advice }: Rule, { count, isExact }: FindingCount) {
  return { rule, title, advice, count, ...(!isExact && { count_exact: false as const }) }
}

/** Returns whether there is a rule of this name. */
export function isRule(name: string): boolean {
  return rules.some(({ rule }) => rule === name)
}

function ruleNamed(name: string): Rule {
  const rule = rules.find(({ rule }) => rule === name)
  if (!rule) throw new Problem('not-found', 'This rule does not exist')
  return rule
}

/** Reads a page of the findings of a rule. Throws 404 if there is no such rule. */
export async function readFindings(
  db: Db,
  name: string,
  query: QueryOf<typeof listFindingsEndpoint>,
  recordUrl: (id: number) => string,
): Promise<ListPage<QualityFinding>> {
  const rule = ruleNamed(name)
  // The cursor has one key: a record id, a fingerprint or a spelling.
  const keyField = rule.finds === 'spellings' ? 'title' : 'id'
  const position = pagePosition(query, name, [{ field: keyField }], 20)
  const slice = {
    way: position.way,
    after: position.after?.[0],
    offset: position.offset,
    limit: position.size + 1,
  }
  const [rows, total] = await Promise.all([
    findFindings(db, rule, slice),
    countOrEstimate(db, rule),
  ])
  return buildPage(position, rows, total, ({ value, count, records, names }) => ({
    value,
    count,
    records: records.map((record) => ({ ...record, address: recordUrl(record.id) })),
    names,
  }))
}

/**
 * Finds the records before and after one in the findings of a rule. That record may no longer be
 * among them. Rules about groups of records or about names have no such order.
 */
export async function findAdjacentFindings(
  db: Db,
  name: string,
  id: number,
): Promise<{ readonly previous: number | undefined; readonly next: number | undefined }> {
  const rule = ruleNamed(name)
  const find = async (way: FindingSlice['way']) => {
    const slice = { way, after: String(id), offset: 0, limit: 1 }
    if (rule.finds === 'records') return (await findRecords(db, rule, slice))[0]?.records[0]?.id
    if (rule.finds !== 'single-operator') return undefined
    return (await findSingleOperator(db, slice))[0]?.records[0]?.id
  }
  return { previous: await find('previous'), next: await find('next') }
}

function findFindings(db: Db, rule: Rule, slice: FindingSlice): Promise<FindingRow[]> {
  if (rule.finds === 'records') return findRecords(db, rule, slice)
  if (rule.finds === 'same') return findDuplicates(db, rule, slice)
  if (rule.finds === 'sources') return findSources(db, rule, slice)
  if (rule.finds === 'single-operator') return findSingleOperator(db, slice)
  if (rule.finds === 'replacements') return findReplacements(db, slice)
  return findSpellings(db, rule, slice)
}

async function countOrEstimate(db: Db, rule: Rule): Promise<FindingCount> {
  if (rule.finds === 'single-operator') return countSingleOperator(db, maxExactCount)
  const count = await countFindings(db, rule, maxExactCount + 1)
  if (count <= maxExactCount) return { count, isExact: true }
  // PostgreSQL has no usable estimate of the number of groups.
  const estimate = rule.finds === 'records' ? await estimateRecords(db, rule) : 0
  return { count: Math.max(estimate, count), isExact: false }
}
