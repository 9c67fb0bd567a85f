import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

// Counts which branches an input takes. Loaded with `node --import`, before any code under test:
// a hook of the module loader puts a counter into every function, branch and loop of our own code
// and of the parsers that it relies on. V8's own block coverage takes milliseconds per reading;
// these counters take microseconds, so every input can be judged by itself.

const maxCounters = 1 << 18
const counters = new Uint8Array(maxCounters)
let used = 0
Object.assign(globalThis, { __branches: counters })

const ours = /\/(server|contract|web)\/(?!.*(\.test\.ts$|node_modules\/))|\/targets\/planted\.ts$/
const parsers = /\/node_modules\/(markdown-it|csv-parse|sax|ipaddr\.js|linkify-it|mdurl)\//
const isInstrumented = (url: string) => ours.test(url) || parsers.test(url)

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
  const starts: { at: number; text: string }[] = []
  const ends: { at: number; text: string }[] = []
  const counter = () => `__branches[${used++ % maxCounters}]++`

  const asExpression = (node: Node) => {
    starts.push({ at: node.start, text: `(${counter()},` })
    ends.unshift({ at: node.end, text: ')' })
  }
  const asStatement = (node: Node | null | undefined) => {
    if (!node) return
    if (node.type === 'BlockStatement') {
      const body = node.body as Node[]
      const directive = body.findLast(
        (it) => it.type === 'ExpressionStatement' && 'directive' in it,
      )
      starts.push({ at: directive?.end ?? node.start + 1, text: `;${counter()};` })
      return
    }
    starts.push({ at: node.start, text: `{${counter()};` })
    ends.unshift({ at: node.end, text: '}' })
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
      if (first) starts.push({ at: first.start, text: `${counter()};` })
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

  // At one place ends come before starts, inner ends before outer ones, outer starts before inner.
  const all = [...ends, ...starts].map((it, order) => ({ ...it, order }))
  all.sort((a, b) => a.at - b.at || a.order - b.order)
  let text = ''
  let from = 0
  for (const it of all) {
    text += source.slice(from, it.at) + it.text
    from = it.at
  }
  return text + source.slice(from)
}

/** Which branches were ever taken, and how often within one input: a bit for each power of two. */
export class Coverage {
  readonly #seen = new Uint8Array(maxCounters)
  branches = 0

  reset(): void {
    counters.fill(0, 0, used)
  }

  /** Adds what was counted since `reset`. Returns whether any of it is new. */
  add(): boolean {
    let isNew = false
    for (let at = 0; at < used; at++) {
      const count = counters[at] as number
      if (count === 0) continue
      const bit = 1 << (31 - Math.clz32(count))
      const seen = this.#seen[at] as number
      if (seen & bit) continue
      if (seen === 0) this.branches++
      this.#seen[at] = seen | bit
      isNew = true
    }
    return isNew
  }
}
