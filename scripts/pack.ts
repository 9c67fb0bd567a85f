// Usage: node scripts/pack.ts [--out dist]
//
// Creates a folder with compiled JavaScript and a tarball for each package. The server is bundled
// into a few files. docs/decisions/0011-packaging.md explains why. Run by `npm run pack`.

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

/** Source and target folders. A library is not bundled and has type declarations. */
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
for (const target of packages) await stage(target)
rmSync(compiled, { recursive: true })
const folders = packages.map(({ to }) => `./${to}`)
// The packages have no scripts to run.
execFileSync('npm', ['pack', '--silent', '--ignore-scripts', ...folders], {
  cwd: out,
  stdio: ['ignore', 'inherit', 'inherit'],
})

/** Compiles all packages. Exits if the compiler reports errors. */
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
  console.error("Nothing was packed: the sources have type errors. Run 'npm run check'.")
  process.exit(1)
}

/** Writes the folder of one package. */
async function stage({ from, to, isLibrary }: (typeof packages)[number]): Promise<void> {
  const folder = join(out, to)
  mkdirSync(folder, { recursive: true })
  const manifest = readManifest(join(root, from))
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
      thirdPartyLicences([...packageFolders(files), ...pagePackageFolders()]),
    )
    // All other dependencies are bundled.
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
    `${JSON.stringify({ ...manifest, ...compiledEntries(manifest) }, null, 2)}\n`,
  )
}

function copyCompiled(from: string, folder: string): void {
  for (const file of globSync('**/*.{js,d.ts}', { cwd: join(compiled, from) })) {
    const text = readFileSync(join(compiled, from, file), 'utf8')
    // The compiler rewrites imports only; other paths of .ts files would not exist in the package.
    const [path] = /(['"`])\.{1,2}\/[^'"`\n]*\.ts\1/.exec(file.endsWith('.js') ? text : '') ?? []
    if (path) throw new Error(`${from}/${file} refers to ${path}, but a package has no .ts files`)
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
}

/**
 * Returns the folder of the innermost package with a manifest for each file. Packages that are
 * vendored without a manifest count as part of the one around them.
 */
function packageFolders(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const ends = [...file.matchAll(/\/node_modules\/(?:@[^/]+\/)?[^/]+/g)].map(
      ({ 0: part, index }) => index + part.length,
    )
    return (
      ends
        .map((end) => file.slice(0, end))
        .findLast((folder) => existsSync(join(folder, 'package.json'))) ?? []
    )
  })
}

/** Returns the folders of all dependencies of the pages, which were bundled before. */
function pagePackageFolders(): string[] {
  const folders = new Set<string>()
  const addDependencies = (manifest: Manifest) => {
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const folder = join(root, 'node_modules', name)
      if (name.startsWith('@talkshelf/') || folders.has(folder)) continue
      folders.add(folder)
      addDependencies(readManifest(folder))
    }
  }
  addDependencies(readManifest(join(root, 'web')))
  return [...folders]
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Lists the bundled packages with their versions and licences. */
function thirdPartyLicences(folders: readonly string[]): string {
  const sections = [...new Set(folders)].map((folder) => {
    const { name, version, license } = readManifest(folder)
    const [file] = globSync('{LICEN[CS]E,licen[cs]e}*', { cwd: folder })
    const text =
      file === undefined
        ? 'The package has no licence text.'
        : `\`\`\`text\n${readFileSync(join(folder, file), 'utf8').trim()}\n\`\`\``
    return { title: `## ${name} ${version} (${license})`, text }
  })
  const sorted = sections.sort((a, b) => a.title.localeCompare(b.title, 'en'))
  const list = sorted.map(({ title, text }) => `${title}\n\n${text}\n`).join('\n')
  return `# Third-party packages in Talkshelf\n\n${list}`
}

/** Returns `bin` and `exports` of a manifest for the compiled files. */
function compiledEntries({ bin, exports }: Manifest): Pick<Manifest, 'bin'> & { exports?: object } {
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
