// What `npm run pack` runs: node pack.ts [--out dist]
// Makes what people install: for each package a folder with compiled JavaScript, and a tarball of it. Node does not strip types
// inside node_modules, and npm knows no way to have other entry points in the tarball than here: docs/decisions/0011-packing.md.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

interface Manifest {
  name: string
  description: string
  bin?: Record<string, string>
  exports?: Record<string, string>
}

const root = import.meta.dirname
const { values } = parseArgs({ options: { out: { type: 'string', default: 'dist' } } })
const out = resolve(values.out)

/** The folder here, the folder there; whether people write code against it, and need its types. */
const packages = [
  { from: 'contract', to: 'contract', typed: true, also: [] },
  { from: 'client', to: 'client', typed: true, also: [] },
  { from: 'server', to: 'talkshelf', typed: false, also: ['migrations'] },
]

for (const to of ['compiled', ...packages.map(({ to }) => to)]) rmSync(join(out, to), { recursive: true, force: true })
for (const old of globSync('*.tgz', { cwd: out })) rmSync(join(out, old))
const compiled = join(out, 'compiled')
compile()
for (const it of packages) stage(it)
rmSync(compiled, { recursive: true })
const folders = packages.map(({ to }) => `./${to}`)
// Scripts of ours have no place in a package; none are run, whatever npm is set to.
execFileSync('npm', ['pack', '--silent', '--ignore-scripts', ...folders], { cwd: out, stdio: ['ignore', 'inherit', 'inherit'] })

function compile(): void {
  mkdirSync(compiled, { recursive: true })
  const config = join(compiled, 'tsconfig.json')
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: root,
      outDir: compiled,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      typeRoots: [join(root, 'node_modules', '@types')],
    },
    include: packages.map(({ from }) => join(root, from, '**/*.ts')),
    exclude: packages.flatMap(({ from }) => [join(root, from, '**/*.test.ts'), join(root, from, 'node_modules')]),
  }
  writeFileSync(config, JSON.stringify(settings))
  const { status } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', config], { cwd: root, stdio: 'inherit' })
  if (status === 0) return
  console.error('Nothing was packed: the sources have mistakes, as npm run check would tell.')
  process.exit(1)
}

function stage({ from, to, typed, also }: (typeof packages)[number]): void {
  const folder = join(out, to)
  for (const file of globSync(typed ? '**/*.{js,d.ts}' : '**/*.js', { cwd: join(compiled, from) })) {
    const text = readFileSync(join(compiled, from, file), 'utf8')
    // The compiler rewrites imports; an address made in another way would lead to a file that is not there.
    const [left] = /(['"`])\.{1,2}\/[^'"`\n]*\.ts\1/.exec(file.endsWith('.js') ? text : '') ?? []
    if (left) throw new Error(`${from}/${file} names ${left}, and there are no .ts files in a package`)
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const name of also) cpSync(join(root, from, name), join(folder, name), { recursive: true })
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))

  const { bin, exports, ...manifest } = JSON.parse(readFileSync(join(root, from, 'package.json'), 'utf8')) as Manifest
  const js = (file: string) => file.replace(/\.ts$/, '.js')
  const entries = {
    ...(bin && { bin: Object.fromEntries(Object.entries(bin).map(([name, file]) => [name, js(file)])) }),
    ...(exports && {
      exports: Object.fromEntries(
        Object.entries(exports).map(([name, file]) => [name, { types: file.replace(/\.ts$/, '.d.ts'), default: js(file) }]),
      ),
    }),
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, ...entries }, null, 2)}\n`)
  if (from === 'server') cpSync(join(root, 'README.md'), join(folder, 'README.md'))
  else writeFileSync(join(folder, 'README.md'), `# ${manifest.name}\n\n${manifest.description}\nPart of Talkshelf.\n`)
}
