// npm run openapi-tools
//
// Uses the OpenAPI document as other people do: with a linter, and with the clients that two
// generators make of it. The tools are installed for each run into a temporary folder: they are no
// dependencies of the repository.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Video } from '@talkshelf/contract'
import { rolldown } from 'rolldown'
import { createToken } from '../server/auth/auth.ts'
import { openPool } from '../server/platform/db/pool.ts'
import { startChecks } from './support/checks.ts'
import { call, root, type Server, startServer } from './support/harness.ts'
import { migratedDatabase, startPostgres } from './support/postgres.ts'

const tools = {
  '@redocly/cli': '2.77.0',
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  '@hey-api/openapi-ts': '0.99.0',
}

const documentFile = join(root, 'docs/openapi.json')
const missingId = 999_999

interface Generator {
  readonly name: string
  /** The program of the generator and its arguments, which write into the folder. */
  command(folder: string): string[]
  /**
   * Sets up the client, and defines what the program below reads. Indented, because the test of the
   * import rules reads lines that begin with an import.
   */
  readonly setUp: string
}

const generators: readonly Generator[] = [
  {
    name: 'openapi-typescript with openapi-fetch',
    command: (folder) => [
      'openapi-typescript/bin/cli.js',
      documentFile,
      '-o',
      join(folder, 'schema.d.ts'),
    ],
    setUp: `
      import createClient from 'openapi-fetch'
      import type { paths } from './schema.d.ts'

      const client = createClient<paths>({ baseUrl, headers: { Accept: 'application/json' } })
      const readVideo = (id: number) =>
        client.GET('/api/v2/video/{id}', { params: { path: { id } } })
      const listVideos = () =>
        client.GET('/api/v2/video', { params: { query: { page_size: 2 } } })`,
  },
  {
    name: '@hey-api/openapi-ts',
    command: (folder) => [
      '@hey-api/openapi-ts/bin/run.js',
      ...['--input', documentFile, '--output', join(folder, 'generated')],
      ...['--client', '@hey-api/client-fetch', '--no-log-file'],
    ],
    setUp: `
      import * as generated from './generated'
      import { client } from './generated/client.gen'

      client.setConfig({ baseUrl, headers: { Accept: 'application/json' } })
      const readVideo = (id: number) => generated.readVideo({ path: { id } })
      const listVideos = () => generated.listVideos({ query: { page_size: 2 } })`,
  },
]

/** What both clients must do. The annotations fail if the generated types are not precise. */
const programEnd = `
const [record, page, missing] = [
  await readVideo(id),
  await listVideos(),
  await readVideo(${missingId}),
]
const title: string | undefined = record.data?.title
const speakers: string[] | undefined = record.data?.speakers
const duration: number | null | undefined = record.data?.duration
const count: number | undefined = page.data?.count
// With the parameter fields, a record of a list may have no title.
const titles: (string | undefined)[] | undefined = page.data?.results.map((video) => video.title)
const problem: string | undefined = missing.error?.type
// @ts-expect-error: a record has no such field
record.data?.titel
// @ts-expect-error: a problem has no such member
missing.error?.titel
const { status } = missing.response ?? {}
console.log(JSON.stringify({ title, speakers, duration, count, titles, problem, status }))
`

const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  strict: true,
  noUncheckedIndexedAccess: true,
  // Types of the generated files are checked, too.
  skipLibCheck: false,
  noEmit: true,
}

const { check, finish } = startChecks()
process.exitCode = await main()

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-openapi-tools-'))
  try {
    await install(folder)
    await lintDocuments(folder)
    await readWithClients(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
  return finish()
}

/** Installs the tools without running their install scripts. */
async function install(folder: string): Promise<void> {
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: tools }),
  )
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  await run('npm', args, folder)
  for (const [name, version] of Object.entries(tools)) console.log(`${name} ${version}`)
}

async function lintDocuments(folder: string): Promise<void> {
  const original = readFileSync(documentFile, 'utf8')
  await check('the linter has no errors and no warnings about docs/openapi.json', async () => {
    assert.deepEqual(await lint(folder, original), [])
  })
  // A linter that checks nothing would pass, too.
  await check('the linter refuses a document that is wrong', async () => {
    const document = JSON.parse(original)
    document.paths['/api/v2/video/{id}'].get.parameters = []
    document.components.examples.Video.value.title = 7
    delete document.components.schemas.Tag
    const rules = new Set((await lint(folder, JSON.stringify(document))).map(({ rule }) => rule))
    for (const rule of [
      'path-parameters-defined',
      'no-invalid-media-type-examples',
      'no-unresolved-refs',
    ])
      assert.ok(rules.has(rule), `${rule} was not reported: ${[...rules]}`)
  })
}

interface Finding {
  readonly severity: string
  readonly rule: string
  readonly message: string
  readonly pointer: string | undefined
}

async function lint(folder: string, text: string): Promise<Finding[]> {
  const file = join(folder, 'document.json')
  writeFileSync(file, text)
  const { output } = await runTool(
    folder,
    ['@redocly/cli/bin/cli.js', 'lint', file, '--extends=recommended', '--format=json'],
    // 1 means that there are errors, which are in the output.
    [0, 1],
  )
  const { totals, problems } = JSON.parse(output) as {
    totals: { errors: number; warnings: number }
    problems: {
      severity: string
      ruleId: string
      message: string
      location: { pointer?: string }[]
    }[]
  }
  assert.equal(totals.errors + totals.warnings, problems.length, 'the linter lists all problems')
  return problems.map(({ severity, ruleId, message, location }) => ({
    severity,
    rule: ruleId,
    message,
    pointer: location[0]?.pointer,
  }))
}

async function readWithClients(folder: string): Promise<void> {
  const postgres = await startPostgres({ version: 15 })
  let server: Server | undefined
  try {
    const databaseUrl = await migratedDatabase(postgres, 'talkshelf')
    server = await startServer({ DATABASE_URL: databaseUrl, SITE_NAME: 'An archive: of "talks"' })
    const { url } = server
    const talk = await makeTalks(url, databaseUrl)
    await check(
      'the linter has no errors and no warnings about what an archive serves',
      async () => {
        const { text } = await call(url, 'GET', '/api/v2/openapi.json')
        assert.deepEqual(await lint(folder, text), [])
      },
    )
    for (const generator of generators) await checkClient(folder, generator, url, talk)
  } finally {
    await server?.stop()
    await postgres.stop()
  }
}

/** Creates three talks and returns the first one. */
async function makeTalks(url: string, databaseUrl: string): Promise<Video> {
  const pool = openPool({ url: databaseUrl, connections: 1, applicationName: 'openapi-tools' })
  const { token } = await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })
  await pool.close()
  const category = 'Example Days 2026'
  await call(url, 'POST', '/api/v2/category', { body: { title: category }, token })
  const fields = { category, language: 'English', state: 1, speakers: ['Zoë Example'] }
  const talks: Video[] = []
  for (const title of ['What the shelf remembers', '<b> and Q&A', 'Ünïcødé 木'])
    talks.push(
      (await call(url, 'POST', '/api/v2/video', { body: { ...fields, title }, token })).json,
    )
  const [first] = talks
  assert.ok(first?.id)
  return first
}

async function checkClient(
  folder: string,
  generator: Generator,
  url: string,
  talk: Video,
): Promise<void> {
  const { name, setUp } = generator
  const own = join(folder, `client-${generators.indexOf(generator)}`)
  mkdirSync(own)
  symlinkSync(join(folder, 'node_modules'), join(own, 'node_modules'))
  const isGenerated = await check(`${name}: generates a client`, async () => {
    await runTool(folder, generator.command(own))
  })
  if (!isGenerated) return
  const constants = `const baseUrl = '${url}'\nconst id = ${talk.id}`
  writeFileSync(
    join(own, 'program.ts'),
    `${setUp}\n${programEnd}`.replace('\n\n', `\n${constants}\n`),
  )
  writeFileSync(
    join(own, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['**/*.ts'], exclude: ['node_modules'] }),
  )
  await check(`${name}: passes strict type checks`, async () => {
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', own], own)
  })
  await check(`${name}: reads a record, a page and a problem`, async () => {
    const { output } = await run(process.execPath, [await bundle(own)], own)
    const direct = async (path: string) => (await call(url, 'GET', path)).json
    const page = await direct('/api/v2/video?page_size=2')
    const problem = await direct(`/api/v2/video/${missingId}`)
    assert.equal(page.results.length, 2)
    assert.deepEqual(JSON.parse(output), {
      title: talk.title,
      speakers: talk.speakers,
      duration: null,
      count: 3,
      titles: page.results.map((video: Video) => video.title),
      problem: problem.type,
      status: 404,
    })
  })
}

/** Bundles a program as users do, who have no import paths with file endings. */
async function bundle(folder: string): Promise<string> {
  const built = await rolldown({ input: join(folder, 'program.ts'), platform: 'node' })
  const file = join(folder, 'program.mjs')
  await built.write({ file, format: 'esm' })
  await built.close()
  return file
}

/** Runs a file of an installed package with the Node.js of the repository. */
function runTool(folder: string, [file = '', ...args]: string[], allowed = [0]) {
  return run(process.execPath, [join(folder, 'node_modules', file), ...args], folder, allowed)
}

/** Runs a program. Throws if it ends with a status that is not allowed. */
async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  allowed: readonly (number | null)[] = [0],
): Promise<{ output: string }> {
  const child = spawn(program, args, {
    cwd,
    env: {
      ...process.env,
      CI: '1',
      NO_COLOR: '1',
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
  })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (!allowed.includes(code)) throw new Error(`${program} ended with ${code}:\n${output}${errors}`)
  return { output }
}
