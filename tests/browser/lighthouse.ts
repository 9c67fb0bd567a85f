// npm run lighthouse -- [--url http://...] [--talks file]
//
// The four Lighthouse scores of the main pages, on a phone and on a desktop. Lighthouse has 117
// packages and 181 MB, so it is not a dependency: it is installed into a temporary folder for this
// run, or taken from the folder that LIGHTHOUSE names.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBrowserArchive } from './archive.ts'
import { chromiumPath } from './chromium.ts'
import { examples } from './environment.ts'

const version = '13.5.0'
const minScore = 98
const categories = ['performance', 'accessibility', 'best-practices', 'seo'] as const
// Search results are noindex on purpose.
const skippedAudits: Record<string, readonly string[]> = { found: ['is-crawlable'] }

interface Report {
  readonly categories: Record<
    string,
    {
      readonly score: number | null
      readonly auditRefs: readonly { readonly id: string; readonly weight: number }[]
    }
  >
  readonly audits: Record<
    string,
    { readonly title: string; readonly score: number | null; readonly displayValue?: string }
  >
  readonly runtimeError?: { readonly message: string }
}

const { values } = parseArgs({ options: { url: { type: 'string' }, talks: { type: 'string' } } })
process.exitCode = await main()

async function main(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'talkshelf-lighthouse-'))
  const archive = openBrowserArchive(values)
  try {
    const command = install(process.env.LIGHTHOUSE ?? dir)
    await archive.ready
    const { path } = await examples(archive)
    const pages = { home: '/', search: '/search', found: '/search?q=machine+learning', talk: path }
    let worst = 100
    const row = (label: string, cells: readonly (string | number)[]) =>
      console.log(label.padEnd(18) + cells.map((cell) => String(cell).padStart(16)).join(''))
    row('page', categories)
    for (const [name, path] of Object.entries(pages))
      for (const device of ['phone', 'desktop'] as const) {
        const report = await run(
          command,
          archive.url + path,
          device,
          join(dir, `${name}-${device}.json`),
          skippedAudits[name] ?? [],
        )
        const scores = categories.map((category) =>
          Math.round((report.categories[category]?.score ?? 0) * 100),
        )
        worst = Math.min(worst, ...scores)
        row(`${name}, ${device}`, scores)
        for (const [index, category] of categories.entries())
          if ((scores[index] ?? 0) < 100) explain(report, category)
      }
    console.log(`The worst score is ${worst}, the minimum is ${minScore}`)
    return worst >= minScore ? 0 : 1
  } finally {
    await archive.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

function install(folder: string): string {
  const command = join(folder, 'node_modules', 'lighthouse', 'cli', 'index.js')
  if (existsSync(command)) return command
  const args = [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--prefix',
    folder,
    `lighthouse@${version}`,
  ]
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Lighthouse could not be installed:\n${stderr}`)
  return command
}

/**
 * Runs Lighthouse, up to three times: on a busy machine it sometimes misses the start of the
 * navigation (NO_NAVSTART).
 */
async function run(...args: Parameters<typeof runOnce>): Promise<Report> {
  for (let attempt = 1; ; attempt++) {
    const report = await runOnce(...args)
    if (!report.runtimeError) return report
    if (attempt === 3)
      throw new Error(`Lighthouse failed for ${args[1]}: ${report.runtimeError.message}`)
  }
}

async function runOnce(
  command: string,
  url: string,
  device: 'phone' | 'desktop',
  file: string,
  skipped: readonly string[],
): Promise<Report> {
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ].join(' ')
  const args = [
    command,
    url,
    '--quiet',
    '--output=json',
    `--output-path=${file}`,
    `--chrome-flags=${flags}`,
  ]
  if (device === 'desktop') args.push('--preset=desktop')
  if (skipped.length > 0) args.push(`--skip-audits=${skipped.join(',')}`)
  const child = spawn(process.execPath, args, {
    // With CI set, it sends no usage statistics.
    env: { ...process.env, CHROME_PATH: chromiumPath(), CI: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 180_000,
  })
  let output = ''
  child.stderr.on('data', (data: Buffer) => (output += data))
  await once(child, 'close')
  if (!existsSync(file))
    throw new Error(`Lighthouse wrote no report for ${url}:\n${output.slice(-2000)}`)
  return JSON.parse(readFileSync(file, 'utf8')) as Report
}

/** Prints the audits that lowered a score. */
function explain({ categories, audits }: Report, category: string): void {
  for (const { id, weight } of categories[category]?.auditRefs ?? []) {
    const audit = audits[id]
    if (audit && weight > 0 && audit.score !== null && audit.score < 0.9)
      console.log(`    ${id}: ${audit.title} ${audit.displayValue ?? ''}`)
  }
}
