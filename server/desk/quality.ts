import { Problem, type QualityFinding } from '@talkshelf/contract'
import {
  deskPages,
  deskPaths,
  type FixableFinding,
  findingsQuery,
  type Neighbours,
} from '@talkshelf/web'
import type { Pool } from '../platform/db/pool.ts'
import { type PageRequest, parseId } from '../platform/http/pages.ts'
import {
  applyFix,
  type CertainFix,
  findAdjacentFindings,
  findFixes,
  isRule,
  readFindings,
  readRule,
  readRules,
} from '../quality/quality.ts'
import { type Desk, writeContextOf } from './mount.ts'

// The quality lists, and the form that fixes findings whose right value is certain.

const pageSize = 50
const maxCursorLength = 1000
const access = { role: 'editor' } as const

/** Mounts the quality lists and their form. */
export function qualityPages(
  desk: Desk,
  pool: Pool,
  forget: (ids: readonly number[]) => void,
): void {
  const page = deskPaths.qualityRule(':id')

  desk.page(deskPaths.quality, access, async (request) =>
    desk.render(request, [deskPages.quality, { rules: await readRules(pool.lists) }]),
  )

  desk.page(page, access, async (request) => {
    const { cursor = '' } = request.query
    const name = ruleOf(request)
    const query = { cursor, page_size: pageSize }
    const list = await readFindings(pool.lists, name, query, (id) => deskPaths.talk(id))
    const rule = readRule(name, list)
    const ids = list.entries.flatMap(({ records }) => records[0]?.id ?? [])
    const fixes = await findFixes(pool.lists, name, ids)
    const cursorOf = (params: typeof list.next) =>
      params && 'cursor' in params ? params.cursor : undefined
    return desk.render(request, [
      deskPages.findings,
      {
        rule,
        findings: list.entries.map((finding) => withFix(finding, fixes)),
        cursor,
        previous: cursorOf(list.previous),
        next: cursorOf(list.next),
      },
    ])
  })

  desk.form(deskPaths.fixFindings(':id'), { ...access, page }, async (request) => {
    const rule = ruleOf(request)
    const targets = request.form.getAll('fix').slice(0, pageSize).map(parseTarget)
    let fixed = 0
    for (const { id, etag } of targets) {
      try {
        if (await applyFix(pool, rule, id, etag, writeContextOf(request))) fixed++
      } finally {
        forget([id])
      }
    }
    const query = new URLSearchParams({
      cursor: (request.form.get('cursor') ?? '').slice(0, maxCursorLength),
      done: doneMessage(fixed, targets.length),
    })
    return desk.redirect(request, `${deskPaths.qualityRule(rule)}?${query}`)
  })
}

/**
 * Finds the talks before and after one in a quality list. The list may no longer have that talk,
 * because it was corrected. Undefined if there is no such rule.
 */
export async function findFindingNeighbours(
  pool: Pool,
  query: URLSearchParams,
  id: number,
): Promise<Neighbours | undefined> {
  const rule = query.get('rule') ?? ''
  if (!isRule(rule)) return undefined
  const cursor = (query.get('cursor') ?? '').slice(0, maxCursorLength)
  const list = findingsQuery(rule, cursor)
  const { previous, next } = await findAdjacentFindings(pool.lists, rule, id)
  const linkTo = (other: number | undefined) =>
    other === undefined ? undefined : `${deskPaths.talk(other)}?list=${encodeURIComponent(list)}`
  return {
    list,
    listPath: `${deskPaths.qualityRule(rule)}?${new URLSearchParams({ cursor })}`,
    previous: linkTo(previous),
    next: linkTo(next),
  }
}

function doneMessage(fixed: number, total: number): string {
  if (fixed === 0) return 'not-fixed'
  return fixed < total ? 'fixed-some' : 'fixed'
}

function withFix(finding: QualityFinding, fixes: ReadonlyMap<number, CertainFix>): FixableFinding {
  const id = finding.records[0]?.id
  const fix = id === undefined ? undefined : fixes.get(id)
  if (!fix) return finding
  const [value] = Object.values(fix.fields) as [string | number]
  return { ...finding, fix: { target: `${id} ${fix.etag}`, value } }
}

/** Returns the name of the rule in the path. Throws `not-found` if there is no such rule. */
function ruleOf({ params }: PageRequest): string {
  const name = params.id ?? ''
  if (!isRule(name)) throw new Problem('not-found', 'This rule does not exist')
  return name
}

/** Parses the id and the etag of a record. */
function parseTarget(text: string): { id: number; etag: string } {
  const [, digits = '', etag = ''] = /^(\d{1,15}) ([\w.-]{1,100})$/.exec(text) ?? []
  const id = parseId(digits)
  if (id === undefined)
    throw new Problem('bad-request', 'The form has no talk. Go back, reload and try again.')
  return { id, etag }
}
