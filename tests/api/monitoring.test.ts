import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { root, startArchive } from '../support/harness.ts'
import { until } from '../support/until.ts'

// The alert rules and the dashboard in deploy/, compared with the metrics of a running archive and
// with the runbooks in docs/operations.md.

const snapshots = mkdtempSync(join(tmpdir(), 'talkshelf-snapshots-'))
after(() => rmSync(snapshots, { recursive: true }))
// Everything that adds metrics.
const archive = await startArchive({
  EDGE: 'varnish:http://127.0.0.1:1',
  EDGE_TOKEN: 'a-token-of-the-tests',
  MAINTENANCE_HOURS: '24',
  SNAPSHOT_DIR: snapshots,
  SNAPSHOT_HOUR: '0',
  REPLICA_URLS: 'postgres://nobody@127.0.0.1:1/none',
  CHECK_LINKS: 'on',
  PUBLIC_URL: 'https://talks.example.org',
})
await archive.make()
await until('a snapshot and the maintenance', async () => {
  const { text } = await archive.call('GET', '/metrics')
  assert.match(text, /^talkshelf_snapshot_timestamp_seconds [1-9]/m)
  assert.match(text, /^talkshelf_maintenance_finished_timestamp_seconds{task="tokens"} [1-9]/m)
  return true
})
const { text: metrics } = await archive.call('GET', '/metrics')

/** The names of all samples, with those of the parts of histograms. */
const names = new Set(
  [...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
)

const folder = join(root, 'deploy/prometheus')
interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: Record<string, string>
}
const { groups } = parse(readFileSync(join(folder, 'talkshelf.rules.yml'), 'utf8')) as {
  groups: { rules: Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

interface Panel {
  title: string
  targets?: { expr: string }[]
}
const { panels } = JSON.parse(
  readFileSync(join(root, 'deploy/grafana/talkshelf.json'), 'utf8'),
) as { panels: Panel[] }

/** Returns the names of metrics in a query. */
function namesIn(query: string): string[] {
  const all = [...query.matchAll(/\b([a-z][a-z0-9_]*)(?=\s*\{)/g)].map(([, name = '']) => name)
  assert.ok(all.length > 0, `no metric with a selector in ${query}`)
  return all
}

test('every metric of the alert rules and the dashboard exists', () => {
  assert.ok(rules.length >= 19)
  const queries = [
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [title, expr] as const),
    ),
  ]
  const unknown = queries.flatMap(([title, query]) =>
    namesIn(query)
      // Prometheus itself adds this one.
      .filter((name) => name !== 'up' && !names.has(name))
      .map((name) => `${title}: ${name}`),
  )
  assert.deepEqual(unknown, [])
})

test('every metric of Talkshelf is on the dashboard', () => {
  const shown = new Set(
    panels.flatMap(({ targets = [] }) => targets.flatMap((t) => namesIn(t.expr))),
  )
  const missing = [...names].filter((name) => name.startsWith('talkshelf_') && !shown.has(name))
  assert.deepEqual(missing, ['talkshelf_edge_repeated_keys_total'])
})

test('every alert has a runbook, and every runbook an alert', () => {
  const operations = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  const headings = [...operations.matchAll(/^#+ (Talkshelf\w+)$/gm)].map(([, name = '']) => name)
  assert.deepEqual(headings.sort(), rules.map(({ alert }) => alert).sort())
  for (const { alert, annotations, labels } of rules) {
    assert.equal(annotations.runbook, `docs/operations.md#${alert.toLowerCase()}`)
    assert.match(labels.severity, /^(critical|warning|info)$/)
    assert.ok(annotations.summary && annotations.description, alert)
  }
})

test('every alert has a test', () => {
  const { tests } = parse(readFileSync(join(folder, 'talkshelf.test.yml'), 'utf8')) as {
    tests: { name: string; alert_rule_test: { alertname: string }[] }[]
  }
  const [healthy, ...others] = tests
  const alerts = rules.map(({ alert }) => alert)
  assert.deepEqual(
    healthy?.alert_rule_test.map(({ alertname }) => alertname),
    alerts,
  )
  assert.deepEqual(
    others.map(({ name }) => name),
    alerts,
  )
})

/** Tells why promtool cannot be run; false if it can. */
function promtoolMissing(): string | false {
  const { status } = spawnSync('promtool', ['--version'])
  return status === 0 ? false : 'promtool is not installed: apt install prometheus'
}

function promtool(args: string[], input = ''): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    cwd: folder,
    input,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout + stderr)
}

test('promtool accepts the rules, the configuration and the metrics', {
  skip: promtoolMissing(),
}, () => {
  promtool(['check', 'rules', 'talkshelf.rules.yml'])
  promtool(['check', 'config', '--syntax-only', 'prometheus.yml'])
  promtool(['test', 'rules', 'talkshelf.test.yml'])
  promtool(['check', 'metrics'], metrics)
})
