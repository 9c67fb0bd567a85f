// npm run nightly -- [--only word]... [--list]
//
// Runs everything that takes too long for each change, one after the other. Continues after a
// failure.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './support/harness.ts'

/** Records of a real archive; entries that need them are skipped if the file is missing. */
const talks = '../shared/data/pyvideo.ndjson.gz'

/** Inputs that break a parser are saved here. */
const findings = join(tmpdir(), 'talkshelf-fuzz-findings')

/** Name, command, and whether it needs the talks. One line each. */
const entries: readonly (readonly [name: string, command: string, needs?: 'talks'])[] = [
  ['supply chain', 'npm run supply-chain'],
  ['installs', 'npm run installs'],
  ['openapi tools', 'npm run openapi-tools'],
  ['monitoring', 'npm run monitoring'],
  ['fuzz', `npm run fuzz -- --inputs 1000000 --save ${findings}`],
  ['properties', 'npm run properties -- --cases 1000000'],
  ['two editors', 'MERGE_RUNS=10000 npm test -- /merge-edit.test'],
  ['connection cuts', 'CUTS=all npm test -- /connection-cuts.test'],
  ['import mutations', 'npm run import-mutations -- --cases 100000 --lanes 2'],
  ['import model', 'npm run import-model -- --sequences 20000 --lanes 2'],
  ['mutants', 'npm run mutants'],
  ['faults', 'npm run faults'],
  ['faults of the cluster', 'npm run faults -- cluster'],
  ['upgrade', 'npm run upgrade'],
  ['follow', 'npm run follow'],
  ['links', 'npm run links'],
  ['browser', `npm run with-talks -- ${talks} 'npm run browser'`, 'talks'],
  ['match', 'npm run match'],
  ['decisions of matches', 'MATCH_SEQUENCES=1000 npm test -- /match-decisions.test'],
  ['relevance', `npm run with-talks -- ${talks} 'npm run relevance'`, 'talks'],
  ['roundtrip', `npm run with-talks -- ${talks} 'npm run roundtrip -- ${talks}'`, 'talks'],
  ['suggestions', 'SUGGESTION_RUNS=200 npm test -- /suggestion-races.test'],
  ['hostile suggestions', 'npm run hostile-suggestions'],
  ['soak', 'npm run soak'],
]

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
  },
})
const chosen = entries.filter(
  ([name]) => values.only.length === 0 || values.only.some((word) => name.includes(word)),
)
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
const used = entries.flatMap(([, command]) =>
  [...command.matchAll(/npm run ([\w-]+)/g)].map(([, script = '']) => script),
)
const unknown = used.filter((script) => !Object.hasOwn(scripts, script))
if (unknown.length > 0) throw new Error(`package.json has no script ${unknown.join(', ')}`)

process.exitCode = values.list ? list() : await runAll()

function list(): number {
  for (const [name, command] of chosen) console.log(`${name.padEnd(22)} ${command}`)
  return chosen.length > 0 ? 0 : 1
}

async function runAll(): Promise<number> {
  const rows: { name: string; result: string; minutes: string }[] = []
  for (const [name, command, needs] of chosen) {
    console.log(`\n=== ${name}: ${command}`)
    const startedMs = performance.now()
    const result =
      needs === 'talks' && !existsSync(join(root, talks)) ? 'skipped: no talks' : await run(command)
    rows.push({ name, result, minutes: ((performance.now() - startedMs) / 60_000).toFixed(1) })
  }
  console.log()
  console.table(rows)
  const hasFailed = rows.length === 0 || rows.some(({ result }) => result.startsWith('FAILED'))
  return hasFailed ? 1 : 0
}

async function run(command: string): Promise<string> {
  const child = spawn('sh', ['-c', command], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  return code === 0 ? 'passed' : `FAILED with ${signal ?? code}`
}
