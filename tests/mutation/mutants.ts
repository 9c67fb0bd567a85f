import { createHash } from 'node:crypto'
import { parseSync } from '@swc/core'
import { type Edit, hole, type SourceEdit, sqlChanges } from './sql.ts'

// Lists the mutants of a source file: the file with one condition removed or flipped.

export interface Mutant extends SourceEdit {
  /** Independent of line numbers and formatting. */
  readonly id: string
  readonly file: string
  readonly line: number
  /** The text before and after, on one line. */
  readonly was: string
  readonly becomes: string
}

/** Lists the mutants of a TypeScript or SQL file. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const changes = file.endsWith('.sql') ? sqlChanges(source) : codeChanges(source)
  const seen = new Map<string, number>()
  return changes
    .map((change) => describe(file, source, change))
    .sort((a, b) => (a.edits[0]?.start ?? 0) - (b.edits[0]?.start ?? 0))
    .filter(({ was, becomes }) => was !== becomes)
    .map((mutant) => {
      const { operator, was, becomes, edits } = mutant
      const key = [file, operator, was, becomes, scopeOf(source, edits)].join('\n')
      const nth = seen.get(key) ?? 0
      seen.set(key, nth + 1)
      const id = createHash('sha256').update(`${key}\n${nth}`).digest('hex').slice(0, 8)
      return { ...mutant, id }
    })
}

/** Applies edits to a source. */
export function mutated(source: string, edits: readonly Edit[]): string {
  let text = source
  for (const { start, end, text: inserted } of [...edits].sort((a, b) => b.start - a.start))
    text = text.slice(0, start) + inserted + text.slice(end)
  return text
}

function describe(file: string, source: string, change: SourceEdit): Omit<Mutant, 'id'> {
  const start = Math.min(...change.edits.map((edit) => edit.start))
  const line = source.slice(0, start).split('\n').length
  const oneLine = (text: string) => text.replaceAll(/--.*/g, '').replaceAll(/\s+/g, ' ').trim()
  const was = oneLine(change.edits.map((edit) => source.slice(edit.start, edit.end)).join(' … '))
  const becomes = oneLine(change.edits.map(({ text }) => text).join(' … '))
  return { ...change, file, line, was, becomes }
}

/**
 * Returns the nearest declaration above, a part of the id: equal conditions in two functions have
 * different ids.
 */
function scopeOf(source: string, edits: readonly Edit[]): string {
  const start = Math.min(...edits.map((edit) => edit.start))
  const above = source
    .slice(0, start)
    .matchAll(/^(?:export |async |const |function |create |alter |do )+.*$/gm)
  return [...above].at(-1)?.[0].replaceAll(/\s+/g, ' ') ?? ''
}

// biome-ignore lint/suspicious/noExplicitAny: all kinds of nodes are visited
type Node = any

const flipped: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
}

/** Lists the changes to TypeScript, and to the SQL in its templates. */
function codeChanges(source: string): SourceEdit[] {
  // The prefix is the first token, so that its offset is known: swc counts on from file to file.
  const prefix = '0;'
  const tree = parseSync(prefix + source, { syntax: 'typescript', target: 'es2024' })
  const visitor = new MutationVisitor(source, tree.span.start + prefix.length)
  visitor.visit(tree.body)
  return visitor.changes
}

/** Collects the changes of a syntax tree. */
class MutationVisitor {
  readonly changes: SourceEdit[] = []
  private readonly source: string
  private readonly bytes: Buffer
  private readonly base: number

  constructor(source: string, base: number) {
    this.source = source
    this.bytes = Buffer.from(source)
    this.base = base
  }

  /** `isRemoved`: another mutant replaces the node as a whole. */
  visit(node: Node, isRemoved = false): void {
    if (Array.isArray(node)) {
      for (const child of node) this.visit(child)
      return
    }
    if (node === null || typeof node !== 'object') return
    this.mutate(node, isRemoved)
    const isTest = node.type === 'IfStatement' || node.type === 'ConditionalExpression'
    const isJoint =
      node.type === 'BinaryExpression' && (node.operator === '&&' || node.operator === '||')
    for (const [key, value] of Object.entries(node)) {
      if (key === 'typeAnnotation' || key === 'typeParams' || key === 'typeArguments') continue
      const isOperand = isJoint && (key === 'left' || key === 'right')
      this.visit(value, (isTest && key === 'test') || isOperand)
    }
  }

  private mutate(node: Node, isRemoved: boolean): void {
    const { type, operator } = node
    if (type === 'IfStatement') this.condition(node.test, 'if')
    if (type === 'ConditionalExpression') this.condition(node.test, 'choice')
    if (type === 'BinaryExpression') this.binary(node, isRemoved)
    if (type === 'UnaryExpression' && operator === '!' && !isRemoved)
      this.replace(node, `(${this.textOf(node.argument)})`, '! removed')
    if (type === 'AssignmentExpression') this.assignment(node)
    if (type === 'ExpressionStatement') this.statement(node)
    if (type === 'CallExpression') this.call(node)
    if (type === 'TaggedTemplateExpression' && node.tag.value === 'sql')
      this.template(node.template)
  }

  private indexOf(offset: number): number {
    return this.bytes.subarray(0, offset - this.base).toString().length
  }

  private textOf({ span }: Node): string {
    return this.source.slice(this.indexOf(span.start), this.indexOf(span.end))
  }

  private replace({ span }: Node, text: string, operator: string): void {
    const edit = { start: this.indexOf(span.start), end: this.indexOf(span.end), text }
    this.changes.push({ operator, edits: [edit] })
  }

  private condition(test: Node, name: string): void {
    this.replace(test, 'true', `${name} always`)
    this.replace(test, 'false', `${name} never`)
  }

  private assignment(node: Node): void {
    const { operator, left, right } = node
    if (operator === '&&=' || operator === '??=')
      this.replace(node, `${this.textOf(left)} = ${this.textOf(right)}`, `${operator} to =`)
  }

  private statement(node: Node): void {
    const { expression } = node
    const call = expression.type === 'AwaitExpression' ? expression.argument : expression
    if (call.type === 'CallExpression') this.replace(node, ';', 'call removed')
  }

  private binary(node: Node, isRemoved: boolean): void {
    const { operator } = node
    const [left, right] = [this.textOf(node.left), this.textOf(node.right)]
    if (operator === '&&' || operator === '||' || operator === '??') {
      this.replace(node, `(${left})`, `right of ${operator} removed`)
      if (operator !== '??') this.replace(node, `(${right})`, `left of ${operator} removed`)
    }
    const other = flipped[operator]
    // A condition that another mutant removes is not negated as well: a test that detects the
    // removal also detects the negation.
    if (other !== undefined && !(isRemoved && operator.endsWith('==')))
      this.replace(node, `${left} ${other} ${right}`, `${operator} to ${other}`)
    if ((operator === '+' || operator === '-') && node.right.type === 'NumericLiteral') {
      const opposite = operator === '+' ? '-' : '+'
      this.replace(node, `${left} ${opposite} ${right}`, `${operator} flipped`)
    }
  }

  private call(node: Node): void {
    const { callee } = node
    if (callee.type !== 'MemberExpression') return
    const name = callee.property.value
    const object = this.textOf(callee.object)
    if (name === 'filter') this.replace(node, object, 'filter removed')
    if (name !== 'every' && name !== 'some') return
    const args = node.arguments.map(({ expression }: Node) => this.textOf(expression)).join(', ')
    const other = name === 'every' ? 'some' : 'every'
    this.replace(node, `${object}.${other}(${args})`, `${name} to ${other}`)
  }

  /** Mutates the SQL of a template, with placeholders for its expressions. */
  private template({ quasis, expressions }: Node): void {
    const start = this.indexOf(quasis[0].span.start)
    const end = this.indexOf(quasis.at(-1).span.end)
    let text = this.source.slice(start, end)
    for (const index of expressions.keys()) {
      const from = this.indexOf(quasis[index].span.end) - start
      const to = this.indexOf(quasis[index + 1].span.start) - start
      text = text.slice(0, from) + hole.repeat(to - from) + text.slice(to)
    }
    for (const { operator, edits } of sqlChanges(text))
      this.changes.push({
        operator,
        edits: edits.map((edit) => ({ ...edit, start: edit.start + start, end: edit.end + start })),
      })
  }
}
