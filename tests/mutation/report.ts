import { readFileSync } from 'node:fs'
import type { Group } from './groups.ts'
import type { Mutant } from './mutants.ts'

// What a run found, on the terminal and in docs/mutation-testing.md.

/** `invalid`: PostgreSQL refuses the statement, so it is not counted. */
export type MutantOutcome = 'caught' | 'timeout' | 'survived' | 'invalid'

export interface Result {
  readonly id: string
  readonly outcome: MutantOutcome
  /** The test that noticed. */
  readonly by?: string
  /** How many files of tests were run, or could have been. */
  readonly tests: number
  readonly seconds: number
}

interface Planned extends Mutant {
  readonly group: Group
}

const leastCaught = 0.95

/** Why each mutant that survives does so, by its id. */
const reasons = JSON.parse(
  readFileSync(new URL('survivors.json', import.meta.url), 'utf8'),
) as Record<string, string>

/** Prints the figures, and tells whether they are good enough. */
export function report(mutants: readonly Planned[], results: readonly Result[]): boolean {
  for (const line of figures(mutants, results)) console.log(line)
  const survivors = mutants.filter(
    ({ id }) => results.find((it) => it.id === id)?.outcome === 'survived',
  )
  const unexplained = survivors.filter(({ id }) => reasons[id] === undefined)
  for (const { id, file, line, operator, was, becomes } of unexplained)
    console.log(`SURVIVED ${id} ${file}:${line} ${operator}: ${was} -> ${becomes}`)
  const share = caughtShare(results)
  if (share < leastCaught) console.log(`Only ${(share * 100).toFixed(1)} % were caught`)
  return unexplained.length === 0 && share >= leastCaught
}

function figures(mutants: readonly Planned[], results: readonly Result[]): string[] {
  const names = [...new Set(mutants.map(({ group }) => group.name))]
  const of = (name: string) => {
    const ids = new Set(mutants.filter(({ group }) => group.name === name).map(({ id }) => id))
    return results.filter(({ id }) => ids.has(id))
  }
  const row = (name: string, found: readonly Result[]) => {
    const count = (outcome: MutantOutcome) => found.filter((it) => it.outcome === outcome).length
    const valid = found.length - count('invalid')
    const share = `${(caughtShare(found) * 100).toFixed(1)} %`
    return `| ${name} | ${valid} | ${count('caught')} | ${count('timeout')} | ${count('survived')} | ${share} |`
  }
  return [
    '| Part | Mutants | Caught | Timed out | Survived | Caught |',
    '|---|---|---|---|---|---|',
    ...names.map((name) => row(name, of(name))),
    row('All', results),
  ]
}

function caughtShare(results: readonly Result[]): number {
  const valid = results.filter(({ outcome }) => outcome !== 'invalid')
  const caught = valid.filter(({ outcome }) => outcome !== 'survived')
  return valid.length === 0 ? 1 : caught.length / valid.length
}

/** The document. */
export function mutationTable(mutants: readonly Planned[], results: readonly Result[]): string {
  const survivors = mutants.filter(
    ({ id }) => results.find((it) => it.id === id)?.outcome === 'survived',
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
    '| Mutant | Where | Change | Why no test notices |',
    '|---|---|---|---|',
    ...survivors.map(
      ({ id, file, operator, was, becomes }) =>
        `| ${id} | ${file} | ${operator}: ${code(was)} to ${code(becomes)} | ${reasons[id] ?? '**not explained**'} |`,
    ),
    '',
  ].join('\n')
}
