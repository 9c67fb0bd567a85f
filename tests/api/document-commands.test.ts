import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { call, program, root, startServer } from '../support/harness.ts'
import { type CodeBlock, codeBlocks, documents } from '../support/shell-blocks.ts'
import { until } from '../support/until.ts'

// Runs the shell blocks of README.md and docs/*.md as readers run them: in their order, in one
// folder for each document, against a server. A block must succeed and print what the document
// shows. Those of docs/install/ are run by `npm run installs`.

/** Blocks that are not run, by document and first line, and why. A new block is run. */
const notRun: Record<string, string> = {
  'README.md: npm ci && npx talkshelf demo': 'tests/project/package.test.ts runs the demo',
  'docs/edge.md: apt install varnish varnish-modules':
    'needs root; tests/api/edge-varnish.test.ts runs Varnish with this file',
  'docs/follow.md: export DATABASE_URL=postgresql://localhost/mirror':
    'needs two servers; tests/api/mirror-database.test.ts runs these commands',
  'docs/operations.md: talkshelf backup /var/backups/talkshelf/2026-11-15.dump':
    'createdb needs a superuser; tests/api/backup.test.ts runs these commands',
  'docs/operations.md: pgbackrest --stanza=talkshelf stanza-create': 'another program',
  "docs/operations.md: psql -c 'select pg_switch_wal()'": 'stops the PostgreSQL of the machine',
  'docs/upgrade-postgresql.md: sh major-upgrade.sh cancel':
    'tests/faults/postgresql-upgrade.ts runs the commands of this page',
  'docs/releasing.md: npm run release -- check v0.1.0':
    'a script of the repository; tests/project/release.test.ts runs it',
}

interface Place {
  readonly url: string
  readonly databaseUrl: string
  readonly folder: string
}

/** Replaces what is different here. Everything else is run as it is written. */
const adapt = (text: string, { url, databaseUrl, folder }: Place) =>
  text
    // The packages are installed already.
    .replace(/^npm ci$/gm, 'true')
    .replaceAll(/http:\/\/127\.0\.0\.1:8000|https:\/\/talks\.example\.org/g, url)
    .replaceAll('postgres://talkshelf:secret@127.0.0.1:5432/talkshelf', databaseUrl)
    .replaceAll('/etc/talkshelf', join(folder, 'etc'))
    // Without the option, the command waits for changes.
    .replace(/(talkshelf mirror \S+ copy)$/gm, '$1 --once')

const scratch = mkdtempSync(join(tmpdir(), 'talkshelf-documents-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

/** Makes a folder like that of a reader: with the examples, the command and settings of curl. */
function makeFolder(name: string): string {
  const folder = join(scratch, name)
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  mkdirSync(join(folder, 'etc'))
  symlinkSync(join(root, 'docs'), join(folder, 'docs'))
  const command = join(folder, 'node_modules/.bin/talkshelf')
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${resolve(root, program)}' "$@"\n`)
  chmodSync(command, 0o755)
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  // Without this, curl exits with 0 also after an error of HTTP.
  writeFileSync(join(folder, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n')
  return folder
}

/** Runs the blocks of one document, which share their variables and a server. */
async function runDocument(t: TestContext, file: string, blocks: readonly CodeBlock[]) {
  const folder = makeFolder(file.replaceAll('/', '-'))
  const { url: DATABASE_URL } = await freshDatabase()
  const port = String(await freePort())
  const settings = {
    DATABASE_URL,
    PORT: port,
    WEBHOOK_KEY: 'a key that is long enough for webhooks',
  }
  const server = await startServer(settings)
  let stopServer = server.stop
  t.after(() => stopServer())
  const url = `http://127.0.0.1:${port}`
  const environment = {
    ...process.env,
    ...settings,
    CURL_HOME: folder,
    PATH: `${join(folder, 'node_modules/.bin')}:${process.env.PATH}`,
  }
  const variables = join(folder, 'variables.sh')
  // Documents that create no token have one.
  const create = ['token', 'create', '--name', 'Ada', '--role', 'admin']
  const { stdout: token } = spawnSync('talkshelf', create, { env: environment, encoding: 'utf8' })
  writeFileSync(variables, `export TOKEN=${token}`)
  await createTwin(url, token.trim())

  for (const block of blocks) {
    const where = `${file}:${block.line}`
    await t.test(where, async (t) => {
      const missing = ['jq', 'openssl'].find(
        (name) => new RegExp(`\\b${name}\\b`).test(block.text) && spawnSync(name).error,
      )
      if (missing) return t.skip(`${missing} is not installed`)
      const text = adapt(block.text, { url, databaseUrl: DATABASE_URL, folder })
      const servesAtEnd = /talkshelf serve[^\n]*\n$/.test(text)
      if (servesAtEnd) await stopServer()
      const keepVariables = `. ${variables}\ntrap 'export -p > ${variables}' EXIT`
      const script = `set -eo pipefail\n${keepVariables}\n${text}`
      const child = spawn('bash', ['-c', script], {
        cwd: folder,
        env: environment,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const ended = once(child, 'close')
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data) => (output += data))
      if (servesAtEnd) {
        // Ends npx, the shell and the server, as Ctrl-C does.
        stopServer = async () => {
          if (child.exitCode === null && child.pid) process.kill(-child.pid, 'SIGINT')
          await ended
        }
        const isReady = () =>
          fetch(`${url}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          )
        const isDone = async () => child.exitCode !== null || (await isReady())
        await until(`${where} to serve`, isDone, { limitMs: 120_000 })
        assert.equal(child.exitCode, null, output)
        return
      }
      const [code] = await ended
      const shown = outputOf(block)
      const refused = /"status":4\d\d/.test(shown?.text ?? '')
      assert.equal(code, refused ? 22 : 0, output)
      if (shown) assertShape(shown, output)
    })
  }
}

/** The name of a block in `notRun`: its document, and its first line without a comment. */
const nameOf = ({ file, text }: CodeBlock) =>
  `${file}: ${text
    .split('\n', 1)[0]
    ?.replace(/\s+#.*/, '')
    .trim()}`

/**
 * Creates the second record of the same talk, which README.md merges into the first one, and waits
 * for the change feed to have it.
 */
async function createTwin(url: string, token: string): Promise<void> {
  const post = (path: string, body: object) => call(url, 'POST', path, { token, body })
  await post('/api/v2/category', { title: 'Twin Days' })
  const body = { title: 'Ten years of tiny queues', category: 'Twin Days', language: 'en' }
  for (const source_url of ['https://vimeo.com/1', 'https://vimeo.com/2'])
    await post('/api/v2/video', { ...body, source_url, state: 1 })
  await until('both records to be in the change feed', async () => {
    const { json } = await call(url, 'GET', '/api/v2/changes?since=0')
    return json.results.filter(({ kind }: { kind: string }) => kind === 'video').length === 2
  })
}

/** Returns the block with the output of a block: the next one, if it is no command or program. */
function outputOf(block: CodeBlock): CodeBlock | undefined {
  const blocks = codeBlocks(block.file)
  const next = blocks[blocks.findIndex(({ line }) => line === block.line) + 1]
  if (!next || !['', 'http', 'json'].includes(next.language)) return undefined
  const lines = readFileSync(join(root, block.file), 'utf8')
    .split('\n')
    .slice(0, next.line - 1)
  const between = lines.slice(block.line + block.text.split('\n').length)
  // An output follows its command after at most one paragraph.
  return between.filter((line) => line === '').length <= 2 ? next : undefined
}

/**
 * Compares an output with that of the document: lines and headers must occur, with any numbers,
 * versions and URLs, and names of JSON. Dots stand for what is left out.
 */
function assertShape({ language, text }: CodeBlock, output: string): void {
  const normalized = (line: string) =>
    line
      .replaceAll(/https?:\/\/\S+|"\d+\.\d+\.[\w-]+/g, '*')
      .replaceAll(/\d+/g, '0')
      .trim()
  const isJson = (line: string) => /^\s*[{"]/.test(line) || /^\s*[\]}]/.test(line)
  const printed = output.split('\n').map(normalized)
  // What a dialog asks depends on the answers.
  const part = language === '' ? (text.split('\n\n', 1)[0] ?? '') : text
  for (const line of part.split('\n')) {
    if (isJson(line))
      for (const [name] of line.matchAll(/"\w+"(?=:)/g)) assert.ok(output.includes(name), name)
    else if (line !== '' && line !== '...')
      assert.ok(printed.includes(normalized(line)), `${line}\nis not in\n${output}`)
  }
}

const ownDocuments = documents.filter((file) => !file.startsWith('docs/install/'))

test('every block that is not run is in a document, and blocks of commands are marked', () => {
  const all = ownDocuments.flatMap(codeBlocks)
  const shell = all.filter(({ language }) => language === 'sh')
  const names = shell.map(nameOf)
  for (const name of Object.keys(notRun)) assert.ok(names.includes(name), name)
  for (const { file, line, language, text } of all)
    assert.ok(language !== '' || !/^(npx |talkshelf |curl )/m.test(text), `${file}:${line}`)
})

for (const file of ownDocuments) {
  const blocks = codeBlocks(file).filter(
    (block) => block.language === 'sh' && !(nameOf(block) in notRun),
  )
  if (blocks.length > 0) test(`the commands of ${file}`, (t) => runDocument(t, file, blocks))
}
