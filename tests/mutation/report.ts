import { readFileSync } from 'node:fs'
import type { Group } from './groups.ts'
import type { Mutant } from './mutants.ts'

// Reports the results of a run on the terminal and in docs/mutation-testing.md.

/** `invalid`: PostgreSQL refuses the statement, so the mutant is not counted. */
export type MutantOutcome = 'caught' | 'timeout' | 'survived' | 'invalid'

export interface Result {
  readonly id: string
  readonly outcome: MutantOutcome
  /** The test that failed. */
  readonly by?: string
  /** How many test files were to be run. */
  readonly tests: number
  readonly seconds: number
}

interface Planned extends Mutant {
  readonly group: Group
}

const minCaughtShare = 0.95

/** The explanation of each survivor, by its id. */
const reasons = JSON.parse(
  readFileSync(new URL('survivors.json', import.meta.url), 'utf8'),
) as Record<string, string>

/** Prints the figures. Returns whether they are good enough. */
export function report(mutants: readonly Planned[], results: readonly Result[]): boolean {
  for (const line of figures(mutants, results)) console.log(line)
  const survivors = mutants.filter(
    ({ id }) => results.find((result) => result.id === id)?.outcome === 'survived',
  )
  const unexplained = survivors.filter(({ id }) => reasons[id] === undefined)
  for (const { id, file, line, operator, was, becomes } of unexplained)
    console.log(`SURVIVED ${id} ${file}:${line} ${operator}: ${was} -> ${becomes}`)
  const share = caughtShare(results)
  if (share < minCaughtShare) console.log(`Only ${(share * 100).toFixed(1)} % were caught`)
  return unexplained.length === 0 && share >= minCaughtShare
}

function figures(mutants: readonly Planned[], results: readonly Result[]): string[] {
  const names = [...new Set(mutants.map(({ group }) => group.name))]
  const resultsOf = (name: string) => {
    const ids = new Set(mutants.filter(({ group }) => group.name === name).map(({ id }) => id))
    return results.filter(({ id }) => ids.has(id))
  }
  const row = (name: string, results: readonly Result[]) => {
    const count = (expected: MutantOutcome) =>
      results.filter(({ outcome }) => outcome === expected).length
    const valid = results.length - count('invalid')
    const share = valid === 0 ? '–' : `${(caughtShare(results) * 100).toFixed(1)} %`
    const cells = [name, valid, count('caught'), count('timeout'), count('survived'), share]
    return `| ${cells.join(' | ')} |`
  }
  return [
    '| Part | Mutants | Caught | Timed out | Survived | Caught |',
    '|---|---|---|---|---|---|',
    ...names.map((name) => row(name, resultsOf(name))),
    row('All', results),
  ]
}

function caughtShare(results: readonly Result[]): number {
  const valid = results.filter(({ outcome }) => outcome !== 'invalid')
  const caught = valid.filter(({ outcome }) => outcome !== 'survived')
  return valid.length === 0 ? 1 : caught.length / valid.length
}

/** Formats docs/mutation-testing.md. */
export function mutationTable(mutants: readonly Planned[], results: readonly Result[]): string {
  const survivors = mutants.filter(
    ({ id }) => results.find((result) => result.id === id)?.outcome === 'survived',
  )
  const code = (text: string) => `\`${text.replaceAll('|', '\\|').slice(0, 80) || ' '}\``
  const introduction = readFileSync(new URL('introduction.md', import.meta.url), 'utf8').trim()
  return [
    introduction,
    '',
    `This run tried ${results.length} of ${mutants.length} mutants.`,
    '',
    ...figures(mutants, results),
    '',
    '## Survivors',
    '',
    '| Mutant | Location | Change | Explanation |',
    '|---|---|---|---|',
    ...survivors.map(({ id, file, operator, was, becomes }) => {
      const change = `${operator}: ${code(was)} to ${code(becomes)}`
      return `| ${id} | ${file} | ${change} | ${reasons[id] ?? '**not explained**'} |`
    }),
    '',
  ].join('\n')
}
