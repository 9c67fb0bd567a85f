// What `npm run lighthouse` runs: node tests/browser/lighthouse.ts [--url http://...] [--talks
// file] Lighthouse's four scores of the main pages, on a phone and on a desktop. It brings 117
// packages and 181 MB, so it is no dependency of ours: it is installed into a temporary folder for
// the length of this run, or taken from the folder that LIGHTHOUSE names.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBrowserArchive } from './archive.ts'
import { examples } from './stage.ts'

const version = '13.5.0'
const least = 98
const categories = ['performance', 'accessibility', 'best-practices', 'seo'] as const
// What a search finds has nothing to tell search engines, on purpose: the page says noindex.
const without: Record<string, readonly string[]> = { found: ['is-crawlable'] }

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
    console.log(`${'page'.padEnd(18)}${categories.map((it) => it.padStart(16)).join('')}`)
    for (const [name, path] of Object.entries(pages))
      for (const device of ['phone', 'desktop'] as const) {
        const report = await run(
          command,
          archive.url + path,
          device,
          join(dir, `${name}-${device}.json`),
          without[name] ?? [],
        )
        const scores = categories.map((it) => Math.round((report.categories[it]?.score ?? 0) * 100))
        worst = Math.min(worst, ...scores)
        console.log(
          `${`${name}, ${device}`.padEnd(18)}${scores.map((it) => String(it).padStart(16)).join('')}`,
        )
        for (const [at, category] of categories.entries())
          if ((scores[at] ?? 0) < 100) explain(report, category)
      }
    console.log(`The worst score is ${worst}; at least ${least} are asked for`)
    return worst >= least ? 0 : 1
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
 * A busy machine loses the beginning of a recording now and then (NO_NAVSTART): then it is made
 * again.
 */
async function run(...args: Parameters<typeof runOnce>): Promise<Report> {
  for (let attempt = 1; ; attempt++) {
    const report = await runOnce(...args)
    if (!report.runtimeError) return report
    if (attempt === 3)
      throw new Error(`Lighthouse about ${args[1]}: ${report.runtimeError.message}`)
  }
}

async function runOnce(
  command: string,
  url: string,
  device: 'phone' | 'desktop',
  file: string,
  skipped: readonly string[],
): Promise<Report> {
  const flags =
    '--headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync'
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
    // It reports how it is used to its makers unless it is told not to.
    env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? '/usr/bin/chromium', CI: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 180_000,
  })
  let said = ''
  child.stderr.on('data', (data: Buffer) => (said += data))
  await once(child, 'close')
  if (!existsSync(file))
    throw new Error(`Lighthouse said nothing about ${url}:\n${said.slice(-2000)}`)
  return JSON.parse(readFileSync(file, 'utf8')) as Report
}

/** What the points were lost for. */
function explain({ categories, audits }: Report, category: string): void {
  for (const { id, weight } of categories[category]?.auditRefs ?? []) {
    const audit = audits[id]
    if (audit && weight > 0 && audit.score !== null && audit.score < 0.9)
      console.log(`    ${id}: ${audit.title} ${audit.displayValue ?? ''}`)
  }
}
