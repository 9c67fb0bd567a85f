import { createHash } from 'node:crypto'
import { parseSync } from '@swc/core'
import { type Edit, hole, type SourceEdit, sqlChanges } from './sql.ts'

// Lists the mutants of a source file: the file with one condition removed or flipped.

export interface Mutant extends SourceEdit {
  /** Stays the same when lines are added above, or the file is formatted anew. */
  readonly id: string
  readonly file: string
  readonly line: number
  /** The text before and after, on one line. */
  readonly was: string
  readonly becomes: string
}

export function mutantsOf(file: string, source: string): Mutant[] {
  const changes = file.endsWith('.sql') ? sqlChanges(source) : codeChanges(source)
  const seen = new Map<string, number>()
  return changes
    .map((change) => described(file, source, change))
    .sort((a, b) => (a.edits[0]?.start ?? 0) - (b.edits[0]?.start ?? 0))
    .filter(({ was, becomes }) => was !== becomes)
    .map((it) => {
      const key = [file, it.operator, it.was, it.becomes, scopeOf(source, it.edits)].join('\n')
      const nth = seen.get(key) ?? 0
      seen.set(key, nth + 1)
      const id = createHash('sha256').update(`${key}\n${nth}`).digest('hex').slice(0, 8)
      return { ...it, id }
    })
}

export function mutated(source: string, edits: readonly Edit[]): string {
  let text = source
  for (const { start, end, text: inserted } of [...edits].sort((a, b) => b.start - a.start))
    text = text.slice(0, start) + inserted + text.slice(end)
  return text
}

function described(file: string, source: string, change: SourceEdit): Omit<Mutant, 'id'> {
  const start = Math.min(...change.edits.map((edit) => edit.start))
  const line = source.slice(0, start).split('\n').length
  const oneLine = (text: string) => text.replaceAll(/--.*/g, '').replaceAll(/\s+/g, ' ').trim()
  const was = oneLine(change.edits.map((edit) => source.slice(edit.start, edit.end)).join(' … '))
  const becomes = oneLine(change.edits.map(({ text }) => text).join(' … '))
  return { ...change, file, line, was, becomes }
}

/**
 * The nearest declaration above: part of the id, so that equal conditions of two functions differ.
 */
function scopeOf(source: string, edits: readonly Edit[]): string {
  const start = Math.min(...edits.map((edit) => edit.start))
  const above = source
    .slice(0, start)
    .matchAll(/^(?:export |async |const |function |create |alter |do )+.*$/gm)
  return [...above].at(-1)?.[0].replaceAll(/\s+/g, ' ') ?? ''
}

// biome-ignore lint/suspicious/noExplicitAny: every kind of node is visited, whatever its fields
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
  const bytes = Buffer.from(source)
  const base = tree.span.start + prefix.length
  const at = (offset: number) => bytes.subarray(0, offset - base).toString().length
  const textOf = (node: Node) => source.slice(at(node.span.start), at(node.span.end))
  const changes: SourceEdit[] = []
  const replace = (node: Node, text: string, operator: string) =>
    changes.push({
      operator,
      edits: [{ start: at(node.span.start), end: at(node.span.end), text }],
    })

  const condition = (test: Node, name: string) => {
    replace(test, 'true', `${name} always`)
    replace(test, 'false', `${name} never`)
  }

  const visit = (node: Node, isRemoved = false): void => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one)
      return
    }
    if (node === null || typeof node !== 'object') return
    switch (node.type) {
      case 'IfStatement':
        condition(node.test, 'if')
        break
      case 'ConditionalExpression':
        condition(node.test, 'choice')
        break
      case 'BinaryExpression':
        binary(node, isRemoved)
        break
      case 'UnaryExpression':
        if (node.operator === '!' && !isRemoved)
          replace(node, `(${textOf(node.argument)})`, '! removed')
        break
      case 'AssignmentExpression':
        if (node.operator === '&&=' || node.operator === '??=')
          replace(node, `${textOf(node.left)} = ${textOf(node.right)}`, `${node.operator} to =`)
        break
      case 'ExpressionStatement': {
        const call =
          node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression
        if (call.type === 'CallExpression') replace(node, ';', 'call removed')
        break
      }
      case 'CallExpression':
        call(node)
        break
      case 'TaggedTemplateExpression':
        if (node.tag.value === 'sql') template(node.template)
        break
    }
    const isTest = node.type === 'IfStatement' || node.type === 'ConditionalExpression'
    const isJoint =
      node.type === 'BinaryExpression' && (node.operator === '&&' || node.operator === '||')
    for (const [key, value] of Object.entries(node)) {
      if (key === 'typeAnnotation' || key === 'typeParams' || key === 'typeArguments') continue
      visit(value, (isTest && key === 'test') || (isJoint && (key === 'left' || key === 'right')))
    }
  }

  const binary = (node: Node, isRemoved: boolean) => {
    const { operator, left, right } = node
    if (operator === '&&' || operator === '||' || operator === '??') {
      replace(node, `(${textOf(left)})`, `right of ${operator} removed`)
      if (operator !== '??') replace(node, `(${textOf(right)})`, `left of ${operator} removed`)
    }
    const other = flipped[operator]
    // A condition that is removed as a whole as well is not turned into its opposite: a test that
    // notices the first notices the second.
    if (other !== undefined && !(isRemoved && operator.endsWith('==')))
      replace(node, `${textOf(left)} ${other} ${textOf(right)}`, `${operator} to ${other}`)
    if ((operator === '+' || operator === '-') && right.type === 'NumericLiteral')
      replace(
        node,
        `${textOf(left)} ${operator === '+' ? '-' : '+'} ${textOf(right)}`,
        `${operator} flipped`,
      )
  }

  const call = (node: Node) => {
    const { callee } = node
    if (callee.type !== 'MemberExpression') return
    const name = callee.property.value
    const object = textOf(callee.object)
    const given = node.arguments.map(({ expression }: Node) => textOf(expression)).join(', ')
    if (name === 'filter') replace(node, object, 'filter removed')
    if (name === 'every' || name === 'some') {
      const other = name === 'every' ? 'some' : 'every'
      replace(node, `${object}.${other}(${given})`, `${name} to ${other}`)
    }
  }

  const template = ({ quasis, expressions }: Node) => {
    const [first, last] = [quasis[0], quasis.at(-1)]
    const [start, end] = [at(first.span.start), at(last.span.end)]
    const holes = expressions.map((_: Node, nth: number) => [
      at(quasis[nth].span.end),
      at(quasis[nth + 1].span.start),
    ])
    let text = source.slice(start, end)
    for (const [from, to] of holes)
      text = text.slice(0, from - start) + hole.repeat(to - from) + text.slice(to - start)
    for (const { operator, edits } of sqlChanges(text))
      changes.push({
        operator,
        edits: edits.map((edit) => ({ ...edit, start: edit.start + start, end: edit.end + start })),
      })
  }

  visit(tree.body)
  return changes
}
