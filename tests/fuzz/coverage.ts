import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

// Counts the branches that an input takes. Loaded with `node --import`, before any code under test:
// a hook of the module loader puts a counter into every function, branch and loop of our own code
// and of the parsers that it relies on. V8's own block coverage takes milliseconds to read;
// these counters take microseconds, so the coverage of every single input is known.

const maxCounters = 1 << 18
const counters = new Uint8Array(maxCounters)
let used = 0
Object.assign(globalThis, { __branches: counters })

const ownCode =
  /\/(server|contract|web)\/(?!.*(\.test\.ts$|node_modules\/))|\/targets\/planted\.ts$/
const parsers = /\/node_modules\/(markdown-it|csv-parse|sax|ipaddr\.js|linkify-it|mdurl)\//
const isInstrumented = (url: string) => ownCode.test(url) || parsers.test(url)

registerHooks({
  load(url, context, nextLoad) {
    const isCode = /\.[cm]?[jt]s$/.test(url) && url.startsWith('file:')
    if (!isCode || !isInstrumented(url) || context.format === 'commonjs') {
      return nextLoad(url, context)
    }
    const source = readFileSync(fileURLToPath(url), 'utf8')
    return { ...nextLoad(url, context), source: withCounters(source, url) }
  },
})

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** Returns the source with a counter for each branch. Lines keep their numbers. */
export function withCounters(source: string, url: string): string {
  const starts: { offset: number; text: string }[] = []
  const ends: { offset: number; text: string }[] = []
  const counter = () => `__branches[${used++ % maxCounters}]++`

  const asExpression = (node: Node) => {
    starts.push({ offset: node.start, text: `(${counter()},` })
    ends.unshift({ offset: node.end, text: ')' })
  }
  const asStatement = (node: Node | null | undefined) => {
    if (!node) return
    if (node.type === 'BlockStatement') {
      const body = node.body as Node[]
      const directive = body.findLast(
        (statement) => statement.type === 'ExpressionStatement' && 'directive' in statement,
      )
      starts.push({ offset: directive?.end ?? node.start + 1, text: `;${counter()};` })
      return
    }
    starts.push({ offset: node.start, text: `{${counter()};` })
    ends.unshift({ offset: node.end, text: '}' })
  }
  const branches: Record<string, (node: Node) => void> = {
    IfStatement: (node) => {
      asStatement(node.consequent as Node)
      asStatement(node.alternate as Node | null)
    },
    ConditionalExpression: (node) => {
      asExpression(node.consequent as Node)
      asExpression(node.alternate as Node)
    },
    LogicalExpression: (node) => asExpression(node.right as Node),
    ArrowFunctionExpression: (node) => {
      if (node.expression) asExpression(node.body as Node)
      else asStatement(node.body as Node)
    },
    SwitchCase: (node) => {
      const [first] = node.consequent as Node[]
      if (first) starts.push({ offset: first.start, text: `${counter()};` })
    },
  }
  const bodies =
    /^(Function(Declaration|Expression)|(For|ForIn|ForOf|While|DoWhile)Statement|CatchClause)$/

  const visit = (node: Node) => {
    if (bodies.test(node.type)) asStatement(node.body as Node | null)
    branches[node.type]?.(node)
    for (const [key, value] of Object.entries(node)) {
      if (key === 'typeAnnotation' || key === 'typeParameters' || key === 'returnType') continue
      for (const part of Array.isArray(value) ? value : [value]) {
        if (typeof part === 'object' && part !== null && 'type' in part) visit(part as Node)
      }
    }
  }
  const lang = /\.[cm]?ts$/.test(url) ? 'ts' : 'js'
  visit(parseAst(source, { lang, sourceType: 'module' }, fileURLToPath(url)) as unknown as Node)

  // At the same offset, ends are before starts, inner ends before outer ones, and outer starts
  // before inner ones.
  const insertions = [...ends, ...starts].map((insertion, order) => ({ ...insertion, order }))
  insertions.sort((a, b) => a.offset - b.offset || a.order - b.order)
  let text = ''
  let from = 0
  for (const insertion of insertions) {
    text += source.slice(from, insertion.offset) + insertion.text
    from = insertion.offset
  }
  return text + source.slice(from)
}

/**
 * The branches that all inputs have taken, and how often one input took them: a bit for each power
 * of two.
 */
export class Coverage {
  readonly #seen = new Uint8Array(maxCounters)
  branches = 0

  reset(): void {
    counters.fill(0, 0, used)
  }

  /** Adds the counts since `reset`. Returns whether there is new coverage. */
  add(): boolean {
    let isNew = false
    for (let index = 0; index < used; index++) {
      const count = counters[index] as number
      if (count === 0) continue
      const bit = 1 << (31 - Math.clz32(count))
      const seen = this.#seen[index] as number
      if (seen & bit) continue
      if (seen === 0) this.branches++
      this.#seen[index] = seen | bit
      isNew = true
    }
    return isNew
  }
}
