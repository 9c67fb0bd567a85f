import {
  indexOf,
  type Migration,
  withoutComments,
} from '../../server/platform/db/migration-files.ts'

// Which statements a migration may have, so that servers answer while it runs and the release before
// runs on its schema. docs/decisions/0063-upgrades-without-downtime.md has the reasons.

interface Rule {
  readonly pattern: RegExp
  readonly problem: string
  /** Also in a contract migration, or for a table that the same file creates. */
  readonly isAlways?: boolean
}

const volatileDefault =
  /\bdefault\s+[^,;]*\b(?:random|gen_random_uuid|clock_timestamp|nextval|timeofday|uuid_generate_v4)\s*\(/i

/** Rules for `alter table` of a table that was there before. */
const alterRules: readonly Rule[] = [
  {
    pattern: /\balter\s+(?:column\s+)?\S+\s+(?:set\s+data\s+)?type\b/i,
    problem: 'changes a type, which rewrites the table: add a column and fill it',
  },
  {
    pattern: /\bgenerated\s+always\s+as\s*\((?!\s*identity)/i,
    problem: 'adds a stored generated column, which rewrites the table: use a trigger and a fill',
  },
  {
    pattern: /\bgenerated\s+(?:always|by\s+default)\s+as\s+identity/i,
    problem: 'adds an identity column, which rewrites the table',
  },
  { pattern: volatileDefault, problem: 'has a volatile default, which rewrites the table' },
  {
    pattern: /\badd\s+(?:column\s+)?(?:if\s+not\s+exists\s+)?\S+\s+(?:small|big)?serial\b/i,
    problem: 'adds a serial column, which rewrites the table',
  },
  {
    pattern: /\badd\s+(?!constraint\b|foreign\b|check\b|unique\b|primary\b)[^,;]*\breferences\b/i,
    problem: 'adds a foreign key with the column: add it as a constraint, not valid',
  },
  {
    pattern: /\badd\s+(?:constraint\s+\S+\s+)?(?:foreign\s+key|check)\b(?![^;]*\bnot\s+valid\b)/i,
    problem:
      'adds a constraint that scans the table: add it not valid, and validate it in a later file',
  },
  {
    pattern:
      /\badd\s+(?!constraint\b|foreign\b|check\b|unique\b|primary\b)[^,;]*\bcheck\s*\((?![^;]*\bnot\s+valid\b)/i,
    problem: 'adds a column with a check, which scans the table: add the constraint not valid',
  },
  {
    pattern: /\badd\s+(?:constraint\s+\S+\s+)?(?:unique|primary\s+key)\b(?!\s+using\s+index)/i,
    problem:
      'builds an index under a lock: create it concurrently, then add the constraint using it',
  },
  {
    pattern: /\badd\s+(?:constraint\s+\S+\s+)?exclude\b/i,
    problem: 'builds an index under a lock',
  },
  {
    pattern:
      /\badd\s+(?!constraint\b)(?:(?!\bdefault\b)[^,;])*\bnot\s+null\b(?:(?!\bdefault\b)[^,;])*(?:,|$)/i,
    problem: 'adds a column that is not null without a default: older servers cannot insert',
  },
  {
    pattern: /\balter\s+(?:column\s+)?\S+\s+set\s+not\s+null\b/i,
    problem: 'scans the table: add a check not valid, validate it, and set not null in a contract',
  },
  { pattern: /\bset\s+(?:unlogged|logged|tablespace)\b/i, problem: 'rewrites the table' },
]

/** What servers of the release before still need. Allowed in a contract migration. */
const contractRules: readonly Rule[] = [
  { pattern: /\brename\b/i, problem: 'renames what older servers use' },
  {
    pattern:
      /\bdrop\s+(?:column\b|(?!constraint\b|not\s+null\b|default\b|expression\b|identity\b)\S)/i,
    problem: 'drops a column that older servers use',
  },
]

const statementRules: readonly Rule[] = [
  { pattern: /^lock\b/i, problem: 'locks a table' },
  { pattern: /^(?:vacuum\s+full|cluster|reindex)\b/i, problem: 'rewrites a table under a lock' },
  { pattern: /^refresh\s+materialized\s+view\b(?!\s+concurrently)/i, problem: 'blocks readers' },
  { pattern: /^truncate\b/i, problem: 'blocks readers, and empties the table for exports' },
]

const alterTable = /^alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?([a-z_][\w.]*)/i
const createIndex = /^create\s+(?:unique\s+)?index\b/i
const changesRows = /^(?:update|delete)\b|^with\b[\s\S]*\b(?:update|delete\s+from)\b/i

/** Returns what is wrong with a migration, one text for each problem. */
export function findProblems(migration: Migration): string[] {
  const { kind, sql } = migration
  const statements = splitStatements(sql)
  if (kind === 'index') return problemsOfIndex(migration)
  if (kind === 'fill') return problemsOfFill(statements)
  const created = new Set(
    statements.flatMap(
      (text) => /^create\s+table\s+(?:if\s+not\s+exists\s+)?([\w.]+)/i.exec(text)?.[1] ?? [],
    ),
  )
  const lockedTables = new Set<string>()
  const problems = statements.flatMap((text) => {
    const found = statementRules.filter(({ pattern }) => pattern.test(text))
    const altered = alterTable.exec(text)?.[1]
    if (altered !== undefined && !created.has(altered)) {
      lockedTables.add(altered)
      const body = text.slice(text.toLowerCase().indexOf(altered) + altered.length)
      // Set by a validated check: then it scans nothing.
      const rules = kind === 'contract' ? alterRules.filter(isForContract) : alterRules
      found.push(...rules.filter(({ pattern }) => pattern.test(body)))
      if (kind !== 'contract')
        found.push(...contractRules.filter(({ pattern }) => pattern.test(body)))
    }
    if (
      createIndex.test(text) &&
      !created.has(/\bon\s+(?:only\s+)?([\w.]+)/i.exec(text)?.[1] ?? '')
    )
      found.push({
        pattern: createIndex,
        problem: 'builds an index on a table with rows: use a file of the kind `index`',
      })
    if (kind !== 'contract' && /^drop\s+(?:table|view|function|type|index)\b/i.test(text))
      found.push({ pattern: alterTable, problem: 'drops what older servers use' })
    if (changesRows.test(text))
      found.push({
        pattern: changesRows,
        problem: 'changes rows of a table in one transaction: use a file of the kind `fill`',
      })
    return found.map(({ problem }) => `${firstLine(text)}: ${problem}`)
  })
  if (lockedTables.size > 1)
    problems.push(
      `${[...lockedTables].join(', ')}: one file locks several tables, and waits for the second while ` +
        'readers of the first wait for it: use a file for each',
    )
  return problems
}

const isForContract = ({ problem }: Rule) => !problem.includes('in a contract')

function problemsOfIndex(migration: Migration): string[] {
  try {
    indexOf(migration)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

function problemsOfFill(statements: readonly string[]): string[] {
  const [text = '', ...others] = statements
  if (others.length > 0) return ['a fill has one statement, which is repeated']
  return [
    ...(/\blimit\s+\d+/i.test(text) ? [] : [`${firstLine(text)}: has no limit: fill by batches`]),
    ...(/\bskip\s+locked\b/i.test(text)
      ? [`${firstLine(text)}: leaves rows out that a writer has locked: wait for them`]
      : []),
  ]
}

const firstLine = (text: string) => text.split('\n')[0] ?? ''

/** Splits a script at its semicolons, except in quotes and in bodies of functions. */
export function splitStatements(script: string): string[] {
  const sql = withoutComments(script)
  const tokens = sql.matchAll(
    /'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|--.*|\/\*[\s\S]*?\*\/|begin\s+atomic\b[\s\S]*?\bend\b|;|[^'"$;/-]+|[\s\S]/gi,
  )
  const statements: string[] = []
  let current = ''
  for (const [token] of tokens) {
    if (token === ';') {
      statements.push(current.trim())
      current = ''
    } else if (!/^(?:--|\/\*)/.test(token)) current += token
  }
  return [...statements, current.trim()].filter(Boolean)
}
