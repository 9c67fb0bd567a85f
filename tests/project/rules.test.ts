// Tests of the tools that enforce the rules of the project: in a copy of the tree, each rule is
// broken once.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import test, { after } from 'node:test'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'

const root = resolve(import.meta.dirname, '../..')

const source = (...lines: string[]) => lines.join('\n')

// zebra is a feature that follows the rules; the files in `breaks` break a rule each.
const validFiles: Record<string, string> = {
  'server/zebra/zebra.ts': source(
    "import { stripes } from './queries.ts'",
    'export const zebra = () => stripes',
  ),
  'server/zebra/queries.ts': source(
    "import sql from 'sql-template-tag'",
    'export const stripes = sql`select 1`',
  ),
  'server/zebra/routes.ts': source(
    "import type { FastifyInstance } from 'fastify'",
    "import { zebra } from './zebra.ts'",
    'export const routes = (app: FastifyInstance) => [app, zebra]',
  ),
  'server/zebra/zebra.test.ts': source(
    "import fc from 'fast-check'",
    "import pg from 'pg'",
    "import { shared } from '../../tests/shared.ts'",
    "import { stripes } from './queries.ts'",
    'export default [fc, pg, shared, stripes]',
  ),
  'server/yak/yak.ts': `import { zebra } from '../zebra/zebra.ts'\nexport const yak = zebra`,
  'server/platform/db/horn.ts': source(
    "import pg from 'pg'",
    "import sql from 'sql-template-tag'",
    'export const horn = [pg, sql]',
  ),
  'server/platform/http/hoof.ts': source(
    "import { fastify } from 'fastify'",
    "import { horn } from '../db/horn.ts'",
    'export const hoof = [fastify, horn]',
  ),
  'tests/shared.ts': `import pg from 'pg'\nexport const shared = pg`,
  'client/lion.ts': source(
    "import { endpoints } from '@talkshelf/contract'",
    'export const lion = endpoints',
  ),
  'client/lion.test.ts': source(
    "import { shared } from '../tests/shared.ts'",
    "import { lion } from './lion.ts'",
    'export default [lion, shared]',
  ),
  'web/page.ts': `import { endpoints } from '@talkshelf/contract'\nexport const page = endpoints`,
}

const breaks: { rule: string; files: Record<string, string> }[] = [
  {
    rule: 'no-cycles',
    files: {
      'server/zebra/left.ts': `import { right } from './right.ts'\nexport const left = () => right`,
      'server/zebra/right.ts': `import { left } from './left.ts'\nexport const right = () => left`,
    },
  },
  {
    rule: 'no-cycles',
    files: {
      'server/zebra/up.ts': `import type { Down } from './down.ts'\nexport type Up = Down | 1`,
      'server/zebra/down.ts': `import type { Up } from './up.ts'\nexport type Down = Up[]`,
    },
  },
  ...each('contract-is-independent', {
    'contract/a.ts': `import '../client/lion.ts'`,
    'contract/b.ts': `import { zebra } from '../server/zebra/zebra.ts'\nexport { zebra }`,
    'contract/c.ts': `import type { page } from '../web/page.ts'\nexport type Page = typeof page`,
  }),
  ...each('client-imports-only-contract', {
    'client/a.ts': `export * from '../server/zebra/zebra.ts'`,
    'client/b.ts': `export type { page } from '../web/page.ts'`,
  }),
  ...each('web-imports-only-contract', {
    'web/a.ts': source(
      "import type { zebra } from '../server/zebra/zebra.ts'",
      'export type Zebra = typeof zebra',
    ),
    'web/b.ts': `import '../client/lion.ts'`,
  }),
  ...each('platform-imports-no-feature', {
    'server/platform/a.ts': `import { zebra } from '../zebra/zebra.ts'\nexport { zebra }`,
    'server/platform/http/b.ts': source(
      "import type { zebra } from '../../zebra/zebra.ts'",
      'export type Zebra = typeof zebra',
    ),
    'server/platform/c.ts': `import type { Config } from '../config.ts'\nexport type { Config }`,
    'server/platform/d.ts': `import type * as app from '../app.ts'\nexport type App = typeof app`,
    'server/platform/e.ts': `export const run = () => import('../main.ts')`,
  }),
  ...each('features-import-public-api-only', {
    'server/yak/a.ts': `import { stripes } from '../zebra/queries.ts'\nexport { stripes }`,
    'server/yak/b.ts': source(
      "import type { routes } from '../zebra/routes.ts'",
      'export type Routes = typeof routes',
    ),
  }),
  ...each('sql-only-in-queries', {
    'server/zebra/sql.ts': `import sql from 'sql-template-tag'\nexport { sql }`,
    'server/zebra/sqltype.ts': `import type { Sql } from 'sql-template-tag'\nexport type { Sql }`,
    'server/platform/http/sql.ts': `import sql from 'sql-template-tag'\nexport { sql }`,
  }),
  ...each('fastify-only-in-routes', {
    'server/zebra/edge.ts': `import { fastify } from 'fastify'\nexport { fastify }`,
    'server/platform/db/edge.ts': source(
      "import type { FastifyInstance } from 'fastify'",
      'export type { FastifyInstance }',
    ),
  }),
  ...each('pg-only-in-platform', {
    'server/zebra/pg.ts': `import pg from 'pg'\nexport { pg }`,
    'server/platform/http/pg.ts': `import type { Pool } from 'pg'\nexport type { Pool }`,
  }),
  ...each('no-test-code-in-production', {
    'contract/shared.ts': `import { shared } from '../tests/shared.ts'\nexport { shared }`,
    'client/shared.ts': `import { shared } from '../tests/shared.ts'\nexport { shared }`,
    'web/shared.ts': `import { shared } from '../tests/shared.ts'\nexport { shared }`,
    'server/zebra/shared.ts': `import { shared } from '../../tests/shared.ts'\nexport { shared }`,
    'server/platform/db/shared.ts': source(
      "import type { shared } from '../../../tests/shared.ts'",
      'export type Shared = typeof shared',
    ),
  }),
  ...each('no-import-of-tests', {
    'server/zebra/tested.ts': `import './zebra.test.ts'`,
    'server/zebra/twice.test.ts': `import './zebra.test.ts'`,
    'tests/twice.ts': `import '../server/zebra/zebra.test.ts'`,
  }),
  ...each('no-development-packages-in-production', {
    'server/zebra/development.ts': `import fc from 'fast-check'\nexport { fc }`,
    'contract/development.ts': source(
      "import type { Arbitrary } from 'fast-check'",
      'export type { Arbitrary }',
    ),
    // Another workspace depends on it, so it resolves here, but not if only the contract is
    // installed.
    'contract/others.ts': `import { Command } from 'sax'\nexport { Command }`,
  }),
  ...each('no-unresolvable-imports', {
    'server/zebra/nowhere.ts': `import './nowhere-at-all.ts'`,
    'client/nowhere.ts': `import type { X } from 'a-package-nobody-installed'\nexport type { X }`,
  }),
  ...each('no-orphans', { 'server/zebra/orphan.ts': `export const orphan = 1` }),
]

const untouched = copyTree()
const broken = copyTree()
write(broken, validFiles)
for (const { files } of breaks) write(broken, files)

const seen = await look(untouched)
const found = await look(broken)

test('the tree follows the import rules', () => {
  assert.deepEqual(
    seen.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`),
    [],
  )
})

// Without a parser for TypeScript, dependency-cruiser looks at no .ts file at all, and is content.
test('the import rules cover every source file and every import', () => {
  for (const [tree, result] of [
    [untouched, seen],
    [broken, found],
  ] as const) {
    const sources = new Map(
      result.modules.map((module) => [module.source, module.dependencies.map((to) => to.module)]),
    )
    const files = sourceFiles(tree)
    assert.deepEqual(
      files.filter((file) => !sources.has(file)),
      [],
    )
    assert.deepEqual(
      files.flatMap((file) => unseenImports(join(tree, file), sources.get(file) ?? [])),
      [],
    )
  }
  assert.ok(sourceFiles(untouched).includes('server/main.ts'))
})

test('finds inline imports of types, which the import rules cannot see', () => {
  write(broken, {
    'server/zebra/inline.txt': `export type App = import('fastify').FastifyInstance`,
  })
  assert.deepEqual(unseenImports(join(broken, 'server/zebra/inline.txt'), []), [
    `${join(broken, 'server/zebra/inline.txt')}: fastify`,
  ])
})

test('files that follow the import rules are accepted', () => {
  assert.deepEqual(
    Object.keys(validFiles).flatMap((file) => rulesBrokenBy(file)),
    [],
  )
})

for (const { rule, files } of breaks) {
  test(`${rule} rejects ${Object.keys(files).join(' and ')}`, () => {
    for (const file of Object.keys(files)) assert.deepEqual(rulesBrokenBy(file), [rule])
  })
}

test('each import rule has a test', async () => {
  const { ruleSet } = await extractDepcruiseOptions(join(root, '.dependency-cruiser.cjs'))
  const names = ruleSet?.forbidden?.map((rule) => rule.name).sort()
  assert.deepEqual([...new Set(breaks.map(({ rule }) => rule))].sort(), names)
})

test('npm run check rejects an import that breaks a rule', () => {
  const { status, output } = check('depcruise', broken)
  assert.notEqual(status, 0)
  assert.match(output, /no-cycles: server\/zebra\/left\.ts/)
})

test('npm run check covers the types of every source file', () => {
  // What runs in browsers is looked at as such.
  const steps = ['tsc', 'tsc -p web', 'tsc -p tests/browser']
  const listed = new Set(
    steps.flatMap((step) => check(step, untouched, '--listFilesOnly').output.split('\n')),
  )
  assert.deepEqual(
    sourceFiles(untouched).filter((file) => !listed.has(join(realpathSync(untouched), file))),
    [],
  )
})

test('npm run check rejects wrong types and syntax that Node cannot run', (t) => {
  const tree = copyTree(t, 'settings only')
  const errors: Record<string, string> = {
    TS2322: `export const list: string[] = [1]`,
    TS2532: `export const first = (list: string[]) => list[0].length`, // noUncheckedIndexedAccess
    TS2375: `export const given: { name?: string } = { name: undefined }`, // exactOptionalPropertyTypes
    TS1294: `export enum Colour { Red }`, // erasableSyntaxOnly
    TS1484: `import { StatOptions } from 'node:fs'\nexport type { StatOptions }`, // verbatimModuleSyntax
    TS6133: `const unused = 1\nexport {}`,
    TS7006: `export const double = (it) => it * 2`,
    TS2835: `import './TS2322'`,
  }
  for (const [code, text] of Object.entries(errors))
    write(tree, { [`server/zebra/${code}.ts`]: text })
  const { status, output } = check('tsc', tree)
  assert.notEqual(status, 0)
  for (const code of Object.keys(errors))
    assert.match(output, new RegExp(`server/zebra/${code}\\.ts.*error ${code}`))
})

test('npm run check rejects lint errors and other formatting', (t) => {
  const tree = copyTree(t, 'settings only')
  const errors: [string, RegExp][] = [
    ['debugger\n', /wrong\.ts.*lint\/suspicious\/noDebugger/],
    ['export const wild: any = 1\n', /wrong\.ts.*lint\/suspicious\/noExplicitAny/],
    [
      `import b from 'b'\nimport a from 'a'\n\nexport default [a, b]\n`,
      /wrong\.ts.*organizeImports/,
    ],
    [`export const word = "";\n`, /wrong\.ts format/],
    [`export const long = [${`'a word', `.repeat(14)}]\n`, /wrong\.ts format/],
  ]
  for (const [text, complaint] of errors) {
    write(tree, { 'server/zebra/wrong.ts': text })
    const { status, output } = check('biome', tree)
    assert.notEqual(status, 0)
    assert.match(output, complaint)
  }
  write(tree, {
    'server/zebra/wrong.ts': `export const right = [${`'a word', `.repeat(6)}'a word']\n`,
  })
  assert.equal(check('biome', tree).status, 0)
})

test('npm run check rejects unused exports and files', (t) => {
  const tree = copyTree(t)
  write(tree, {
    'server/zebra/zebra.ts': `export const used = 1\nexport const forgotten = 2`,
    'server/zebra/zebra.test.ts': `import { used } from './zebra.ts'\nconsole.log(used)`,
    'server/zebra/lonely.ts': `import { used } from './zebra.ts'\nconsole.log(used)`,
  })
  const { status, output } = check('knip', tree)
  assert.notEqual(status, 0)
  assert.match(output, /forgotten +server\/zebra\/zebra\.ts/)
  assert.match(output, /Unused files[\s\S]*server\/zebra\/lonely\.ts/)
  assert.doesNotMatch(output, /\bused +server/)
})

function each(rule: string, files: Record<string, string>) {
  return Object.entries(files).map(([file, text]) => ({ rule, files: { [file]: text } }))
}

async function look(tree: string): Promise<ICruiseResult> {
  const options = await extractDepcruiseOptions(join(tree, '.dependency-cruiser.cjs'))
  const { output } = await cruise(['.'], { ...options, baseDir: tree })
  assert.ok(typeof output === 'object')
  return output
}

function rulesBrokenBy(file: string): string[] {
  // A cycle is reported once, for all of its files.
  const mine = found.summary.violations.filter(
    ({ from, cycle }) => from === file || cycle?.some(({ name }) => name === file),
  )
  return [...new Set(mine.map(({ rule }) => rule.name))]
}

function sourceFiles(tree: string): string[] {
  return globSync('**/*.ts', {
    cwd: tree,
    exclude: (path) => basename(path) === 'node_modules',
  }).sort()
}

/**
 * Read by eye, so to say: a parser that overlooks imports must not be the judge of what it sees.
 */
function unseenImports(file: string, seen: string[]): string[] {
  const text = readFileSync(file, 'utf8')
  const statements = [...text.matchAll(/^(?:import|export)\b(?:[^'"`;]*?\bfrom)? '([^']+)'/gm)]
  // This file quotes imports that it does not make.
  const expressions =
    basename(file) === basename(import.meta.filename)
      ? []
      : [...text.matchAll(/\bimport\(\s*'([^']+)'/g)]
  const names = [...statements, ...expressions].map(([, name]) => name ?? '')
  // node:fs is reported as fs; node:test, which has no other name, is not shortened.
  return names
    .filter((name) => !seen.includes(name) && !seen.includes(name.replace(/^node:/, '')))
    .map((name) => `${file}: ${name}`)
}

/** Runs one step of the script, as it is written in package.json. */
function check(
  tool: string,
  tree: string,
  ...args: string[]
): { status: number | null; output: string } {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const steps: string[] = scripts.check.split(' && ')
  const step = steps.find((step) => step.startsWith(tool))
  assert.ok(step, `${tool} is no step of the script check`)
  const PATH = [
    dirname(process.execPath),
    join(root, 'node_modules', '.bin'),
    process.env.PATH,
  ].join(':')
  const { status, stdout, stderr } = spawnSync('sh', ['-c', [step, ...args].join(' ')], {
    cwd: tree,
    env: { ...process.env, PATH, NO_COLOR: '1' },
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

function write(tree: string, files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, file)), { recursive: true })
    writeFileSync(join(tree, file), text)
  }
}

function copyTree(
  t: { after(done: () => void): void } = { after },
  part?: 'settings only',
): string {
  const tree = mkdtempSync(join(tmpdir(), 'rules-'))
  t.after(() => rmSync(tree, { recursive: true, force: true }))
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    if (['node_modules', '.git', 'dist'].includes(entry.name) || (part && entry.isDirectory()))
      continue
    const filter = (path: string) => basename(path) !== 'node_modules'
    cpSync(join(root, entry.name), join(tree, entry.name), { recursive: true, filter })
  }
  for (const path of globSync(['node_modules', '*/node_modules'], { cwd: root }))
    linkModules(path, tree)
  return tree
}

/**
 * Installed packages are linked to where they are, but the workspace's own, which are links
 * already, to those of the copy.
 */
function linkModules(path: string, tree: string): void {
  mkdirSync(join(tree, path), { recursive: true })
  for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
    const name = join(path, entry.name)
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(join(root, name)), join(tree, name))
    else if (entry.name.startsWith('@')) linkModules(name, tree)
    else symlinkSync(join(root, name), join(tree, name))
  }
}
