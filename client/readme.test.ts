import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { FeedPage } from '@talkshelf/contract'
import { root, startArchive } from '../tests/support/harness.ts'
import { until } from '../tests/support/until.ts'

// The examples of the README, type-checked and run in this order.

const run = promisify(execFile)
const archive = await startArchive()

test('the examples of the README work', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'readme-'))
  t.after(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/^```ts\n(.+?)^```$/gms)].map(([, code = '']) => code)
  assert.equal(blocks.length, 6)
  // The blocks after the first one use its client, and each has its own scope. The last one is a
  // program of its own: the change feed contains the changes of the others only a moment later.
  const [first = '', ...others] = blocks.slice(0, -1)
  const programs = {
    'examples.ts': [first, ...others.map((code) => `{\n${code}}`)].join('\n'),
    'follow.ts': `import { createClient } from '@talkshelf/client'
      const archive = createClient({ baseUrl: 'https://talks.example.org' })
      ${blocks.at(-1)}`,
  }
  for (const [name, code] of Object.entries(programs))
    writeFileSync(join(folder, name), code.replaceAll('https://talks.example.org', archive.url))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(root, 'node_modules', '@types')] },
      include: Object.keys(programs),
      exclude: [],
    }),
  )
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  await run(tsc, ['-p', folder]).catch(({ stdout }) => assert.fail(stdout))

  const { id } = await archive.make({ title: 'Small queues', speakers: ['Zoë', 'Ada'] })
  assert.equal(id, 1)
  const runProgram = async (name: string) => {
    const env = { ...process.env, TOKEN: archive.editor }
    const { stdout } = await run(process.execPath, [join(folder, name)], { env })
    return stdout.trim().split('\n')
  }
  assert.deepEqual(await runProgram('examples.ts'), [
    'Small queues Zoë, Ada',
    'Small queues',
    'Still the same',
  ])
  const { json } = await archive.call('GET', '/api/v2/video/1')
  assert.equal(json.title, 'Small queues (2)')
  const created = await archive.call('GET', '/api/v2/video/2', { token: archive.editor })
  assert.equal(created.json.title, 'Queues at sea')

  // Not a fixed number: changes of a record that are appended to the feed together are one entry.
  const entries = await until('the feed to contain the second revision of record 1', async () => {
    const { results } = (await archive.call('GET', '/api/v2/changes?since=0')).json as FeedPage
    return results.some(({ version }) => version?.startsWith('1.2.')) && results
  })
  const [line = ''] = await runProgram('follow.ts')
  assert.equal(line.replace(/before \S+$/, 'before'), `${entries.length} changes before`)
})
