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
import { inputLimits, openInput, splitLines, textChunks } from './input.ts'

const folder = mkdtempSync(join(tmpdir(), 'talkshelf-input-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function writeInput(path: string, content: string | Uint8Array): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}

async function* stream(...chunks: (string | Uint8Array)[]) {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}

const openStream = (...chunks: (string | Uint8Array)[]) =>
  openInput({ stream: stream(...chunks), name: 'talks' })

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function onlyFile(input: AsyncIterable<SourceFile>): Promise<SourceFile> {
  const files = await collect(input)
  assert.equal(files.length, 1)
  return files[0] as SourceFile
}

async function textOf(...chunks: (string | Uint8Array)[]): Promise<string> {
  return (await onlyFile((await openStream(...chunks)).files)).text()
}

async function linesOf(...chunks: (string | Uint8Array)[]): Promise<string[]> {
  return collect((await onlyFile((await openStream(...chunks)).files)).lines())
}

function assertRefused(work: Promise<unknown>, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(error instanceof InputRefused, String(error))
    assert.match(error.message, message)
    return true
  })
}

test('opens a file, packed or not, whatever its name', async () => {
  for (const [name, content] of [
    ['plain.gz', 'one\ntwo\n'],
    ['packed.txt', gzipSync('one\ntwo\n')],
    ['packed in two parts', Buffer.concat([gzipSync('one\nt'), gzipSync('wo\n')])],
  ] as const) {
    const input = await openInput({ path: writeInput(name, content) })
    assert.deepEqual([input.name, input.firstPath, input.head], [name, name, 'one\ntwo\n'])
    const file = await onlyFile(input.files)
    assert.equal(file.path, name)
    assert.deepEqual(await collect(file.lines()), ['one', 'two'])
  }
})

test('reads a stream again from its beginning', async () => {
  const text = 'a line of a talk\n'.repeat(10_000)
  const input = await openStream(text.slice(0, 70_000), text.slice(70_000))
  assert.equal(input.head, text.slice(0, 65_536))
  assert.equal(await (await onlyFile(input.files)).text(), text)
  assert.equal(await textOf(gzipSync(text)), text)
  assert.equal((await linesOf(text)).length, 10_000)
})

test('reads the same text, lines and line ends from any chunks', async () => {
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
        const pieces = textChunks(await onlyFile((await openStream(...chunks)).files))
        assert.equal((await collect(pieces)).join(''), text)
        const lines = text.split(/\r?\n/)
        const expected = lines.at(-1) === '' ? lines.slice(0, -1) : lines
        assert.deepEqual(await linesOf(...chunks), expected)
        const characters = (async function* () {
          yield* text
        })()
        assert.deepEqual(await collect(splitLines(characters, 'talks', inputLimits.line)), expected)
      },
    ),
    { numRuns: 100 },
  )
})

test('removes a byte order mark, even if it is split between chunks', async () => {
  assert.equal(await textOf('\ufeffone'), 'one')
  assert.equal(
    await textOf(Uint8Array.of(0xef), Uint8Array.of(0xbb), Uint8Array.of(0xbf, 0x61)),
    'a',
  )
  assert.equal(await textOf('one\ufeff'), 'one\ufeff')
})

test('refuses text that is not in UTF-8, and says what to do', async () => {
  await assertRefused(
    textOf(Uint8Array.of(0x63, 0x61, 0x66, 0xe9)),
    /not in UTF-8 \(near byte \d+\)\.[\s\S]*iconv -f WINDOWS-1252/,
  )
  await assertRefused(textOf('caf', Uint8Array.of(0xc3)), /not in UTF-8/)
  await assertRefused(textOf(Uint8Array.of(0xff, 0xfe, 0x61, 0)), /UTF-16.*iconv/)
  await assertRefused(textOf(Uint8Array.of(0xfe, 0xff, 0, 0x61)), /UTF-16.*iconv/)
  await assertRefused(textOf('a\0b'), /NUL/)
  await assertRefused(textOf(gzipSync(Uint8Array.of(0x61, 0xe9, 0x61))), /not in UTF-8/)
  const input = await openStream('a'.repeat(100_000), Uint8Array.of(0xe9), 'b')
  await assertRefused((await onlyFile(input.files)).text(), /not in UTF-8 \(near byte 10000[12]\)/)
})

test('refuses archives and other compressions, also inside gzip', async () => {
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
    await assertRefused(openStream(bytes), message)
    await assertRefused(openStream(...Array.from(bytes, (byte) => Uint8Array.of(byte))), message)
    await assertRefused(openStream(gzipSync(bytes)), message)
  }
  await assertRefused(openStream(gzipSync(gzipSync('a'))), /packed twice/)
})

test('refuses a gzip file that is cut off or damaged', async () => {
  const packed = gzipSync(
    Buffer.from(Array.from({ length: 300_000 }, (_, index) => 97 + ((index * index) % 23))),
  )
  const cut = await openInput({
    path: writeInput('cut.gz', packed.subarray(0, packed.length - 9)),
  }).then(({ files }) => onlyFile(files))
  await assertRefused(cut.text(), /cut off.*Download it again/)
  await assertRefused(openStream(packed.subarray(0, 2)), /cut off/)
  const damaged = Buffer.from(packed)
  damaged.fill(0xff, 40, 400)
  await assertRefused(openStream(damaged), /damaged.*Download it again/)
})

test('refuses a gzip bomb early', async () => {
  const bomb = gzipSync(Buffer.alloc(70 << 20, 'a'))
  const file = await onlyFile((await openStream(bomb)).files)
  await assertRefused(file.text(), /more than 64 MB/)
  await assertRefused(linesOf(bomb), /Line 1 of talks has more than 1 MB/)
  const small = { ...inputLimits, bytes: 5000 }
  await assertRefused(
    openInput({ stream: stream(gzipSync('a\n'.repeat(5000))), name: 'talks' }, small),
    /more than 5000 bytes/,
  )
})

test('refuses an endless line at the limit', async () => {
  let sentBytes = 0
  async function* endless() {
    for (const chunk = Buffer.alloc(1 << 16, 'a'); ; sentBytes += chunk.length) yield chunk
  }
  const file = await onlyFile((await openInput({ stream: endless(), name: 'talks' })).files)
  await assertRefused(collect(file.lines()), /Line 1 of talks has more than 1 MB/)
  assert.ok(sentBytes < 2 << 20, `${sentBytes} bytes were read`)
  assert.equal((await linesOf(`${'a'.repeat(inputLimits.line)}\nb`)).length, 2)
  await assertRefused(linesOf(`b\n${'a'.repeat(inputLimits.line + 1)}\nb`), /Line 2/)
})

test('reads a large stream line by line in little memory', () => {
  // In its own process, which crashes if it keeps more than a third of what it reads.
  const script = `
    import { openInput } from ${JSON.stringify(new URL('input.ts', import.meta.url).href)}
    const talk = { title: 'A talk about é and 日本', description: 'x'.repeat(900) }
    const chunk = Buffer.from((JSON.stringify(talk) + '\\n').repeat(70))
    async function* stream() {
      for (let sent = 0; sent < 200 << 20; sent += chunk.length) yield Buffer.from(chunk)
    }
    let lines = 0
    const { files } = await openInput({ stream: stream(), name: 'talks' })
    for await (const file of files) for await (const _ of file.lines()) lines++
    console.log(JSON.stringify({ lines, maxRss: process.resourceUsage().maxRSS }))`
  const printed = execFileSync(
    process.execPath,
    ['--max-old-space-size=64', '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  )
  const { lines, maxRss } = JSON.parse(printed) as { lines: number; maxRss: number }
  assert.ok(lines > 200_000, `${lines} lines`)
  assert.ok(maxRss < 200_000, `took ${Math.round(maxRss / 1000)} MB`)
})

test('lists the .json files of a folder in order, without hidden files and links', async () => {
  for (const path of [
    'b.json',
    'a/videos/two.json',
    'a/videos/one.json',
    'a/category.json',
    'a/notes.txt',
    '.git/x.json',
    'a/.x.json',
  ])
    writeInput(`talks/${path}`, `{"path":"${path}"}`)
  writeInput('outside.json', 'secret')
  symlinkSync(join(folder, 'outside.json'), join(folder, 'talks/link.json'))
  symlinkSync(folder, join(folder, 'talks/circle'))
  const input = await openInput({ path: join(folder, 'talks') })
  const files = await collect(input.files)
  const paths = ['b.json', 'a/category.json', 'a/videos/one.json', 'a/videos/two.json']
  assert.deepEqual(
    [input.name, input.firstPath, input.head],
    ['talks', 'b.json', '{"path":"b.json"}'],
  )
  assert.deepEqual(
    files.map(({ path }) => path),
    paths,
  )
  for (const [index, path] of paths.entries())
    assert.equal(await files[index]?.text(), `{"path":"${path}"}`)
})

test('does not follow a file that became a link or a pipe after listing', async () => {
  const one = writeInput('moving/one.json', '{}')
  writeInput('moving/two.json', '{}')
  const files = await collect((await openInput({ path: join(folder, 'moving') })).files)
  rmSync(one)
  symlinkSync(join(folder, 'outside.json'), one)
  await assertRefused((files[0] as SourceFile).text(), /symbolic link/)
  rmSync(join(folder, 'moving/two.json'))
  execFileSync('mkfifo', [join(folder, 'moving/two.json')])
  await assertRefused((files[1] as SourceFile).text(), /no longer a file/)
})

test('says why a path can’t be opened', async () => {
  await assertRefused(openInput({ path: join(folder, 'nothing') }), /does not exist/)
  await assertRefused(openInput({ path: join(writeInput('file', 'a'), 'inside') }), /not a folder/)
  await assertRefused(openInput({ path: writeInput('empty', ' \n') }), /empty is empty/)
  await assertRefused(openStream(), /talks is empty/)
  await assertRefused(openInput({ path: '/dev/null' }), /not a file or folder/)
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  await assertRefused(openInput({ path: pipe }), /standard input/)
  writeInput('no talks/readme.txt', 'a')
  await assertRefused(openInput({ path: join(folder, 'no talks') }), /no \.json files/)
  await assertRefused(
    openInput({ path: join(folder, 'talks') }, { ...inputLimits, files: 3 }),
    /more than 3 files/,
  )
  writeInput(`deep/${'a/'.repeat(40)}one.json`, '{}')
  await assertRefused(openInput({ path: join(folder, 'deep') }), /32 folders deep/)
})

test('refuses a file without permission', {
  skip: process.getuid?.() === 0 && 'root can read every file',
}, async () => {
  const file = writeInput('closed', 'a')
  chmodSync(file, 0)
  await assertRefused(openInput({ path: file }), /permission denied/)
})

test('closes a file of which only the beginning is read', {
  skip: !existsSync('/proc/self/fd') && 'open files can’t be counted',
}, async () => {
  const text = Array.from({ length: 200_000 }, (_, index) => String(index * 7919)).join('\n')
  const before = readdirSync('/proc/self/fd').length
  for (const content of [text, gzipSync(text)]) {
    const path = writeInput('large', content)
    for (let times = 0; times < 5; times++) {
      const file = await onlyFile((await openInput({ path })).files)
      for await (const _ of file.lines()) break
    }
  }
  const isClosed = () => readdirSync('/proc/self/fd').length <= before
  for (let times = 0; times < 100 && !isClosed(); times++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(isClosed())
})

test('throws the error of a broken stream, and reads a file only once', async () => {
  async function* broken() {
    yield Buffer.from('a'.repeat(100_000))
    throw new Error('the connection was lost')
  }
  const file = await onlyFile((await openInput({ stream: broken(), name: 'talks' })).files)
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
