// Run by `npm run match`: node tests/matching/run.ts [--quick] [--fit] [--write]
// Matches 30 real events under four conditions and fails if a goal is missed. --quick leaves out
// the conditions that need five seeds. --fit prints the limits fitted on other events. --write
// rewrites the results in docs/matching.md; without it, other results than those there fail.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type MatchInput, matchTalks } from '../../server/matching/matching.ts'
import { type Condition, conditionNames } from './conditions.ts'
import { printFit } from './fit.ts'
import { goals } from './goals.ts'
import { type GoldEvent, hasGold, readCurated, readIndependent, readParts } from './gold.ts'
import { type Figures, figuresOf, inputOf, type Judged, measure } from './measure.ts'
import { countParts } from './parts.ts'

const document = fileURLToPath(new URL('../../docs/matching.md', import.meta.url))

const measuredFigures = ['precision', 'recall', 'first', 'three'] as const

/** The seeds of what is missing. */
const seeds = [1, 2, 3, 4, 5]

const tableHead = [
  '| Condition | Pairs | Precision | Recall | First proposal right | Among three |',
  '|---|---|---|---|---|---|',
]

const partsLine = ({ found, total }: { found: number; total: number }) => [
  `Talks in recordings of several talks, with start and end to the second: ${found} of ${total}.`,
]

process.exitCode = main()

function main(): number {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      fit: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  })
  if (!hasGold) {
    console.log('Skipped: the events (../shared/data/matcher) are missing')
    return 0
  }
  const curated = readCurated()
  if (values.fit) {
    printFit(curated, values.quick ? [1] : seeds)
    return 0
  }
  const independent = readIndependent()
  const library = [...independent, ...curated]
  const conditions = conditionNames.filter(
    (condition) => !values.quick || condition === 'plain' || condition === 'crowded',
  )
  const results = conditions.map((condition) => {
    const measured = measure(condition, independent, library, seeds)
    const isAutomatic = ({ row }: Judged) => row.band === 'sure'
    const errors = measured.judged.filter((one) => isAutomatic(one) && one.verdict === 'wrong')
    return { condition, figures: figuresOf(measured, isAutomatic), pairs: measured.pairs, errors }
  })
  const lines = results.map(({ condition, figures, pairs }) => tableRow(condition, figures, pairs))
  for (const line of [...tableHead, ...lines]) console.log(line)
  const parts = countParts(readParts())
  console.log(`Parts that come back to the second: ${parts.found} of ${parts.total}`)
  printTimes(library)
  const listed = listErrors(results, independent, library)
  for (const line of listed) console.log(line)
  const report = [...tableHead, ...lines, '', ...partsLine(parts), '', ...listed].join('\n')
  if (values.write) write(report)
  const isOutdated = !values.quick && !readFileSync(document, 'utf8').includes(`\n${report}\n`)
  if (isOutdated) console.log('docs/matching.md has other results: run with --write')
  const missed = results.filter(({ condition, figures }) =>
    measuredFigures.some((name) => figures[name] < goals[condition][name]),
  )
  for (const { condition } of missed) console.log(`Below a goal: ${condition}`)
  return isOutdated || missed.length > 0 || parts.found < parts.total ? 1 : 0
}

/** Formats the figures with their goals; those below it are bold. */
function tableRow(condition: Condition, figures: Figures, pairs: number): string {
  const cells = measuredFigures.map((name) => {
    const goal = goals[condition][name]
    const value = `${figures[name].toFixed(2)} of ${goal.toFixed(1)}`
    return figures[name] < goal ? `**${value}**` : value
  })
  const [precision = '', ...others] = cells
  return `| ${[condition, pairs, `${precision} (${figures.wrong} wrong)`, ...others].join(' | ')} |`
}

/** Lists the automatic pairs that are wrong, each of them once. */
function listErrors(
  results: readonly { readonly condition: Condition; readonly errors: readonly Judged[] }[],
  events: readonly GoldEvent[],
  library: readonly GoldEvent[],
): string[] {
  const titles = new Map(
    [...events, ...library].flatMap(({ talks, recordings }) =>
      [...talks, ...recordings].map(({ id, title }): [string, string] => [id, title]),
    ),
  )
  const counts = new Map<string, Map<Condition, number>>()
  for (const { condition, errors } of results)
    for (const { event, row } of errors) {
      const recording = titles.get(row.recording ?? '')
      const line = `- ${event}: "${titles.get(row.talk)}" with "${recording}"`
      const counted = counts.get(line) ?? new Map<Condition, number>()
      counts.set(line, counted.set(condition, (counted.get(condition) ?? 0) + 1))
    }
  return [...counts].map(([line, counted]) => {
    const where = [...counted].map(([condition, count]) => `${condition} ${count}`).join(', ')
    return `${line} (${where})`
  })
}

/** Prints the processor time of large events: the goal is 150 ms and 1 s. */
function printTimes(library: readonly GoldEvent[]): void {
  const talks = library.flatMap((event) => inputOf(event).talks)
  const recordings = library.flatMap((event) => inputOf(event).recordings)
  for (const [talkCount, recordingCount] of [
    [200, 200],
    [200, 1000],
  ] as const) {
    const input: MatchInput = {
      event: 'Conference 2026',
      talks: talks.slice(0, talkCount).map((talk, index) => ({ ...talk, key: `t${index}` })),
      recordings: recordings
        .slice(0, recordingCount)
        .map((recording, index) => ({ ...recording, key: `r${index}` })),
    }
    matchTalks(input)
    const times = Array.from({ length: 3 }, () => {
      const before = process.threadCpuUsage()
      matchTalks(input)
      const { user, system } = process.threadCpuUsage(before)
      return (user + system) / 1000
    })
    console.log(`${talkCount} x ${recordingCount}: ${Math.min(...times).toFixed(0)} ms`)
  }
}

/** Replaces the text between the two comments of the document. */
function write(results: string): void {
  const text = readFileSync(document, 'utf8')
  const [head = '', , tail = ''] = text.split(/(?<=<!-- results -->\n)|(?=<!-- end -->)/)
  writeFileSync(document, `${head}\n${results}\n\n${tail}`)
}
