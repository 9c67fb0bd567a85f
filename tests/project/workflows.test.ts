import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { root } from '../support/harness.ts'

// Workflows and forms of .github, as far as they can be checked without GitHub: keys, privileges, our
// own rules, and that what they run exists. This is no substitute for actionlint. Not checked: that
// the actions exist in these versions, and that a release reaches npm and the image registry.

interface Job {
  uses?: string
  needs?: string | string[]
  'runs-on'?: string
  steps?: { uses?: string; run?: string; with?: Record<string, unknown> }[]
  permissions?: Record<string, string>
  'timeout-minutes'?: number
  strategy?: { matrix?: { entry?: string[]; include?: { runner?: string }[] } }
}

interface Workflow {
  permissions?: Record<string, string>
  jobs: Record<string, Job>
}

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const workflowKeys = ['name', 'on', 'permissions', 'concurrency', 'env', 'jobs']
const jobKeys = [
  ...['name', 'needs', 'if', 'strategy', 'runs-on', 'container', 'timeout-minutes', 'permissions'],
  ...['environment', 'concurrency', 'env', 'steps', 'uses'],
]
const stepKeys = ['id', 'name', 'if', 'uses', 'run', 'with', 'env']

const files = globSync('.github/workflows/*.yml', { cwd: root }).sort()
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

/** Permissions that a job may have beyond reading the sources. */
const grants: Record<string, string[]> = {
  'codeql.yml analyze': ['security-events'],
  'release.yml image': ['packages'],
  'release.yml npm': ['id-token'],
  'release.yml release': ['contents'],
  'release.yml sign': ['id-token', 'packages'],
  'site.yml deploy': ['id-token', 'pages'],
}

/** Returns what breaks our rules. */
function findMistakes(text: string, file: string): string[] {
  const found: string[] = []
  const workflow = parse(text) as Workflow
  const name = file.replace('.github/workflows/', '')
  const requireKnown = (object: object, keys: readonly string[]) => {
    for (const key of Object.keys(object)) if (!keys.includes(key)) found.push(`${key} is unknown`)
  }
  requireKnown(workflow, workflowKeys)
  if (JSON.stringify(workflow.permissions) !== '{"contents":"read"}')
    found.push('a workflow may only read the sources; jobs ask for more')
  for (const [id, job] of Object.entries(workflow.jobs)) {
    requireKnown(job, jobKeys)
    for (const step of job.steps ?? []) requireKnown(step, stepKeys)
    if (!job.uses && !job['runs-on']) found.push(`${id} has no runner`)
    for (const other of [job.needs ?? []].flat())
      if (!Object.hasOwn(workflow.jobs, other)) found.push(`${id} needs ${other}, which is unknown`)
    const matrix = [...JSON.stringify(job).matchAll(/matrix\.(\w+)/g)].map(([, key = '']) => key)
    for (const key of matrix)
      if (!JSON.stringify(job.strategy?.matrix ?? {}).includes(`"${key}":`))
        found.push(`${id} uses matrix.${key}, which is unknown`)
    const writes = Object.entries(job.permissions ?? {})
      .filter(([, access]) => access !== 'read')
      .map(([scope]) => scope)
    if (String(writes.sort()) !== String(grants[`${name} ${id}`] ?? []))
      found.push(`${id} may write: ${writes}`)
    if (!job.uses && job['timeout-minutes'] === undefined) found.push(`${id} has no time limit`)
    for (const { uses, run, with: inputs } of job.steps ?? []) {
      if (uses !== undefined && !/^[\w-]+\/[\w/-]+@(v\d+|[0-9a-f]{40})$/.test(uses))
        found.push(`${uses} is pinned neither by a major version nor by a commit`)
      if (uses?.startsWith('actions/checkout@') && inputs?.['persist-credentials'] !== false)
        found.push(`${id} leaves credentials in the working copy`)
      if (run !== undefined) found.push(...findInRun(run))
    }
  }
  const steps = Object.values(workflow.jobs).flatMap(({ steps = [] }) => steps)
  const input = steps.map(({ run = '' }) => run).join('\n')
  const { status, stderr } = spawnSync('bash', ['-n'], { input, encoding: 'utf8' })
  if (status !== 0) found.push(stderr)
  return found
}

/** Returns what is wrong with a script of a step. */
function findInRun(run: string): string[] {
  const found: string[] = []
  // Expanded before the shell sees it: names of branches and tags would be code.
  if (run.includes('${{')) found.push(`Pass it by the environment: ${run}`)
  for (const [, script = ''] of run.matchAll(/npm run (?:--silent )?([\w-]+)/g))
    if (!Object.hasOwn(scripts, script)) found.push(`package.json has no script ${script}`)
  for (const [, path = ''] of run.matchAll(/(?:^|\s)(?:bash|sh|node) ([\w./-]+)/g))
    if (!existsSync(join(root, path))) found.push(`there is no ${path}`)
  return found
}

test('the workflows follow the rules, and what they run exists', () => {
  assert.equal(files.length, 5)
  for (const file of files) {
    assert.deepEqual(findMistakes(read(file), file), [], file)
  }
})

test('each rule finds its mistake', () => {
  const file = '.github/workflows/ci.yml'
  const text = read(file).replaceAll(/^#.*\n/gm, '')
  const broken: [from: string, to: string, expected: RegExp][] = [
    ['contents: read', 'contents: write', /may only read/],
    ['timeout-minutes: 120', 'continue-on-error: false', /tests has no time limit/],
    ['@v5', '@main', /pinned neither/],
    ['persist-credentials: false', 'persist-credentials: true', /leaves credentials/],
    ['bash .ci/run', 'bash .ci/runs', /there is no \.ci\/runs/],
    ['npm run supply-chain', 'npm run supply', /no script supply/],
    ['run: bash', 'run: if bash', /syntax error/],
    ['bash .ci/run', `echo $${'{{ github.head_ref }}'}`, /by the environment/],
    ['runs-on', 'run-on', /run-on is unknown[\s\S]*has no runner/],
    ['matrix.runner', 'matrix.run', /matrix\.run, which is unknown/],
    ['    timeout-minutes: 20', '    needs: nothing', /needs nothing, which is unknown/],
    [
      '    timeout-minutes: 20',
      '    timeout-minutes: 20\n    permissions: {packages: write}',
      /may/,
    ],
  ]
  for (const [from, to, expected] of broken) {
    assert.ok(text.includes(from), from)
    assert.match(findMistakes(text.replace(from, to), file).join('\n'), expected, to)
  }
})

test('both processors are tested, and every nightly run is run', () => {
  const ci = parse(read('.github/workflows/ci.yml')) as Workflow
  const runners = ci.jobs.tests?.strategy?.matrix?.include?.map(({ runner }) => runner)
  assert.deepEqual(runners, ['ubuntu-24.04', 'ubuntu-24.04-arm'])
  const nightly = parse(read('.github/workflows/nightly.yml')) as Workflow
  const words = nightly.jobs['long-run']?.strategy?.matrix?.entry ?? []
  const names = [...read('tests/nightly.ts').matchAll(/^ {2}\['([^']+)', /gm)].map(
    ([, it = '']) => it,
  )
  assert.ok(names.length > 10)
  for (const name of names)
    assert.ok(
      words.some((word) => name.includes(word)),
      name,
    )
  for (const word of words)
    assert.ok(
      names.some((name) => name.includes(word)),
      word,
    )
})

interface Form {
  name: string
  description: string
  body: {
    type: string
    id?: string
    attributes: { label?: string; value?: string; options?: string[] }
  }[]
}

test('the issue forms have what GitHub asks for', () => {
  const forms = globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: root })
    .filter((file) => !file.endsWith('config.yml'))
    .sort()
  assert.deepEqual(
    forms.map((file) => file.replace(/.*\//, '')),
    ['bug.yml', 'feature.yml', 'installation.yml'],
  )
  for (const file of forms) {
    const { name, description, body } = parse(read(file)) as Form
    assert.ok(name && description, file)
    const inputs = body.filter(({ type }) => type !== 'markdown')
    assert.ok(inputs.length > 0, file)
    assert.equal(new Set(inputs.map(({ id }) => id)).size, inputs.length, file)
    assert.equal(new Set(inputs.map(({ attributes }) => attributes.label)).size, inputs.length)
    for (const { type, id, attributes } of body) {
      assert.ok(['markdown', 'textarea', 'input', 'dropdown'].includes(type), `${file} ${type}`)
      if (type === 'markdown') assert.ok(attributes.value, file)
      else assert.ok(id && /^[a-z-]+$/.test(id) && attributes.label, `${file} ${id}`)
      if (type === 'dropdown') assert.ok((attributes.options?.length ?? 0) > 1, `${file} ${id}`)
    }
  }
})
