// What `npm run pack` runs: node scripts/pack.ts [--out dist] Makes what people install: for each package a
// folder with compiled JavaScript, and a tarball of it. The server is a file or two with all that
// it needs, which start three times as fast as a thousand. Why not npm's own way:
// docs/decisions/0011-packing.md.

import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildPages } from './build.ts'
import { bundleServer, externalPackages } from './bundle.ts'

interface Manifest {
  name: string
  description: string
  version: string
  license: string
  dependencies?: Record<string, string>
  bin?: Record<string, string>
  exports?: Record<string, string>
}

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { out: { type: 'string', default: 'dist' } } })
const out = resolve(values.out)

/**
 * The folder here, the folder there. A library is what people write code against: file by file,
 * with types.
 */
const packages = [
  { from: 'contract', to: 'contract', isLibrary: true },
  { from: 'client', to: 'client', isLibrary: true },
  { from: 'server', to: 'talkshelf', isLibrary: false },
]

for (const to of ['compiled', ...packages.map(({ to }) => to)])
  rmSync(join(out, to), { recursive: true, force: true })
for (const old of globSync('*.tgz', { cwd: out })) rmSync(join(out, old))
const compiled = join(out, 'compiled')
await buildPages()
compile()
for (const it of packages) await stage(it)
rmSync(compiled, { recursive: true })
const folders = packages.map(({ to }) => `./${to}`)
// Scripts of ours have no place in a package; none are run, whatever npm is set to.
execFileSync('npm', ['pack', '--silent', '--ignore-scripts', ...folders], {
  cwd: out,
  stdio: ['ignore', 'inherit', 'inherit'],
})

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
    exclude: packages.flatMap(({ from }) => [
      join(root, from, '**/*.test.ts'),
      join(root, from, 'node_modules'),
    ]),
  }
  writeFileSync(config, JSON.stringify(settings))
  const { status } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', config], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status === 0) return
  console.error('Nothing was packed: the sources have mistakes, as npm run check would tell.')
  process.exit(1)
}

async function stage({ from, to, isLibrary }: (typeof packages)[number]): Promise<void> {
  const folder = join(out, to)
  mkdirSync(folder, { recursive: true })
  const manifest = JSON.parse(readFileSync(join(root, from, 'package.json'), 'utf8')) as Manifest
  if (isLibrary) {
    copyCompiled(from, folder)
    writeFileSync(
      join(folder, 'README.md'),
      `# ${manifest.name}\n\n${manifest.description}\nPart of Talkshelf.\n`,
    )
  } else {
    const files = await bundleServer(folder)
    writeFileSync(
      join(folder, 'THIRD-PARTY.md'),
      thirdParty([...homesOf(files), ...homesOfPages()]),
    )
    // All the others are inside.
    manifest.dependencies = Object.fromEntries(
      Object.entries(manifest.dependencies ?? {}).filter(([name]) =>
        externalPackages.includes(name),
      ),
    )
    cpSync(join(root, 'README.md'), join(folder, 'README.md'))
  }
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, ...entries(manifest) }, null, 2)}\n`,
  )
}

function copyCompiled(from: string, folder: string): void {
  for (const file of globSync('**/*.{js,d.ts}', { cwd: join(compiled, from) })) {
    const text = readFileSync(join(compiled, from, file), 'utf8')
    // The compiler rewrites imports; an address made in another way would lead to a file that is
    // not there.
    const [left] = /(['"`])\.{1,2}\/[^'"`\n]*\.ts\1/.exec(file.endsWith('.js') ? text : '') ?? []
    if (left)
      throw new Error(`${from}/${file} names ${left}, and there are no .ts files in a package`)
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
}

/**
 * The innermost package that each file belongs to. What a package has swallowed comes without a
 * manifest, and belongs to it.
 */
function homesOf(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const ends = [...file.matchAll(/\/node_modules\/(?:@[^/]+\/)?[^/]+/g)].map(
      ({ 0: part, index }) => index + part.length,
    )
    return (
      ends
        .map((end) => file.slice(0, end))
        .findLast((home) => existsSync(join(home, 'package.json'))) ?? []
    )
  })
}

/** The pages were bundled before: by their manifests, what they need and what that needs. */
function homesOfPages(): string[] {
  const homes = new Set<string>()
  const follow = (manifest: Manifest) => {
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const home = join(root, 'node_modules', name)
      if (name.startsWith('@talkshelf/') || homes.has(home)) continue
      homes.add(home)
      follow(JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as Manifest)
    }
  }
  follow(JSON.parse(readFileSync(join(root, 'web', 'package.json'), 'utf8')) as Manifest)
  return [...homes]
}

/** Whose work is inside, in which version, and on which terms. */
function thirdParty(homes: readonly string[]): string {
  const parts = [...new Set(homes)].map((home) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    ) as Manifest
    const [file] = globSync('{LICEN[CS]E,licen[cs]e}*', { cwd: home })
    const terms =
      file === undefined
        ? 'It comes without the text of its licence.'
        : `\`\`\`text\n${readFileSync(join(home, file), 'utf8').trim()}\n\`\`\``
    return { title: `## ${name} ${version} (${license})`, terms }
  })
  const sorted = parts.sort((a, b) => a.title.localeCompare(b.title, 'en'))
  return `# What this package contains beside Talkshelf\n\n${sorted.map(({ title, terms }) => `${title}\n\n${terms}\n`).join('\n')}`
}

function entries({ bin, exports }: Manifest): Pick<Manifest, 'bin'> & { exports?: object } {
  const js = (file: string) => file.replace(/\.ts$/, '.js')
  return {
    ...(bin && {
      bin: Object.fromEntries(Object.entries(bin).map(([name, file]) => [name, js(file)])),
    }),
    ...(exports && {
      exports: Object.fromEntries(
        Object.entries(exports).map(([name, file]) => [
          name,
          { types: file.replace(/\.ts$/, '.d.ts'), default: js(file) },
        ]),
      ),
    }),
  }
}
