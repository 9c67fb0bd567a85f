// npm run monitoring -- [--seconds 45] [--screenshot FILE]
//
// Lets a real Prometheus scrape a real archive under light load, and runs every query of the
// dashboard and every alert rule in deploy/: that each query has data with the labels of its
// legend, that no alert is active in a healthy archive, and that alerts are raised when PostgreSQL
// and then the archive are stopped. --screenshot saves the graph page of Prometheus.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { parse, stringify } from 'yaml'
import { startChromium } from './browser/chromium.ts'
import { startChecks } from './support/checks.ts'
import { startPrimary, startReplica } from './support/cluster.ts'
import { freePort } from './support/free-port.ts'
import { category, type OpenArchive, openArchive, type Reply, root } from './support/harness.ts'
import { importClient } from './support/import-client.ts'
import { installMissing } from './support/install.ts'
import { migratedDatabase, type Postgres } from './support/postgres.ts'
import { until } from './support/until.ts'
import { edgeToken, startVarnish } from './support/varnish.ts'
import { startReceiver } from './support/webhook-receiver.ts'

const job = 'talkshelf'
const scrapeSeconds = 2
/** What Grafana computes for this interval: four scrapes. */
const rateInterval = `${4 * scrapeSeconds}s`
const metricsToken = 'a-token-of-the-monitoring-test'

/** Alert rules that measure nothing in a healthy archive, and why. */
const withoutData: Readonly<Record<string, string>> = {
  TalkshelfErrors: 'no response has a status of 5xx',
  TalkshelfFollowedSourcesFailing: 'the metric has only states that a source is in',
  TalkshelfFollowedSourcesLate: 'the metric exists only while a source is due',
  TalkshelfVideosLost: 'it is compared with the day before',
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { expr: string; legendFormat: string; instant?: boolean }[]
}
interface Rule {
  readonly alert: string
  readonly expr: string
}
interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (readonly [number, string])[]
}

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '45' }, screenshot: { type: 'string' } },
})
const loadSeconds = Number(options.seconds)
if (!(loadSeconds >= 10 && loadSeconds <= 3600)) throw new Error('--seconds must be 10 to 3600')

const cleanups: (() => unknown)[] = []
const { check, finish } = startChecks()
process.exitCode = await main()

async function main(): Promise<number> {
  const isInstalled = installMissing([
    { package: 'prometheus', program: 'prometheus' },
    // It depends on varnish.
    { package: 'varnish-modules', program: 'varnishd' },
  ])
  if (!isInstalled) throw new Error('Install the Debian packages prometheus and varnish-modules')
  try {
    await run()
  } finally {
    for (const step of cleanups.reverse()) await step()
  }
  return finish()
}

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-monitoring-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const { archive, postgres, stopArchive } = await startEverything(folder)
  const prometheus = await startPrometheus(folder, new URL(archive.url).host)
  const startS = Date.now() / 1000
  console.log(`Prometheus scrapes ${archive.url} for ${loadSeconds} s`)
  await useArchive(archive, loadSeconds)
  const endS = Date.now() / 1000

  if (options.screenshot) await takeScreenshot(prometheus, options.screenshot)
  await checkDashboard(prometheus, startS, endS)
  await checkRules(prometheus)

  await postgres.stop()
  await check('TalkshelfDatabaseDown becomes active when PostgreSQL is stopped', () =>
    waitForAlert(prometheus, 'TalkshelfDatabaseDown'),
  )
  await check('TalkshelfErrors becomes active when requests fail', () =>
    waitForAlert(prometheus, 'TalkshelfErrors', async () => {
      for (let id = 1; id <= 10; id++) await archive.call('GET', `/api/v2/video/${id}/revisions/1`)
      await archive.call('GET', '/api/v2/category')
    }),
  )
  await stopArchive()
  await check('TalkshelfDown becomes active when the archive is stopped', async () => {
    await waitForAlert(prometheus, 'TalkshelfDown')
    assert.deepEqual(await query(prometheus, `up{job="${job}"}`).then(valuesOf), [0])
  })
}

/** Starts an archive that has all metrics, with everything that they are about. */
async function startEverything(
  folder: string,
): Promise<{ archive: OpenArchive; postgres: Postgres; stopArchive: () => Promise<void> }> {
  const postgres = await startPrimary()
  cleanups.push(() => postgres.stop())
  const databaseUrl = await migratedDatabase(postgres, 'talkshelf')
  const replica = await startReplica(postgres)
  cleanups.push(() => replica.kill())

  const table = createServer((_, response) => {
    response.end('title\nA followed talk\n')
  }).listen(0, '127.0.0.1')
  await once(table, 'listening')
  cleanups.push(() => table.close())
  const { port } = table.address() as AddressInfo
  const receiver = await startReceiver()
  cleanups.push(() => receiver.close())

  const edgePort = await freePort()
  const archive = await openArchive(
    databaseUrl,
    {
      EDGE: `varnish:http://127.0.0.1:${edgePort}`,
      EDGE_URL: `http://127.0.0.1:${edgePort}`,
      EDGE_TOKEN: edgeToken,
      CHECK_LINKS: 'on',
      PUBLIC_URL: 'https://talks.example.org',
      MAINTENANCE_HOURS: '24',
      METRICS_TOKEN: metricsToken,
      REPLICA_URLS: replica.url('talkshelf', 'talkshelf'),
      RESUME_SECONDS: '1',
      SNAPSHOT_DIR: folder,
      SNAPSHOT_HOUR: '0',
      WEBHOOK_PRIVATE: '127.0.0.0/8',
    },
    { ports: [port], isAllowed: (ip, to) => ip === '127.0.0.1' && to === port },
  )
  let stopped: Promise<void> | undefined
  const stopArchive = () => {
    stopped ??= archive.close()
    return stopped
  }
  cleanups.push(stopArchive)
  const varnish = await startVarnish(edgePort, Number(new URL(archive.url).port))
  cleanups.push(() => varnish.stop())

  const { admin } = archive
  const send = (method: string, path: string, body?: object) =>
    archive.call(method, `/api/v2/${path}`, { token: admin, ...(body && { body }) }).then(succeeded)
  const followed = { category, language: 'English', format: 'csv' }
  await send('POST', 'followed-source', { url: `http://127.0.0.1:${port}/`, options: followed })
  const { webhook } = await send('POST', 'webhook', { url: receiver.url })
  await send('POST', `webhook/${webhook.id}/ping`)
  const { id } = await archive.make({ source_url: 'https://videos.example.org/gone.mp4' })
  const { results } = await send('GET', `video/${id}/sources`)
  const pin = { state: 'gone', until: '2999-12-31' }
  await send('PATCH', `source/${results[0].id}`, { pin })
  return { archive, postgres, stopArchive }
}

function succeeded({ status, text, json }: Reply): Reply['json'] {
  assert.ok(status < 300, `${status} ${text}`)
  return json
}

/** Starts Prometheus with the configuration and the rules of deploy/. Returns its URL. */
async function startPrometheus(folder: string, target: string): Promise<string> {
  const deploy = join(root, 'deploy/prometheus')
  cpSync(join(deploy, 'talkshelf.rules.yml'), join(folder, 'talkshelf.rules.yml'))
  const config = parse(readFileSync(join(deploy, 'prometheus.yml'), 'utf8'))
  config.global = {
    scrape_interval: `${scrapeSeconds}s`,
    scrape_timeout: `${scrapeSeconds}s`,
    evaluation_interval: `${scrapeSeconds}s`,
  }
  config.scrape_configs[0].static_configs[0].targets = [target]
  writeFileSync(join(folder, config.scrape_configs[0].authorization.credentials_file), metricsToken)
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config))
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output = (output + data).slice(-5000)))
  cleanups.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  await until('Prometheus to scrape the archive', async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended:\n${output}`)
    return valuesOf(await query(url, `up{job="${job}"}`))[0] === 1
  })
  return url
}

/** Reads and writes at a low rate for some seconds. */
async function useArchive(archive: OpenArchive, seconds: number): Promise<void> {
  const { editor: token, call } = archive
  const imports = importClient(archive, token)
  const deadlineMs = performance.now() + seconds * 1000
  const talk = await archive.make()
  for (let number = 1; performance.now() < deadlineMs; number++) {
    const { id, slug } = await archive.make({
      title: `Talk ${number}`,
      speakers: [`Speaker ${number}`],
    })
    for (let repeat = 0; repeat < 5; repeat++) succeeded(await call('GET', `/api/v2/video/${id}`))
    for (const path of ['/', `/video/${id}/${slug}`, '/search?q=talk', '/api/v2/video?q=talk'])
      succeeded(await call('GET', path))
    await call('GET', '/api/v2/video/999999')
    if (number === 2) {
      const suggestion = { kind: 'correction', video: talk.id, fields: { title: 'A better title' } }
      succeeded(await call('POST', '/api/v2/suggestion', { body: suggestion }))
      const title = 'Example Days'
      const path = '/api/v2/category/example-days-2026'
      succeeded(await call('PATCH', path, { body: { title }, token }))
    }
    if (number % 5 === 3) {
      const text = `title,language\nImported talk ${number},en\n`
      await imports.apply((await imports.plan({ text, name: 'talks.csv', category })).id)
    }
    await sleep(300)
  }
}

async function checkDashboard(prometheus: string, startS: number, endS: number): Promise<void> {
  const { panels, templating } = JSON.parse(
    readFileSync(join(root, 'deploy/grafana/talkshelf.json'), 'utf8'),
  ) as { panels: Panel[]; templating: { list: { name: string; definition?: string }[] } }
  await check('dashboard: the variable job has the job', async () => {
    const { definition = '' } = templating.list.find(({ name }) => name === 'job') ?? {}
    const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? []
    assert.deepEqual(await get(prometheus, `label/${label}/values`, { 'match[]': metric }), [job])
  })
  const targets = panels.flatMap(({ title, targets = [] }) =>
    targets.map((target) => ({ title, ...target })),
  )
  for (const { title, expr, legendFormat, instant = false } of targets) {
    const name = `${title}, ${legendFormat}`
    await check(`dashboard: ${name}`, async () => {
      const text = expr.replaceAll('$job', job).replaceAll('$__rate_interval', rateInterval)
      const series = instant
        ? await query(prometheus, text)
        : await queryRange(prometheus, text, startS, endS)
      const hasData = valuesOf(series).some(Number.isFinite)
      assert.ok(hasData, `no data: ${text}`)
      const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      for (const { metric } of series)
        for (const label of labels) assert.ok(metric[label], `a series has no label ${label}`)
    })
  }
}

async function checkRules(prometheus: string): Promise<void> {
  const { groups } = parse(
    readFileSync(join(root, 'deploy/prometheus/talkshelf.rules.yml'), 'utf8'),
  ) as { groups: { rules: Rule[] }[] }
  const rules = groups.flatMap((group) => group.rules)
  const loaded = await until('the rules to be evaluated', async () => {
    const all = (await readRules(prometheus)).filter(({ health }) => health !== 'unknown')
    return all.length === rules.length && all
  })
  for (const { alert, expr } of rules) {
    const reason = withoutData[alert]
    const subject = reason ? `is evaluated (without data: ${reason})` : 'is evaluated, has data'
    await check(`alert rule: ${alert} ${subject} and is not active`, async () => {
      // Under load, a rule may be pending for a moment.
      await until(`${alert} to be inactive`, async () => {
        const rule = (await readRules(prometheus)).find(({ name }) => name === alert)
        assert.deepEqual([rule?.health, rule?.state], ['ok', 'inactive'], rule?.lastError)
        return true
      })
      for (const part of measuredParts(expr)) {
        const series = await query(prometheus, part)
        assert.ok(series.length > 0 || reason, `no data: ${part}`)
      }
    })
  }
  const unknown = Object.keys(withoutData).filter((name) => !loaded.some((it) => it.name === name))
  await check('every rule without data exists', () => assert.deepEqual(unknown, []))
}

/**
 * Returns what a rule measures: the operands of its comparisons, each of which has data in a
 * healthy archive. What absent() is about is an operand, too.
 */
function measuredParts(expr: string): string[] {
  const parts = expr
    .split(/\b(?:or|unless)\b(?![^{]*\})/)
    .map((part) => part.replace(/\s(==|>)\s*[\d.]+( \* [\d.]+)?\s*$/, '').trim())
    .map((part) => part.replace(/^absent\((.*)\)$/s, '$1'))
  // A comparison that is left would hide that a part has no data.
  for (const part of parts) assert.doesNotMatch(part, /\s(==|!=|<|>)\s/, part)
  return parts
}

interface LoadedRule {
  readonly name: string
  readonly state: string
  readonly health: string
  readonly lastError?: string
}

async function readRules(prometheus: string): Promise<LoadedRule[]> {
  const { groups } = (await get(prometheus, 'rules')) as { groups: { rules: LoadedRule[] }[] }
  return groups.flatMap((group) => group.rules)
}

/** Waits until an alert is pending or firing. Repeats its cause until then. */
async function waitForAlert(
  prometheus: string,
  alert: string,
  cause: () => Promise<void> = async () => {},
): Promise<void> {
  await until(alert, async () => {
    await cause()
    const rule = (await readRules(prometheus)).find(({ name }) => name === alert)
    return rule?.state === 'pending' || rule?.state === 'firing'
  })
}

async function query(prometheus: string, text: string): Promise<Series[]> {
  const { result } = (await get(prometheus, 'query', { query: text })) as {
    result: { metric: Series['metric']; value: [number, string] }[]
  }
  return result.map(({ metric, value }) => ({ metric, values: [value] }))
}

/** Runs a query as Grafana does for a graph of this time. */
async function queryRange(
  prometheus: string,
  text: string,
  startS: number,
  endS: number,
): Promise<readonly Series[]> {
  const [start, end, step] = [startS, endS, scrapeSeconds].map(String) as [string, string, string]
  const data = await get(prometheus, 'query_range', { query: text, start, end, step })
  return (data as { result: Series[] }).result
}

/** Reads from the HTTP API of Prometheus. Throws its error, for example of a wrong query. */
async function get(
  prometheus: string,
  path: string,
  params: Record<string, string> = {},
): Promise<unknown> {
  const url = `${prometheus}/api/v1/${path}?${new URLSearchParams(params)}`
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) })
  const { status, error, data } = (await response.json()) as {
    status: string
    error?: string
    data?: unknown
  }
  assert.equal(status, 'success', `${error}: ${params.query}`)
  return data
}

function valuesOf(series: readonly Series[]): number[] {
  return series.flatMap(({ values }) => values.map(([, value]) => Number(value)))
}

/** Saves the graph page of Prometheus with two queries of the dashboard. */
async function takeScreenshot(prometheus: string, file: string): Promise<void> {
  const graphs = [
    `sum by (status) (rate(http_request_duration_seconds_count{job="${job}"}[${rateInterval}]))`,
    `sum by (route) (rate(http_request_duration_seconds_count{job="${job}"}[${rateInterval}]))`,
  ]
  const params = new URLSearchParams()
  for (const [index, expr] of graphs.entries()) {
    params.set(`g${index}.expr`, expr)
    params.set(`g${index}.tab`, '0')
    params.set(`g${index}.range_input`, `${Math.ceil(loadSeconds)}s`)
    params.set(`g${index}.step_input`, '1')
  }
  const browser = await startChromium()
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1560 } })
    await page.goto(`${prometheus}/graph?${params}`)
    for (const index of graphs.keys()) await page.locator('svg').nth(index).waitFor()
    await page.evaluate('scrollTo(0, 0)')
    writeFileSync(
      file,
      await sharp(await page.screenshot())
        .webp({ effort: 5 })
        .toBuffer(),
    )
  } finally {
    await browser.close()
  }
}
