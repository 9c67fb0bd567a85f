import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Video } from '@talkshelf/contract'
import { parse, stringify } from 'yaml'
import { root } from '../support/harness.ts'
import { installMissing } from '../support/install.ts'
import { codeBlocks } from '../support/shell-blocks.ts'
import { until } from '../support/until.ts'
import { type Docker, processesWith, startDocker, unpackDocker } from './docker.ts'
import { createNode, createPostgres, importImages } from './images.ts'
import {
  archiveUrl,
  checkPreview,
  type Installation,
  type InstallContext,
  read,
  readPreview,
  sectionsOf,
  talk,
} from './installation.ts'
import { runProgram } from './run-program.ts'

const page = 'container.md'
const maxImageMegabytes = 250

/**
 * All that differs from the machine of a user, besides the base images (images.ts). Docker sets no
 * rules in the firewall of this machine, so its networks do not reach the internet:
 * - builds use the network of this machine, by an override that compose reads by itself;
 * - npm uses the registry of the tests, by a line in the `.npmrc` of the sources, which only the
 *   first stage of the image has;
 * - `talkshelf doctor` may warn that it finds no other hosts.
 */
function adapt(sources: string, registry: string): void {
  const { services } = parse(readFileSync(join(sources, 'compose.yaml'), 'utf8'), {
    merge: true,
  }) as { services: Record<string, { build?: string }> }
  const built = Object.keys(services).filter((name) => services[name]?.build)
  const override = built.map((name) => [name, { build: { network: 'host' } }])
  writeFileSync(
    join(sources, 'compose.override.yaml'),
    stringify({ services: Object.fromEntries(override) }),
  )
  appendFileSync(join(sources, '.npmrc'), `registry=${registry}/\n`)
}
const allowedWarnings = ['Network']

/** Follows docs/install/container.md with a Docker of its own. */
export const container: Installation = {
  name: page,
  needsRoot: false,
  isLong: true,
  async run(context) {
    const { checks, atEnd } = context
    const folder = join(context.folder, 'container')
    const sources = join(folder, 'talkshelf')
    const started: { docker?: Docker } = {}
    const bridges = findBridges()

    async function stop() {
      const { docker } = started
      delete started.docker
      try {
        if (existsSync(join(sources, '.env')))
          await docker?.run('docker compose --profile tools down --volumes --timeout 30', sources)
      } finally {
        await docker?.stop()
      }
    }
    atEnd(stop)

    await checks.step('Docker starts, and has stand-ins for the base images', async () => {
      started.docker = await prepare(context, folder, sources)
      await importImages(started.docker, folder)
    })
    try {
      if (started.docker) await follow(context, started.docker, sources)
    } finally {
      await checks.check('nothing is left: no process, mount, network or open port', async () => {
        await stop()
        assert.deepEqual(processesWith(folder), [])
        assert.ok(!readFileSync('/proc/self/mounts', 'utf8').includes(folder), 'a mount is left')
        assert.deepEqual(findBridges(), bridges)
        await assert.rejects(fetch(archiveUrl), 'the port of the archive is still open')
      })
    }
  },
}

/** Docker gives the bridge of each network this name. */
const findBridges = () => readdirSync('/sys/class/net').filter((name) => name.startsWith('br-'))

async function prepare({ registry }: InstallContext, folder: string, sources: string) {
  const areInstalled = installMissing([
    { package: 'mmdebstrap', program: 'mmdebstrap' },
    { package: 'runc', program: 'runc' },
    { package: 'iptables', program: 'iptables' },
    { package: 'openssl', program: 'openssl' },
    { package: 'fonts-noto-core', program: '../share/fonts/truetype/noto/NotoSans-Regular.ttf' },
  ])
  assert.ok(areInstalled, 'mmdebstrap, runc, iptables, openssl and fonts-noto-core are needed')
  mkdirSync(sources, { recursive: true })
  // What git clone would write, with changes that are not committed yet.
  const files = 'git ls-files -z --cached --others --exclude-standard'
  const copy = `tar --create --null --files-from=- | tar --extract --directory='${sources}'`
  await runProgram('bash', ['-c', `set -eu -o pipefail; ${files} | ${copy}`], { cwd: root })
  adapt(sources, registry.url)
  const programs = join(folder, 'programs')
  // All of them end before an error is reported, so that none outlives its folder.
  const outcomes = await Promise.allSettled([
    createNode(folder, registry.url),
    createPostgres(folder),
    unpackDocker(programs),
  ])
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  return startDocker(join(folder, 'docker'), programs)
}

async function follow({ checks }: InstallContext, docker: Docker, sources: string): Promise<void> {
  const startedMs = performance.now()
  const run = (commands: string) => docker.run(commands, sources)
  const sections = sectionsOf(page)
  const section = (name: string) => {
    const commands = sections.get(name)
    assert.ok(commands, `${page} has no commands in the section '${name}'`)
    return commands
  }
  const start = 'docker compose up --build --detach\n'
  const [settings = '', tools = '', ...others] = section('').split(start)
  assert.ok(tools && others.length === 0, `${page} has not exactly one ${start}`)

  await checks.step('the image builds', async () => {
    await run(settings)
    await run('docker compose build')
  })
  await checks.check(`the image has at most ${maxImageMegabytes} MB beyond its base`, async () => {
    const layers = await layersBeyondBase(run)
    const total = layers.reduce((sum, { bytes }) => sum + bytes, 0)
    const lines = layers.map(({ bytes, command }) => `${megabytes(bytes)}  ${command}`)
    console.log(`${megabytes(total)}  beyond its base:\n${lines.join('\n')}`)
    assert.ok(total > 0 && total <= maxImageMegabytes * 1e6)
  })

  let token = ''
  await checks.step('compose migrates, serves and creates a token', async () => {
    await run(start)
    token = (await run(tools)).trim().split('\n').at(-1)?.trim() ?? ''
    assert.match(token, /^\S{20,}$/)
    await waitForServer()
  })
  await checks.check('talkshelf doctor finds everything', async () => {
    const findings = JSON.parse(await run('docker compose run --rm tools doctor --json'))
    assert.ok(findings.length > 10)
    for (const { check, state, detail } of findings)
      if (state !== 'ok' && !allowedWarnings.includes(check))
        assert.fail(`${state}: ${check}: ${detail}`)
  })

  const send = async (method: string, path: string, body: object) => {
    const response = await fetch(`${archiveUrl}${path}`, {
      method,
      headers: { authorization: `Token ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  let record: Video | undefined
  const readRecord = async (): Promise<Video> =>
    (await (await read(`/api/v2/video/${record?.id}`)).json()) as Video
  await checks.step('a record is written and read', async () => {
    await send('POST', '/api/v2/category', { title: talk.category })
    record = (await send('POST', '/api/v2/video', talk)) as Video
    const { title, speakers } = await readRecord()
    assert.deepEqual([title, speakers], [talk.title, talk.speakers])
    console.log(`${((performance.now() - startedMs) / 1000).toFixed(0)} s from sources to record`)
  })
  await checks.check('its page has its title, and its preview has letters', async () => {
    assert.ok((await (await read(`/video/${record?.id}`)).text()).includes(talk.title))
    const preview = await readPreview(`${archiveUrl}/picture/${record?.id}/preview`)
    await checkPreview(preview, 'Example Talks')
  })

  await checks.check('the server is an unprivileged user on a read-only file system', async () => {
    const execute = (command: string) => run(`docker compose exec -T server sh -c '${command}'`)
    await checkSandbox(execute)
    assert.match(await execute('grep NoNewPrivs /proc/self/status'), /\t1\n$/)
  })
  await checks.check('the health check passes while the server runs, and fails without it', () =>
    checkHealth(run),
  )

  await checks.step('a backup is made and copied out of its volume', async () => {
    await run(section('Backup'))
    const listing = await run('tar --list --verbose --file=backups.tar')
    console.log(listing.trim())
    const [, name] = /(\S+\.dump)$/m.exec(listing) ?? []
    assert.ok(name, 'no dump')
    await run(`tar --extract --file=backups.tar ${name}`)
    const dump = readFileSync(join(sources, name))
    assert.equal(dump.toString('latin1', 0, 5), 'PGDMP')
  })
  await checks.step('the backup is restored into a new database', async () => {
    const before = await readRecord()
    const changed = 'Changed after the backup'
    await send('PATCH', `/api/v2/video/${before.id}`, { title: changed })
    // As on a new machine: the volume is empty, and the files come from the copy.
    await run('docker compose run --rm --entrypoint sh tools -c "rm /var/backups/talkshelf/*"')
    await run(blockWith('--extract'))
    assert.equal((await readRecord()).title, changed)
    await run(section('Restore'))
    await waitForServer()
    assert.deepEqual(await readRecord(), before)
    const old = await run(
      'docker compose exec -T postgres psql --username=talkshelf --dbname=talkshelf ' +
        `--no-align --tuples-only --command='select title from video where id = ${before.id}'`,
    )
    assert.equal(old.trim(), changed, 'the old database stays as it was')
  })

  await checks.check('an upgrade replaces the server and keeps the record', async () => {
    const imageOf = async () =>
      (await run("docker inspect --format '{{.Image}}' $(docker compose ps --quiet server)")).trim()
    const [before, image] = [await readRecord(), await imageOf()]
    appendFileSync(join(sources, 'README.md'), '\nThe sources of the next release.\n')
    await run(section('Upgrade'))
    await waitForServer()
    assert.deepEqual(await readRecord(), before)
    assert.notEqual(await imageOf(), image, 'the server is still of the old image')
    const images = await run("docker inspect --format '{{.Id}}' talkshelf")
    assert.equal(await imageOf(), images.trim())
  })
  await checks.check('the image runs without compose', () =>
    checkWithoutCompose(run, sources, record?.id),
  )
  await checks.check('no secret, npm setting or certificate is in the image', () =>
    checkSecrets(run, sources),
  )
}

type Run = (commands: string) => Promise<string>

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1).padStart(7)} MB`

const waitForServer = () =>
  until('the server to be ready', async () => (await read('/readyz')).status === 200)

/** Returns the block of the page that is not run in its order, because it has choices. */
function blockWith(text: string): string {
  const blocks = codeBlocks(`docs/install/${page}`).filter((block) => block.text.includes(text))
  assert.equal(blocks.length, 1, `${page} has not exactly one block with ${text}`)
  return blocks[0]?.text ?? ''
}

/** Quotes an argument for the shell. */
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

async function layersBeyondBase(run: Run): Promise<{ bytes: number; command: string }[]> {
  const format = '{{.Size}} {{.CreatedBy}}'
  const history = await run(
    `docker history --no-trunc --human=false --format '${format}' talkshelf`,
  )
  // The newest first. Stand-ins have one layer.
  const lines = history.trim().split('\n').slice(0, -1)
  return lines
    .map((line) => ({
      bytes: Number(line.split(' ')[0]),
      command: line.slice(line.indexOf(' ') + 1).slice(0, 80),
    }))
    .filter(({ bytes }) => bytes > 0)
}

async function checkSandbox(execute: Run): Promise<void> {
  // The first process is the init of Docker.
  const status = await execute('cat /proc/[0-9]*/status')
  const values = (name: string) =>
    new Set([...status.matchAll(new RegExp(`^${name}:\\s+(\\S+)`, 'gm'))].map(([, it]) => it))
  assert.deepEqual([...values('Uid')], ['1000'])
  assert.deepEqual([...values('CapEff'), ...values('CapBnd')], ['0'.repeat(16), '0'.repeat(16)])
  await execute('touch /tmp/file')
  for (const folder of ['/app', '/app/cache', '/home/node', '/var/lib'])
    await assert.rejects(execute(`touch ${folder}/file`), /Read-only file system/)
}

async function checkHealth(run: Run): Promise<void> {
  const format = '{{json .Config.Healthcheck.Test}}'
  const [kind, program = '', ...args] = JSON.parse(
    await run(`docker image inspect --format '${format}' talkshelf`),
  ) as string[]
  assert.equal(kind, 'CMD')
  const options = args.map(quote).join(' ')
  await run(`docker compose exec -T server ${program} ${options}`)
  // In a container where no server runs.
  await assert.rejects(run(`docker compose run --rm --entrypoint ${program} tools ${options}`))
  await until('Docker to call the server healthy', async () =>
    (await run('docker compose ps --format json server')).includes('"Health":"healthy"'),
  )
}

/** Follows the section with the same database, in the place of the server of compose. */
async function checkWithoutCompose(run: Run, sources: string, id?: number): Promise<void> {
  const { POSTGRES_PASSWORD: password, DATABASE: database } = readSettings(sources)
  await run('docker compose stop server')
  const [build, ...commands] = blockWith('docker build -t').trim().split('\n')
  // Compose has built it, with the network of this machine.
  assert.equal(build, 'docker build -t talkshelf .')
  const output = await run(`
    export DATABASE_URL=postgres://talkshelf:${password}@postgres:5432/${database}
    ${commands.join('\n').replaceAll('docker run', 'docker run --network=talkshelf_default')}`)
  const name = output.trim().split('\n').at(-1)
  try {
    await waitForServer()
    const { title } = (await (await read(`/api/v2/video/${id}`)).json()) as Video
    assert.equal(title, talk.title)
    await checkSandbox((command) => run(`docker exec ${name} sh -c '${command}'`))
    await run(`docker stop ${name}`)
    const state = await run(`docker inspect --format '{{.State.ExitCode}}' ${name}`)
    assert.equal(state.trim(), '0', 'the server ends with an error')
  } finally {
    await run(`docker rm --force ${name}`)
  }
}

const readSettings = (sources: string) => parseEnv(readFileSync(join(sources, '.env'), 'utf8'))

/** Looks into the layers that the image has beyond its base, and into its settings and history. */
async function checkSecrets(run: Run, sources: string): Promise<void> {
  const { POSTGRES_PASSWORD: password } = readSettings(sources)
  const [, registry = ''] =
    /^registry=http:\/\/(.+)\/$/m.exec(readFileSync(join(sources, '.npmrc'), 'utf8')) ?? []
  assert.ok(password && registry)
  const folder = join(sources, '../image')
  mkdirSync(folder)
  await run(`docker save talkshelf | tar --extract --directory='${folder}'`)
  const [manifest] = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    Config: string
    Layers: string[]
  }[]
  assert.ok(manifest && manifest.Layers.length > 3)
  const config = readFileSync(join(folder, manifest.Config), 'utf8')
  const forbidden = [password, registry, sources, root, 'NODE_EXTRA_CA_CERTS']
  for (const text of forbidden) assert.ok(!config.includes(text), `the settings name ${text}`)
  const names: string[] = []
  for (const layer of manifest.Layers.slice(1)) {
    const target = join(folder, 'layer', layer)
    mkdirSync(target, { recursive: true })
    await run(`tar --extract --file='${join(folder, layer)}' --directory='${target}'`)
    names.push(...(await run(`find '${target}' -printf '%P\\n'`)).split('\n'))
  }
  assert.ok(names.includes('app/talkshelf/talkshelf.js'))
  const isPrivate = /(^|\/)(\.env|\.npmrc|\.git|backups\.tar|compose\..*|.*\.(pem|crt|key))$/
  assert.deepEqual(
    names.filter((name) => isPrivate.test(name)),
    [],
  )
  const patterns = [...forbidden, 'BEGIN CERTIFICATE', '_authToken'].map(
    (text) => `-e ${quote(text)}`,
  )
  // It ends with 1 if it finds nothing.
  const found = await run(
    `grep --recursive --fixed-strings --files-with-matches ${patterns.join(' ')} ` +
      `'${join(folder, 'layer')}' || [ $? -eq 1 ]`,
  )
  assert.equal(found, '')
}
