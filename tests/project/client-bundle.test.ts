import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { operationsPath, operationsTs } from '../../scripts/client-operations.ts'

// What the client adds to a web page.

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'client')
const run = promisify(execFile)
const maxGzipBytes = 5000

test('client/operations.ts matches the contract', () => {
  assert.equal(
    readFileSync(operationsPath, 'utf8'),
    operationsTs(),
    'client/operations.ts is out of date: run npm run docs',
  )
})

async function bundleClient() {
  const bundle = await rolldown({
    input: { client: join(folder, 'client.ts'), follow: join(folder, 'follow.ts') },
    platform: 'browser',
    onLog: (_, { message }) => assert.fail(message),
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  return output.filter((item) => item.type === 'chunk')
}

test(`the client adds at most ${maxGzipBytes} bytes to a page`, async () => {
  const chunks = await bundleClient()
  // A module of another package would be a schema library, or the contract that imports one.
  const modules = chunks.flatMap(({ modules }) => Object.keys(modules))
  assert.deepEqual(
    modules.filter((path) => !path.startsWith(`${folder}/`) && !path.startsWith('\0')),
    [],
  )
  const names = chunks.map(({ fileName }) => fileName)
  assert.deepEqual(
    chunks.flatMap(({ imports }) => imports.filter((name) => !names.includes(name))),
    [],
  )
  const code = chunks.map(({ code }) => code).join('\n')
  const bytes = gzipSync(code, { level: 9 }).length
  console.log(`${modules.length} modules, ${code.length} bytes, ${bytes} with gzip`)
  assert.ok(bytes <= maxGzipBytes, `${bytes} bytes`)
})

const program = `
  import { createClient } from './client.js'
  import { followChanges } from './follow.js'
  const archive = createClient({ baseUrl: process.argv[2] })
  const ids = []
  for await (const { id } of archive.all.listVideos()) ids.push(id)
  for await (const { cursor } of followChanges(archive, { wait: 0 })) ids.push(cursor)
  console.log(process.versions.node.split('.')[0], ids.join())
`

test('the client runs on the oldest Node of its manifest', async (t) => {
  const [, oldest = ''] =
    /"node": ">=(\d+)"/.exec(readFileSync(join(folder, 'package.json'), 'utf8')) ?? []
  const scratch = mkdtempSync(join(tmpdir(), 'client-'))
  t.after(() => rmSync(scratch, { recursive: true }))
  const name = `node-linux-${process.arch}`
  try {
    const options = ['--no-audit', '--no-fund', '--ignore-scripts']
    await run('npm', ['install', '--prefix', scratch, ...options, `${name}@${oldest}`], {
      timeout: 300_000,
    })
  } catch (error) {
    return t.skip(`${name}@${oldest} can't be installed: ${String(error)}`)
  }
  for (const { fileName, code } of await bundleClient())
    writeFileSync(join(scratch, fileName), code)
  writeFileSync(join(scratch, 'program.mjs'), program)
  writeFileSync(join(scratch, 'package.json'), '{"type": "module"}')
  let requests = 0
  const server = createServer((request, response) => {
    // The first answer is repeated.
    if (++requests === 1) return response.writeHead(503, { 'retry-after': '0' }).end()
    const page = request.url?.includes('/changes')
      ? { results: [{}], cursor: '1.0', more: false }
      : { results: [{ id: 3 }], next: null }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const node = join(scratch, 'node_modules', name, 'bin', 'node')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { stdout } = await run(node, [join(scratch, 'program.mjs'), url])
  assert.equal(stdout, `${oldest} 3,1.0\n`)
})
