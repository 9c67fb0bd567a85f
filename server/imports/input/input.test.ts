import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test, { after } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { InputRefused, type SourceFile } from '../item.ts'
import { inputLimits, splitLines as linesIn, openInput, textChunks } from './input.ts'

const folder = mkdtempSync(join(tmpdir(), 'talkshelf-input-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function put(path: string, content: string | Uint8Array): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}

async function* stream(...chunks: (string | Uint8Array)[]) {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}

const opened = (...chunks: (string | Uint8Array)[]) =>
  openInput({ stream: stream(...chunks), name: 'talks' })

async function listed<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}

async function only(files: AsyncIterable<SourceFile>): Promise<SourceFile> {
  const all = await listed(files)
  assert.equal(all.length, 1)
  return all[0] as SourceFile
}

async function textOf(...chunks: (string | Uint8Array)[]): Promise<string> {
  return (await only((await opened(...chunks)).files)).text()
}

async function linesOf(...chunks: (string | Uint8Array)[]): Promise<string[]> {
  return listed((await only((await opened(...chunks)).files)).lines())
}

function refused(work: Promise<unknown>, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(error instanceof InputRefused, String(error))
    assert.match(error.message, message)
    return true
  })
}

test('a file is opened, looked at and read, packed or not, whatever its name', async () => {
  for (const [name, content] of [
    ['plain.gz', 'one\ntwo\n'],
    ['packed.txt', gzipSync('one\ntwo\n')],
    ['packed in two parts', Buffer.concat([gzipSync('one\nt'), gzipSync('wo\n')])],
  ] as const) {
    const input = await openInput({ path: put(name, content) })
    assert.deepEqual([input.name, input.firstPath, input.begin], [name, name, 'one\ntwo\n'])
    const file = await only(input.files)
    assert.equal(file.path, name)
    assert.deepEqual(await listed(file.lines()), ['one', 'two'])
  }
})

test('what was looked at of a stream is still there when it is read', async () => {
  const text = 'a line of a talk\n'.repeat(10_000)
  const input = await opened(text.slice(0, 70_000), text.slice(70_000))
  assert.equal(input.begin, text.slice(0, 65_536))
  assert.equal(await (await only(input.files)).text(), text)
  assert.equal(await textOf(gzipSync(text)), text)
  assert.equal((await linesOf(text)).length, 10_000)
})

test('however a stream is cut, its text, its lines and its line ends are the same', async () => {
  const piece = fc.constantFrom(
    'a',
    '\n',
    '\r\n',
    '\r',
    'é',
    '日',
    '𝒳',
    '\ufeff',
    'long '.repeat(900),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 1 }),
      fc.array(fc.nat(60)),
      fc.boolean(),
      async (parts, cuts, isPacked) => {
        const text = `x${parts.join('')}`
        const bytes = isPacked ? gzipSync(text) : Buffer.from(text)
        const chunks: Uint8Array[] = []
        let from = 0
        for (const cut of cuts) {
          chunks.push(bytes.subarray(from, from + cut))
          from += cut
        }
        chunks.push(bytes.subarray(from))
        assert.equal(await textOf(...chunks), text)
        const pieces = textChunks(await only((await opened(...chunks)).files))
        assert.equal((await listed(pieces)).join(''), text)
        const lines = text.split(/\r?\n/)
        const expected = lines.at(-1) === '' ? lines.slice(0, -1) : lines
        assert.deepEqual(await linesOf(...chunks), expected)
        const inCharacters = (async function* () {
          yield* text
        })()
        assert.deepEqual(await listed(linesIn(inCharacters, 'talks', inputLimits.line)), expected)
      },
    ),
    { numRuns: 100 },
  )
})

test('a mark of the byte order at the beginning is taken off, even in pieces', async () => {
  assert.equal(await textOf('\ufeffone'), 'one')
  assert.equal(
    await textOf(Uint8Array.of(0xef), Uint8Array.of(0xbb), Uint8Array.of(0xbf, 0x61)),
    'a',
  )
  assert.equal(await textOf('one\ufeff'), 'one\ufeff')
})

test('what is no text in UTF-8 is refused, with what to do instead', async () => {
  await refused(textOf(Uint8Array.of(0x63, 0x61, 0x66, 0xe9)), /not in UTF-8.*iconv/)
  await refused(textOf('caf', Uint8Array.of(0xc3)), /not in UTF-8/)
  await refused(textOf(Uint8Array.of(0xff, 0xfe, 0x61, 0)), /UTF-16.*iconv/)
  await refused(textOf(Uint8Array.of(0xfe, 0xff, 0, 0x61)), /UTF-16.*iconv/)
  await refused(textOf('a\0b'), /NUL/)
  await refused(textOf(gzipSync(Uint8Array.of(0x61, 0xe9, 0x61))), /not in UTF-8/)
  const input = await opened('a'.repeat(100_000), Uint8Array.of(0xe9), 'b')
  await refused((await only(input.files)).text(), /not in UTF-8, as is seen near byte 100001/)
})

test('archives and other packings are refused by what they are, also inside a packed file', async () => {
  const tar = Buffer.alloc(1024)
  tar.write('talks.json')
  tar.write('ustar', 257)
  const kinds: [Uint8Array, RegExp][] = [
    [Buffer.from('PK\x03\x04rest', 'latin1'), /zip.*save it as CSV/],
    [tar, /tar -xf/],
    [Buffer.from('BZh91AY&SYrest', 'latin1'), /bunzip2/],
    [Buffer.from('\xfd7zXZ\0rest', 'latin1'), /unxz/],
    [Buffer.from('\x28\xb5\x2f\xfdrest', 'latin1'), /unzstd/],
    [Buffer.from('7z\xbc\xaf\x27\x1crest', 'latin1'), /7z/],
  ]
  for (const [bytes, message] of kinds) {
    await refused(opened(bytes), message)
    await refused(opened(...Array.from(bytes, (byte) => Uint8Array.of(byte))), message)
    await refused(opened(gzipSync(bytes)), message)
  }
  await refused(opened(gzipSync(gzipSync('a'))), /packed twice/)
})

test('a packed file that is cut off or damaged is refused', async () => {
  const packed = gzipSync(
    Buffer.from(Array.from({ length: 300_000 }, (_, at) => 97 + ((at * at) % 23))),
  )
  const cut = await openInput({ path: put('cut.gz', packed.subarray(0, packed.length - 9)) }).then(
    ({ files }) => only(files),
  )
  await refused(cut.text(), /cut off.*Fetch it again/)
  await refused(opened(packed.subarray(0, 2)), /cut off/)
  const damaged = Buffer.from(packed)
  damaged.fill(0xff, 40, 400)
  await refused(opened(damaged), /damaged.*Fetch it again/)
})

test('a packed text that is far larger than it looks is refused early', async () => {
  const bomb = gzipSync(Buffer.alloc(70 << 20, 'a'))
  const file = await only((await opened(bomb)).files)
  await refused(file.text(), /more than 64 MB/)
  await refused(linesOf(bomb), /Line 1 of talks has more than 1 MB/)
  const small = { ...inputLimits, bytes: 5000 }
  await refused(
    openInput({ stream: stream(gzipSync('a\n'.repeat(5000))), name: 'talks' }, small),
    /more than 5000 bytes/,
  )
})

test('a line without end is refused as soon as it is longer than the limit', async () => {
  let given = 0
  async function* endless() {
    for (const chunk = Buffer.alloc(1 << 16, 'a'); ; given += chunk.length) yield chunk
  }
  const file = await only((await openInput({ stream: endless(), name: 'talks' })).files)
  await refused(listed(file.lines()), /Line 1 of talks has more than 1 MB/)
  assert.ok(given < 2 << 20, `${given} bytes were read`)
  assert.equal((await linesOf(`${'a'.repeat(inputLimits.line)}\nb`)).length, 2)
  await refused(linesOf(`b\n${'a'.repeat(inputLimits.line + 1)}\nb`), /Line 2/)
})

test('a large stream is read line by line in little memory', () => {
  // In a process of its own, which ends when it holds on to more than a third of what it reads.
  const script = `
    import { openInput } from ${JSON.stringify(new URL('input.ts', import.meta.url).href)}
    const chunk = Buffer.from((JSON.stringify({ title: 'A talk about é and 日本', description: 'x'.repeat(900) }) + '\\n').repeat(70))
    async function* stream() {
      for (let given = 0; given < 200 << 20; given += chunk.length) yield Buffer.from(chunk)
    }
    let lines = 0
    for await (const file of (await openInput({ stream: stream(), name: 'talks' })).files) for await (const _ of file.lines()) lines++
    console.log(JSON.stringify({ lines, most: process.resourceUsage().maxRSS }))`
  const printed = execFileSync(
    process.execPath,
    ['--max-old-space-size=64', '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  )
  const { lines, most: limit } = JSON.parse(printed) as { lines: number; most: number }
  assert.ok(lines > 200_000, `${lines} lines`)
  assert.ok(limit < 200_000, `took ${Math.round(limit / 1000)} MB`)
})

test('a folder gives its .json files in one order, and nothing that is hidden or a link', async () => {
  for (const path of [
    'b.json',
    'a/videos/two.json',
    'a/videos/one.json',
    'a/category.json',
    'a/notes.txt',
    '.git/x.json',
    'a/.x.json',
  ])
    put(`talks/${path}`, `{"path":"${path}"}`)
  put('outside.json', 'secret')
  symlinkSync(join(folder, 'outside.json'), join(folder, 'talks/link.json'))
  symlinkSync(folder, join(folder, 'talks/circle'))
  const input = await openInput({ path: join(folder, 'talks') })
  const files = await listed(input.files)
  const paths = ['a/category.json', 'a/videos/one.json', 'a/videos/two.json', 'b.json']
  assert.deepEqual(
    [input.name, input.firstPath, input.begin],
    ['talks', 'a/category.json', '{"path":"a/category.json"}'],
  )
  assert.deepEqual(
    files.map(({ path }) => path),
    paths,
  )
  for (const [at, path] of paths.entries())
    assert.equal(await files[at]?.text(), `{"path":"${path}"}`)
})

test('a file that became a link or a pipe since the folder was looked through is not followed', async () => {
  const one = put('moving/one.json', '{}')
  put('moving/two.json', '{}')
  const files = await listed((await openInput({ path: join(folder, 'moving') })).files)
  rmSync(one)
  symlinkSync(join(folder, 'outside.json'), one)
  await refused((files[0] as SourceFile).text(), /symbolic link/)
  rmSync(join(folder, 'moving/two.json'))
  execFileSync('mkfifo', [join(folder, 'moving/two.json')])
  await refused((files[1] as SourceFile).text(), /no longer a file/)
})

test('what can’t be opened is refused in words', async () => {
  await refused(openInput({ path: join(folder, 'nothing') }), /is not there/)
  await refused(openInput({ path: join(put('file', 'a'), 'inside') }), /no folder/)
  await refused(openInput({ path: put('empty', ' \n') }), /empty is empty/)
  await refused(opened(), /talks is empty/)
  await refused(openInput({ path: '/dev/null' }), /neither a file nor a folder/)
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  await refused(openInput({ path: pipe }), /standard input/)
  put('no talks/readme.txt', 'a')
  await refused(openInput({ path: join(folder, 'no talks') }), /no file whose name ends in .json/)
  await refused(
    openInput({ path: join(folder, 'talks') }, { ...inputLimits, files: 3 }),
    /more than 3 files/,
  )
  put(`deep/${'a/'.repeat(40)}one.json`, '{}')
  await refused(openInput({ path: join(folder, 'deep') }), /32 folders deep/)
})

test('a file without permission is refused', {
  skip: process.getuid?.() === 0 && 'root may read everything',
}, async () => {
  const file = put('closed', 'a')
  chmodSync(file, 0)
  await refused(openInput({ path: file }), /may not be read/)
})

test('a file of which only the beginning is looked at is closed', {
  skip: !existsSync('/proc/self/fd') && 'open files can’t be counted',
}, async () => {
  const text = Array.from({ length: 200_000 }, (_, at) => String(at * 7919)).join('\n')
  const before = readdirSync('/proc/self/fd').length
  for (const content of [text, gzipSync(text)]) {
    const path = put('large', content)
    for (let times = 0; times < 5; times++) {
      const file = await only((await openInput({ path })).files)
      for await (const _ of file.lines()) break
    }
  }
  const isClosed = () => readdirSync('/proc/self/fd').length <= before
  for (let times = 0; times < 100 && !isClosed(); times++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(isClosed())
})

test('a stream that breaks off tells its own error, and a file is read once', async () => {
  async function* broken() {
    yield Buffer.from('a'.repeat(100_000))
    throw new Error('the connection was lost')
  }
  const file = await only((await openInput({ stream: broken(), name: 'talks' })).files)
  await assert.rejects(file.text(), /the connection was lost/)
  await assert.rejects(file.text(), /was read before/)
  async function* brokenPack() {
    yield gzipSync('a'.repeat(100_000)).subarray(0, 60)
    throw new Error('the connection was lost')
  }
  await assert.rejects(
    openInput({ stream: brokenPack(), name: 'talks' }),
    /the connection was lost/,
  )
})
