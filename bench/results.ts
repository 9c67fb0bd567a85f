import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, release, totalmem } from 'node:os'
import { join, relative } from 'node:path'
import { root } from '../tests/support/harness.ts'
import { type Measured, median } from './measures.ts'
import type { BenchEnvironment } from './stage.ts'

/** For people: a table in Markdown, its columns lined up. */
export function resultsTable(measured: readonly Measured[]): string {
  const head = [
    'What',
    'Against',
    'Ours',
    'Reference',
    'Ratio',
    'Rounds',
    'Floor',
    'Goal',
    'p99',
    'CPU each',
    'CPU ratio',
    'Others',
    'Verdict',
  ]
  const rows = measured.map((it) => {
    const isRatio = it.unit === 'a second'
    const of = (value: (round: Measured['rounds'][number]) => number | undefined) =>
      median(it.rounds.map((round) => value(round) ?? Number.NaN))
    const figure = (value: number) =>
      Number.isNaN(value)
        ? ''
        : `${value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en')}`
    const spread = it.rounds.map(({ ours, reference = 1 }) => ours / reference)
    const shown = (value: number | undefined) =>
      value === undefined ? '' : isRatio ? value.toFixed(2) : figure(value)
    const ofUnit = (text: string, unit: string) => (text === '' ? '' : `${text} ${unit}`)
    return [
      it.name,
      it.against,
      `${figure(of(({ ours }) => ours))} ${isRatio ? '/s' : it.unit}`,
      ofUnit(figure(of(({ reference }) => reference)), '/s'),
      isRatio ? it.median.toFixed(2) : '',
      `${shown(Math.min(...spread))} to ${shown(Math.max(...spread))}`,
      shown(it.floor),
      shown(it.goal),
      ofUnit(figure(of(({ p99Ms }) => p99Ms)), 'ms'),
      ofUnit(figure(of(({ cpuUs }) => cpuUs)), 'us'),
      isRatio
        ? of(
            ({ cpuUs = Number.NaN, referenceCpuUs = Number.NaN }) => referenceCpuUs / cpuUs,
          ).toFixed(2)
        : '',
      ofUnit(
        figure(
          of(({ othersShare }) => (othersShare === undefined ? undefined : othersShare * 100)),
        ),
        '%',
      ),
      it.verdict,
    ]
  })
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] as string).length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] as number)).join(' | ')} |`
  return [
    line(head),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n')
}

/** Keeps the figures with what is needed to read them later; returns where. */
export function saveResults(
  stage: BenchEnvironment,
  measured: readonly Measured[],
  run: { quick: boolean; rounds: number; seconds: number },
): string {
  const machine = {
    processor:
      /^model name\s*: (.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'unknown',
    processors: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.versions.node,
    postgres: stage.postgres,
    wrk: /\[epoll\]|wrk (\S+)/.exec(said('wrk', '-v'))?.[1] ?? 'unknown',
    commit:
      said('git', 'rev-parse', '--short', 'HEAD').trim() +
      (said('git', 'status', '--porcelain', '--untracked-files=no') === '' ? '' : ' and changes'),
    date: new Date().toISOString().slice(0, 16),
  }
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, run.quick ? 'quick' : 'full')
  const about = {
    ...machine,
    records: stage.records,
    seedSeconds: Math.round(stage.seedSeconds),
    ...run,
  }
  writeFileSync(`${file}.json`, `${JSON.stringify({ about, measured }, null, 2)}\n`)
  const described = Object.entries(about).map(([name, value]) => `- ${name}: ${value}`)
  writeFileSync(
    `${file}.md`,
    `# What npm run bench measured\n\n${described.join('\n')}\n\n${resultsTable(measured)}\n`,
  )
  return `${relative(root, file)}.md`
}

function said(program: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  return `${stdout ?? ''}${stderr ?? ''}`
}
