// npm ci refuses a lock file that lacks an optional platform package, and a registry mirror that
// lacks the package makes npm leave it out. This adds such entries by name: `node
// .ci/complete-lock.mjs` after every `npm install`. Where the package is at hand, npm's own entry
// (with its hash) is there already and stays.
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const processors = [
  'arm64',
  'arm',
  'x64',
  'ia32',
  'ppc64',
  'riscv64',
  's390x',
  'loong64',
  'mips64el',
]

let added = 0
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === '') continue
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`
    if (lock.packages[key] || lock.packages[`${path}/${key}`]) continue
    const words = name.split(/[/-]/)
    lock.packages[key] = {
      version,
      cpu: [processors.find((p) => words.includes(p)) ?? 'none'],
      dev: entry.dev,
      optional: true,
      ...(words.includes('musl') && { libc: ['musl'] }),
      os: [systems.find((s) => words.includes(s)) ?? 'none'],
    }
    added++
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
)
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} entries added`)
