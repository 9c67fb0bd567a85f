// Lists changes to SQL, of a migration or of a template: a condition removed or flipped, a lock, a
// trigger, a constraint or a default removed. It parses only the necessary part of the grammar:
// brackets, and the words that end a condition.

/** Replaces the text between two offsets. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface SourceEdit {
  /** The description in the report. */
  readonly operator: string
  readonly edits: readonly Edit[]
}

interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
  /** The tokens between brackets. */
  readonly inner?: readonly Token[]
}

/** Replaces each character of an expression in a template. */
export const hole = '¤'

const pattern =
  /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$\$|\$\d+|¤+|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|:=|<>|<=|>=|::|\|\||@>|!~\*?|~\*?|[-+*/%&=<>]|[()[\],;]/g

/** Words that end the expression before them. */
const ends = new Set(
  `select from where having on when then else end if elsif group order limit offset returning union
   for set values insert update delete with as join left right inner lateral using by do begin loop
   return perform execute create alter check constraint references default generated stored into
   add drop declare language immutable desc asc case`.split(/\s+/),
)

/** Words that a condition follows. */
const starts = new Set(['where', 'having', 'on', 'when', 'if', 'check', 'filter', ':=', 'as'])

const flips: Readonly<Record<string, string>> = {
  '=': '<>',
  '<>': '=',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '~': '!~',
  '!~': '~',
}

/** Lists the changes to SQL. */
export function sqlChanges(sql: string): SourceEdit[] {
  const changes: SourceEdit[] = []
  const change = (operator: string, ...edits: Edit[]) => changes.push({ operator, edits })
  const flat = tokensOf(sql)
  wholeStatements(flat, change)
  locks(flat, change)
  constraints(flat, change)
  level(nested(flat), '', change)
  const skipped = plainIndexes(flat)
  return changes.filter(
    ({ edits }) =>
      !skipped.some(([from, to]) => edits.some(({ start }) => start >= from && start < to)),
  )
}

type Report = (operator: string, ...edits: Edit[]) => void

function tokensOf(sql: string): Token[] {
  return [...sql.matchAll(pattern)]
    .filter(([text]) => !text.startsWith('--'))
    .map(({ 0: text, index }) => ({ text, start: index, end: index + text.length }))
}

function nested(flat: readonly Token[]): Token[] {
  const levels: Token[][] = [[]]
  const opened: Token[] = []
  for (const token of flat) {
    if (token.text === '(' || token.text === '[') {
      opened.push(token)
      levels.push([])
    } else if ((token.text === ')' || token.text === ']') && opened.length > 0) {
      const { text, start } = opened.pop() as Token
      const inner = levels.pop() as Token[]
      levels.at(-1)?.push({ text, start, end: token.end, inner })
    } else levels.at(-1)?.push(token)
  }
  return levels[0] as Token[]
}

/** Visits the expressions between two brackets; `before` is the word in front of the bracket. */
function level(tokens: readonly Token[], before: string, change: Report): void {
  const firstEnd = tokens.findIndex(({ text }) => text === ',' || ends.has(text.toLowerCase()))
  // A template may start with the assignments of `set`.
  let clause = before === '' && tokens[firstEnd]?.text === ',' ? 'set' : before
  let from = 0
  for (let index = 0; index <= tokens.length; index++) {
    const token = tokens[index]
    const word = token?.text.toLowerCase() ?? ''
    const isEnd =
      token === undefined || word === ',' || word === ';' || word === ':=' || word === '$$'
    const isWord = ends.has(word) && !(word === 'from' && tokens[index - 1]?.text === 'distinct')
    if (!isEnd && !isWord) continue
    expression(tokens.slice(from, index), clause, change)
    from = index + 1
    const previous = tokens[index - 1]?.text.toLowerCase() ?? ''
    // A comma continues its clause, except for conditions, which contain none.
    if (word === ',') clause = clause === 'set' || clause === 'with' ? clause : ','
    // `after insert on video`, `distinct on (key)`.
    else if (word === 'on' && ['insert', 'update', 'delete', 'distinct'].includes(previous))
      clause = 'no condition'
    else clause = word
  }
  for (const [index, { inner, text }] of tokens.entries()) {
    if (!inner || text === '[') continue
    const previous = tokens[index - 1]?.text.toLowerCase() ?? ''
    call(previous, tokens[index] as Token, change)
    // Settings of a table or an index, and lists of columns.
    if (previous === 'with' || previous === 'conflict') continue
    const next = tokens[index + 1]?.text.toLowerCase() ?? ','
    const isWhole = starts.has(previous) && (next === ',' || next === ';' || ends.has(next))
    level(inner, isWhole && !inner.some((token) => token.text === ',') ? previous : '(', change)
  }
}

/** Mutates one expression; `clause` is the word before it. */
function expression(tokens: readonly Token[], clause: string, change: Report): void {
  const [first, last] = [tokens[0], tokens.at(-1)]
  if (!first || !last || clause === 'set' || clause === 'with' || first.text === 'conflict') return
  const { operands, joints } = split(tokens)
  const isCondition = ['where', 'having', 'on', 'when', 'if', 'elsif', 'check', ':='].includes(
    clause,
  )
  const range = { start: first.start, end: last.end }
  const isGroup = tokens.length === 1 && first.inner !== undefined
  // `create extension if not exists` is not a condition.
  if (clause === 'if' && /^(not )?exists \w/.test(tokens.map(({ text }) => text).join(' '))) return
  if (joints.length === 0 && isCondition && clause !== ':=' && !isGroup) {
    change(`${clause} true`, { ...range, text: 'true' })
    if (clause === 'when' || clause === 'if') change(`${clause} false`, { ...range, text: 'false' })
  }
  for (const [number, joint] of joints.entries()) {
    remove(operands[number + 1], joint)
    if (number === 0) remove(operands[0], joint)
  }
  const isRemoved = joints.length > 0 || (isCondition && clause !== ':=')
  for (const operand of operands) flip(operand, isRemoved, change)

  function remove(operand: readonly Token[] | undefined, joint: Token): void {
    const [begin, end] = [operand?.[0], operand?.at(-1)]
    if (!begin || !end) return
    const neutral = joint.text.toLowerCase() === 'and' ? 'true' : 'false'
    change('condition removed', { start: begin.start, end: end.end, text: neutral })
  }
}

function split(tokens: readonly Token[]): { operands: Token[][]; joints: Token[] } {
  const operands: Token[][] = [[]]
  const joints: Token[] = []
  let isBetween = false
  for (const token of tokens) {
    const word = token.text.toLowerCase()
    if (word === 'between') isBetween = true
    const isJoint = word === 'or' || (word === 'and' && !isBetween)
    if (word === 'and') isBetween = false
    if (isJoint) {
      joints.push(token)
      operands.push([])
    } else operands.at(-1)?.push(token)
  }
  return { operands, joints }
}

/**
 * Flips the comparison in an operand. One that another mutant removes is not negated as well: a
 * test that detects the removal also detects the negation.
 */
function flip(operand: readonly Token[], isRemoved: boolean, change: Report): void {
  for (const [index, token] of operand.entries()) {
    const [word, next, third] = [token, operand[index + 1], operand[index + 2]].map(
      (part) => part?.text.toLowerCase() ?? '',
    ) as [string, string, string]
    const other = flips[word]
    const isOpposite = (!word.startsWith('<') && !word.startsWith('>')) || word === '<>'
    if (other !== undefined && index > 0 && !(isRemoved && isOpposite))
      change(`${word} to ${other}`, { start: token.start, end: token.end, text: other })
    if (word === 'is' && isRemoved) {
      // The mutation would negate it.
    } else if (word === 'is' && next === 'not') {
      const not = operand[index + 1] as Token
      change(`is not ${third} to is ${third}`, { start: not.start, end: not.end, text: '' })
    } else if (word === 'is')
      change(`is ${next} to is not ${next}`, { start: token.start, end: token.end, text: 'is not' })
    if (
      word === 'not' &&
      operand[index - 1]?.text.toLowerCase() !== 'is' &&
      next !== 'null' &&
      !isRemoved
    )
      change('not removed', { start: token.start, end: token.end, text: '' })
    if ((word === '+' || word === '-') && next === '1')
      change(`${word}1 flipped`, {
        start: token.start,
        end: token.end,
        text: word === '+' ? '-' : '+',
      })
    if (word === 'distinct' && operand[index - 1]) rows(operand, index, change)
  }
}

/** Compares rows without one of their columns. */
function rows(operand: readonly Token[], index: number, change: Report): void {
  const [left, right] = [operand[index - 2], operand[index + 2]]
  if (!left?.inner || !right?.inner) return
  const [leftColumns, rightColumns] = [columns(left.inner), columns(right.inner)]
  for (const [number, column] of leftColumns.entries()) {
    const other = rightColumns[number]
    if (other)
      change('column not compared', { ...column, text: 'null' }, { ...other, text: 'null' })
  }
}

function columns(inner: readonly Token[]): { start: number; end: number }[] {
  const all: { start: number; end: number }[] = []
  let from: Token | undefined
  for (const [index, token] of inner.entries()) {
    from ??= token
    const next = inner[index + 1]
    if (token.text === ',') from = undefined
    else if (!next || next.text === ',') {
      all.push({ start: from.start, end: token.end })
    }
  }
  return all
}

/** Mutates functions that work like conditions: coalesce(x, y) becomes x. */
function call(name: string, { inner = [], start, end }: Token, change: Report): void {
  if (name !== 'coalesce' && name !== 'nullif') return
  const [first] = columns(inner)
  if (!first || inner.length < 2) return
  const rest = inner.find(({ text }) => text === ',')
  if (!rest) return
  // Both are strict about types, so a call of one argument keeps the type.
  if (name === 'coalesce')
    change('coalesce without default', { start: rest.start, end: end - 1, text: '' })
  else
    change(
      'nullif removed',
      { start: start - name.length, end: start, text: '' },
      { start: rest.start, end: end - 1, text: '' },
    )
}

/** Removes triggers, and statements of functions that are called for their effect. */
function wholeStatements(flat: readonly Token[], change: Report): void {
  let isInBody = false
  for (const [index, token] of flat.entries()) {
    const [word, next] = [token.text.toLowerCase(), flat[index + 1]?.text.toLowerCase()]
    if (word === '$$') isInBody = !isInBody
    const end = flat.slice(index).find(({ text }) => text === ';')?.end
    if (end === undefined) continue
    const isStart = /^(;|begin|then|else|loop|\$\$)$/.test(
      flat[index - 1]?.text.toLowerCase() ?? ';',
    )
    const isReplaced = next === 'or' && flat[index + 3]?.text.toLowerCase() === 'trigger'
    if (word === 'create' && (next === 'trigger' || isReplaced))
      change('trigger removed', { start: token.start, end, text: '' })
    if (
      isInBody &&
      isStart &&
      ['perform', 'insert', 'delete', 'truncate', 'execute', 'lock'].includes(word)
    )
      change('statement removed', { start: token.start, end, text: 'null;' })
  }
}

/** Removes row locks and `skip locked`; makes advisory locks shared. */
function locks(flat: readonly Token[], change: Report): void {
  for (const [index, token] of flat.entries()) {
    const words = flat.slice(index, index + 6).map(({ text }) => text.toLowerCase())
    if (token.text === 'pg_advisory_xact_lock')
      change('lock shared', {
        start: token.start,
        end: token.end,
        text: 'pg_advisory_xact_lock_shared',
      })
    const length = lockLength(words)
    if (length === 0) continue
    let end = index + length
    if (flat[end]?.text === 'of') end += 2
    if (flat[end]?.text === 'skip') {
      const [skip, locked] = [flat[end] as Token, flat[end + 1] as Token]
      change('skip locked removed', { start: skip.start, end: locked.end, text: '' })
      end += 2
    }
    change('row lock removed', { start: token.start, end: (flat[end - 1] as Token).end, text: '' })
  }
}

/** Returns how many words a row lock has: `for update`, `for share`, `for no key update`. */
function lockLength([first, second, third]: readonly string[]): number {
  if (first !== 'for') return 0
  if (second === 'update' || second === 'share') return 2
  return second === 'no' && third === 'key' ? 4 : 0
}

/** Removes `unique` and `primary key`. */
function constraints(flat: readonly Token[], change: Report): void {
  for (const [index, token] of flat.entries()) {
    const [word, next] = [token.text.toLowerCase(), flat[index + 1]?.text.toLowerCase()]
    const isKey = word === 'primary' && next === 'key'
    if (word !== 'unique' && !isKey) continue
    const isNamed = flat[index - 2]?.text === 'constraint'
    const isIndex = word === 'unique' && next === 'index'
    const begin = isNamed ? (flat[index - 2] as Token).start : token.start
    const after = index + (isKey ? 2 : 1)
    // A constraint of a table has a list of columns, and the comma before it is removed too.
    if (flat[after]?.text === '(') {
      const close = flat.slice(after).find(({ text }) => text === ')') as Token
      const before = flat[isNamed ? index - 3 : index - 1] as Token
      const isList = before.text === ','
      change('constraint removed', {
        start: isList ? before.start : begin,
        end: close.end,
        text: isList ? '' : 'check (true)',
      })
    } else
      change('constraint removed', {
        start: begin,
        end: isIndex ? token.end : (flat[after - 1] as Token).end,
        text: '',
      })
  }
}

/**
 * Finds the non-unique indexes: their predicates affect performance, not results.
 */
function plainIndexes(flat: readonly Token[]): [number, number][] {
  return flat.flatMap(({ text, start }, index): [number, number][] => {
    if (text !== 'create' || flat[index + 1]?.text !== 'index') return []
    const end = flat.slice(index).find((token) => token.text === ';')?.end
    return [[start, end ?? Number.POSITIVE_INFINITY]]
  })
}
