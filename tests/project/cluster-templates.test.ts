import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { ConfigSchema } from '../../server/config.ts'
import { root } from '../support/harness.ts'

// deploy/cluster: the example is rendered, and each program checks its own file. That a cluster
// works is what `npm run faults -- cluster` shows.

const cluster = join(root, 'deploy/cluster')
const example = readFileSync(join(cluster, 'hosts.conf'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'cluster-'))
test.after(() => rmSync(folder, { recursive: true }))

/** Runs render.sh with a hosts file. */
function render(hosts: string, name: string) {
  const file = join(folder, `${name}.conf`)
  const out = join(folder, name)
  writeFileSync(file, hosts)
  const { status, stderr, stdout } = spawnSync('sh', [join(cluster, 'render.sh'), file, out], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr: stderr.replaceAll(file, 'hosts.conf'), out }
}

const { status, stderr, out } = render(example, 'example')
assert.equal(status, 0, stderr)
const read = (path: string) => readFileSync(join(out, path), 'utf8')
const files = () =>
  globSync('**/*', { cwd: out }).filter((path) => statSync(join(out, path)).isFile())

/** Runs a program; skips the test if it is not installed. */
function run(t: TestContext, program: string, ...args: string[]): string | undefined {
  // keepalived ends its process group.
  const { error, stderr, stdout, status } = spawnSync('setsid', ['--wait', program, ...args], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    timeout: 60_000,
  })
  if (error) throw error
  if (status === 127 || /failed to execute/.test(stderr)) t.skip(`${program} is not installed`)
  else return stdout + stderr
}

/** Writes a file with the paths of the rendered folder instead of those of a host. */
function relocated(path: string): string {
  const [host = ''] = path.split('/')
  const file = join(folder, path.replaceAll('/', '-'))
  const config = read(path)
    .replaceAll(/\/etc\/(talkshelf|haproxy|patroni)\//g, `${out}/${host}$&`)
    // INSTALL.md copies it.
    .replace('site.pem', 'placeholder.pem')
  writeFileSync(file, config)
  return file
}

test('every host has an INSTALL.md, and secrets are for their owner only', () => {
  assert.deepEqual(globSync('*/INSTALL.md', { cwd: out }).sort(), [
    'node1/INSTALL.md',
    'node2/INSTALL.md',
    'node3/INSTALL.md',
    'vault/INSTALL.md',
  ])
  assert.equal(statSync(out).mode & 0o77, 0)
  const secrets = read('secrets')
    .trim()
    .split('\n')
    .map((line) => line.split('=')[1] ?? '')
  assert.ok(secrets.length >= 5 && secrets.every((secret) => secret.length >= 32))
  for (const path of files()) {
    const text = read(path)
    assert.doesNotMatch(text, /@[a-z_]+@/, path)
    const isSecret = /PRIVATE KEY/.test(text) || secrets.some((secret) => text.includes(secret))
    const mode = statSync(join(out, path)).mode & 0o777
    // Programs read some files after they have given up their privileges: the group may read.
    if (isSecret) assert.equal(mode & 0o037, 0, `${path} has the mode ${mode.toString(8)}`)
  }
})

test('the commands of INSTALL.md are valid, and name existing files', () => {
  for (const path of globSync('*/INSTALL.md', { cwd: out })) {
    const commands = [...read(path).matchAll(/^```sh\n(.*?)^```/gms)].map(([, text]) => text)
    const { status, stderr } = spawnSync('sh', ['-n'], {
      input: commands.join('\n'),
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${path}: ${stderr}`)
    const steps = commands.join('\n').replaceAll(/\\\n/g, '').trim().split('\n')
    assert.ok(steps.length <= 25, `${path} has ${steps.length} commands`)
  }
})

test('rendering again keeps secrets and certificates, and replaces those of a changed host', () => {
  const before = new Map(files().map((path) => [path, read(path)]))
  assert.equal(render(example, 'example').status, 0)
  for (const path of files()) assert.equal(read(path), before.get(path), path)
  assert.equal(files().length, before.size)
  cpSync(out, join(folder, 'moved'), { recursive: true })
  assert.equal(render(example.replace('10.0.0.13', '10.0.0.14'), 'moved').status, 0)
  const certificate = (name: string, host: string) =>
    readFileSync(join(folder, name, 'certificates', `${host}.crt`), 'utf8')
  assert.equal(certificate('moved', 'node1'), certificate('example', 'node1'))
  assert.notEqual(certificate('moved', 'node3'), certificate('example', 'node3'))
})

test('a hosts file with an error is refused with one sentence', () => {
  const errors: [from: string | RegExp, to: string, message: RegExp][] = [
    ['host node2  10.0.0.12', 'host node1  10.0.0.12', /there is a host node1 already/],
    ['10.0.0.12', '10.0.0.11', /another host has the address 10.0.0.11 already/],
    ['10.0.0.12', '10.0.0.256', /10.0.0.256 is no IPv4 address/],
    ['host node2', 'host Node_2', /the name Node_2 must be/],
    ['host vault', 'host secrets', /the name secrets is reserved/],
    ['database service edge', 'database web', /web is no role: use database, service/],
    [/^host node3.*$/m, '', /give the role database to three hosts, or to five/],
    [/(host node2 .*) service/, '$1', /give the role service to two hosts or more/],
    [/(host node2 .*) edge/, '$1', /give the role edge to two hosts or more/],
    ['node3  10.0.0.13  database', 'node3  10.0.0.13  database backup', /host of its own/],
    ['https://talks.example.org', 'talks.example.org', /set public_url to the address/],
    ['10.0.0.10/24', '10.0.0.10', /set shared_address to an address/],
    ['10.0.0.10/24', '10.0.0.11/24', /an address that no host has/],
    ['interface = eth0', '', /set interface/],
    ['postgresql = 15', 'postgresql = 9', /set postgresql to the major version/],
    ['patroni = 3.0.2', 'patroni = new', /set patroni to what/],
    ['1GB', 'much', /set shared_buffers to a size/],
    ['varnish_memory', 'varnish_size', /there is no setting varnish_size/],
    ['host vault', 'vault', /write NAME = VALUE, or host NAME ADDRESS ROLE/],
  ]
  for (const [from, to, message] of errors) {
    const hosts = example.replace(from, to)
    assert.notEqual(hosts, example, String(from))
    const refused = render(hosts, 'refused')
    assert.equal(refused.status, 2, `${from}: ${refused.stderr}`)
    assert.match(refused.stderr, message)
    assert.match(refused.stderr, /^hosts\.conf(:\d+)?: [^\n]+\n$/)
    assert.throws(() => statSync(refused.out), 'nothing was written')
  }
  const { status: withoutFile } = spawnSync('sh', [join(cluster, 'render.sh'), folder])
  assert.equal(withoutFile, 2)
})

test('Patroni uses the v2 API before 3.0.3, and the v3 API from then on', () => {
  for (const [version, section, ttl] of [
    ['3.0.2', 'etcd', 8],
    ['3.0.3', 'etcd3', 20],
    ['4.1.1', 'etcd3', 20],
  ] as const) {
    const { out: folder, stderr } = render(
      example.replace('patroni = 3.0.2', `patroni = ${version}`),
      `patroni-${version}`,
    )
    const config = parse(readFileSync(join(folder, 'node1/etc/patroni/config.yml'), 'utf8'))
    assert.deepEqual([section in config, config.bootstrap.dcs.ttl], [true, ttl], stderr)
    assert.equal('etcd' in config && 'etcd3' in config, false)
    const etcd = readFileSync(join(folder, 'node1/etc/default/etcd'), 'utf8')
    assert.match(etcd, new RegExp(`^ETCD_ENABLE_V2=${section === 'etcd'}$`, 'm'))
    const { dcs } = config.bootstrap
    assert.ok(dcs.synchronous_mode && dcs.synchronous_mode_strict && dcs.failsafe_mode)
    assert.equal(config.watchdog.mode, 'automatic')
  }
})

test('the settings of Talkshelf exist, and site.env is added to them', () => {
  const settings = Object.keys(ConfigSchema.properties)
  const names = [...read('node1/etc/talkshelf/talkshelf.env').matchAll(/^(\w+)=/gm)].map(
    ([, name = '']) => name,
  )
  assert.ok(names.length >= 5)
  for (const name of names) assert.ok(settings.includes(name), name)
  for (const [, name = ''] of read(
    'node1/etc/systemd/system/talkshelf.service.d/cluster.conf',
  ).matchAll(/(\w+)_FILE=/g))
    assert.ok(settings.includes(name), name)
  writeFileSync(join(folder, 'site.env'), 'SITE_NAME="Example Talks"\n')
  assert.equal(render(example, 'site').status, 0)
  rmSync(join(folder, 'site.env'))
  const env = readFileSync(join(folder, 'site/node2/etc/talkshelf/talkshelf.env'), 'utf8')
  assert.match(env, /^HOST=10\.0\.0\.12$/m)
  assert.match(env, /^SITE_NAME="Example Talks"$/m)
})

test('openssl accepts the certificates, for the names and addresses of the hosts', (t) => {
  for (const [host, address] of [
    ['node1', '10.0.0.11'],
    ['vault', '10.0.0.20'],
  ] as const) {
    const certificates = join(out, 'certificates')
    const output = run(
      t,
      'openssl',
      ...['verify', '-CAfile', join(certificates, 'ca.crt'), '-verify_hostname', host],
      ...['-verify_ip', address, '-purpose', 'sslserver', join(certificates, `${host}.crt`)],
    )
    assert.match(output ?? 'OK', /: OK\n$|^OK$/)
  }
})

test('HAProxy accepts its configuration, with and without TLS', (t) => {
  for (const url of ['https://talks.example.org', 'http://talks.example.org/archive']) {
    const { out: folder } = render(example.replace('https://talks.example.org', url), 'example')
    assert.equal(folder, out)
    for (const host of ['node1', 'node2']) {
      const output = run(t, 'haproxy', '-c', '-f', relocated(`${host}/etc/haproxy/haproxy.cfg`))
      if (output !== undefined) assert.equal(output, 'Configuration file is valid\n')
    }
  }
  render(example, 'example')
})

test('Varnish accepts its configuration', (t) => {
  const vcl = join(out, 'node1/etc/varnish/talkshelf.vcl')
  const output = run(t, 'varnishd', '-j', 'none', '-C', '-f', vcl, '-n', join(folder, 'varnish'))
  if (output !== undefined) assert.match(output, /VCL_conf = \{/)
  const text = read('node1/etc/varnish/talkshelf.vcl')
  assert.doesNotMatch(text, /port = "8000"/)
  assert.match(
    text,
    /acl purgers \{\n {2}"10\.0\.0\.11";\n {2}"10\.0\.0\.12";\n {2}"127\.0\.0\.1";/,
  )
})

test('Patroni accepts its configuration', (t) => {
  const output = run(t, 'patroni', '--validate-config', relocated('node1/etc/patroni/config.yml'))
  const complaints = (output ?? '')
    .split('\n')
    // The addresses are not those of this machine; pg_hba is set for every start, not only the first.
    .filter((line) => line !== '' && !/in use|not reachable|bootstrap\.pg_hba/.test(line))
  assert.deepEqual(complaints, [])
})

test('keepalived accepts its configuration', (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can create its interface')
  const config = join(out, 'node1/etc/keepalived/keepalived.conf')
  const command = 'ip link add eth0 type bridge && keepalived -t -f "$1"'
  const output = run(t, 'unshare', '--net', 'sh', '-c', command, 'sh', config)
  if (output?.includes('not found')) return t.skip('keepalived is not installed')
  assert.doesNotMatch(output ?? '', /Line \d+|[Uu]nknown|invalid/)
})

test('systemd accepts the units and drop-ins', (t) => {
  const units = join(folder, 'units')
  for (const host of ['node1', 'vault'])
    cpSync(join(out, host, 'etc/systemd/system'), units, { recursive: true })
  const talkshelf = readFileSync(join(root, 'deploy/talkshelf.service'), 'utf8')
  const program = '/opt/talkshelf/node_modules/.bin/talkshelf'
  writeFileSync(join(units, 'talkshelf.service'), talkshelf.replaceAll(program, process.execPath))
  for (const name of ['etcd', 'patroni', 'varnish']) {
    const unit = globSync(`{/usr,}/lib/systemd/system/${name}.service`)[0]
    if (unit) cpSync(unit, join(units, `${name}.service`))
    // Its drop-in alone is no unit.
    else rmSync(join(units, `${name}.service.d`), { recursive: true })
  }
  const paths = globSync(join(units, '*.{service,timer}'))
  const output = run(t, 'systemd-analyze', 'verify', ...paths)
  const complaints = (output ?? '')
    .split('\n')
    .filter((line) => line.includes(units) && !/is not executable/.test(line))
  assert.deepEqual(complaints, [])
})

interface AlertRule {
  readonly alert: string
  readonly annotations: Record<string, string>
}

test('every alert has a runbook and a test', () => {
  const { groups } = parse(
    readFileSync(join(root, 'deploy/prometheus/cluster.rules.yml'), 'utf8'),
  ) as {
    groups: { rules: AlertRule[] }[]
  }
  const rules = groups.flatMap((group) => group.rules)
  const document = readFileSync(join(root, 'docs/cluster.md'), 'utf8')
  const runbooks = [...document.matchAll(/^### (Talkshelf\w+)$/gm)].map(([, name]) => name)
  const alerts = rules.map(({ alert }) => alert)
  assert.deepEqual(runbooks, alerts)
  for (const { alert, annotations } of rules)
    assert.equal(annotations.runbook, `docs/cluster.md#${alert.toLowerCase()}`)
  const { tests } = parse(
    readFileSync(join(root, 'deploy/prometheus/cluster.test.yml'), 'utf8'),
  ) as {
    tests: { name: string }[]
  }
  assert.deepEqual(
    tests.slice(1).map(({ name }) => name),
    alerts,
  )
})

test('promtool accepts the alert rules', (t) => {
  for (const command of ['check rules cluster.rules.yml', 'test rules cluster.test.yml']) {
    const [kind = '', what = '', file = ''] = command.split(' ')
    const output = run(t, 'promtool', kind, what, join(root, 'deploy/prometheus', file))
    if (output !== undefined) assert.match(output, /SUCCESS/)
  }
})
