import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { call } from '../support/harness.ts'

// Questions that were written without knowledge of the search, one line each: what people type, and
// the talks that satisfy them. Talks are named by title and category, as in the data.

interface Question {
  readonly class: string
  readonly q: string
  readonly accept: readonly Talk[]
}

interface Talk {
  readonly title: string
  readonly category: string
}

/** What is typed into a search box, and what should be suggested. */
interface Suggestion {
  readonly q: string
  readonly kind: 'speakers' | 'talks' | 'categories'
  readonly wanted: string
}

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const questionSets = {
  further: file('further-questions.ndjson'),
  shared: file('../../../shared/data/questions/questions.ndjson'),
}

/** Asks the questions of all sets that are there, and prints a table for each. */
export async function printQuestionSets(url: string): Promise<void> {
  for (const [name, path] of Object.entries(questionSets)) {
    if (!existsSync(path)) {
      console.log(`\nSkipped: the ${name} questions, because ${path} is missing`)
      continue
    }
    const ranked: { question: Question; rank: number }[] = []
    for (const question of readLines<Question>(path))
      ranked.push({ question, rank: await rankOf(url, question) })
    console.log(`\nThe ${name} questions: first, in the first 3, mean reciprocal rank`)
    for (const kind of new Set(ranked.map(({ question }) => question.class)))
      printRow(
        kind,
        ranked.filter(({ question }) => question.class === kind).map(({ rank }) => rank),
      )
    printRow(
      'all',
      ranked.map(({ rank }) => rank),
    )
  }
  const suggestions = readLines<Suggestion>(file('further-suggestions.ndjson'))
  let found = 0
  for (const suggestion of suggestions) if (await isSuggested(url, suggestion)) found++
  console.log(`\nAutocomplete: ${found} of ${suggestions.length} in the first 5`)
}

function readLines<T>(path: string): T[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as T)
}

/** Returns the rank of the first acceptable talk; 0 if it is not among the first ten. */
async function rankOf(url: string, { q, accept }: Question): Promise<number> {
  const { json } = await call(url, 'GET', `/api/v2/video?q=${encodeURIComponent(q)}`)
  const results = json.results as Talk[]
  return results.slice(0, 10).findIndex((talk) => accept.some((other) => isSame(talk, other))) + 1
}

async function isSuggested(url: string, { q, kind, wanted }: Suggestion): Promise<boolean> {
  const { json } = await call(url, 'GET', `/api/v2/suggest?q=${encodeURIComponent(q)}`)
  const suggested = json[kind] as { name?: string; title?: string }[]
  return suggested.some(({ name, title }) => plain(name ?? title ?? '') === plain(wanted))
}

const isSame = (a: Talk, b: Talk) =>
  plain(a.title) === plain(b.title) && plain(a.category) === plain(b.category)

const plain = (text: string) => text.normalize('NFKC').replaceAll(/\s+/g, ' ').trim().toLowerCase()

function printRow(name: string, ranks: readonly number[]): void {
  const share = (max: number) =>
    `${((100 * ranks.filter((rank) => rank > 0 && rank <= max).length) / ranks.length).toFixed(0)} %`
  const mrr = ranks.reduce((sum, rank) => sum + (rank > 0 ? 1 / rank : 0), 0) / ranks.length
  const cells = [share(1), share(3), mrr.toFixed(3)].map((cell) => cell.padStart(7))
  console.log(`${name.padEnd(16)}${String(ranks.length).padStart(4)}${cells.join('')}`)
}
