import assert from 'node:assert/strict'
import { until } from '../support/until.ts'
import { type CleanRoot, startRoot } from './clean-root.ts'
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

const host = 'talks.example.org'

/** Follows systemd.md and reverse-proxy.md on a Debian 12. */
export const systemd: Installation = {
  name: 'systemd.md and reverse-proxy.md',
  needsRoot: true,
  isLong: false,
  async run(context) {
    const { checks, folder, base, registry, atEnd } = context
    registry.publish('0.1.0')
    const machine = await startRoot({
      folder: `${folder}/systemd`,
      base,
      environment: { npm_config_registry: registry.url },
    })
    atEnd(() => machine.stop())
    const sections = sectionsOf('systemd.md')
    const follow = async (section: string) => {
      const commands = sections.get(section)
      assert.ok(commands, `the page has no commands below ${section}`)
      sections.delete(section)
      return machine.run(commands)
    }

    await checks.step('PostgreSQL is installed and has a database', () => follow('PostgreSQL'))
    await checks.step('Talkshelf is installed', () => follow('Talkshelf'))
    await checks.step('the service starts, doctor has no objections, a talk is created', () =>
      follow('Start'),
    )
    await checks.check('the talk is served', checkTalk)
    await checks.check('its preview has words', async () => {
      await checkPreview(await readPreview(`${archiveUrl}/picture/1/preview`), 'Example Talks')
    })
    await checks.check('the service is started again after kill -9', () => checkRestart(machine))
    await checks.check('the service has no rights', () => checkSandbox(machine))
    await checkBackup(context, machine, follow)
    await checks.step('an upgrade installs the next release and keeps the talk', async () => {
      registry.publish('0.1.1')
      await follow('Upgrade')
      assert.match(await machine.run('talkshelf --version'), /^0\.1\.1$/m)
      await ready(archiveUrl)
      await checkTalk()
    })
    await checks.check('all commands of the page were run', () =>
      assert.deepEqual([...sections.keys()], []),
    )
    await followProxies(context, machine)
  },
}

async function checkTalk(): Promise<void> {
  const record = await (await read('/api/v2/video/1')).json()
  assert.partialDeepStrictEqual(record, talk)
  const page = await read(`/video/1/${record.slug}`)
  assert.ok((await page.text()).includes(talk.title))
}

async function checkRestart(machine: CleanRoot): Promise<void> {
  const mainPid = () => machine.run('systemctl show --property MainPID --value talkshelf')
  const before = await mainPid()
  await machine.run('systemctl kill --signal=KILL talkshelf')
  await until('systemd to start the service again', async () => {
    const pid = await mainPid()
    return pid !== before && pid !== '0\n'
  })
  await ready(archiveUrl)
}

async function checkSandbox(machine: CleanRoot): Promise<void> {
  const status = await machine.run(
    'cat "/proc/$(systemctl show --property MainPID --value talkshelf)/status"',
  )
  const fieldOf = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1]
  assert.notEqual(fieldOf('Uid'), '0', 'the service runs as root')
  assert.equal(fieldOf('NoNewPrivs'), '1')
  assert.equal(fieldOf('CapBnd'), '0000000000000000')
  assert.equal(fieldOf('Seccomp'), '2', 'system calls are not filtered')
}

async function checkBackup(
  { checks }: InstallContext,
  machine: CleanRoot,
  follow: (section: string) => Promise<string>,
): Promise<void> {
  const path = '/api/v2/video/1'
  const change = (method: string, body: object) =>
    `curl --fail-with-body --silent --show-error -X ${method} ${archiveUrl}${path} ` +
    `-H "Authorization: Token $TOKEN" -H 'Content-Type: application/json' ` +
    `-d '${JSON.stringify(body)}'`
  await checks.step('a backup is written', () => follow('Backup'))
  await checks.step('a restore brings the talk back as it was', async () => {
    const before = await (await read(path)).json()
    await machine.run(change('PATCH', { title: 'Changed after the backup', speakers: [] }))
    assert.equal((await (await read(path)).json()).title, 'Changed after the backup')
    await follow('Restore')
    await ready(archiveUrl)
    assert.deepEqual(await (await read(path)).json(), before)
  })
}

async function followProxies({ checks }: InstallContext, machine: CleanRoot): Promise<void> {
  const sections = sectionsOf('reverse-proxy.md')
  const commandsOf = (section: string) => {
    const commands = sections.get(section) ?? assert.fail(section)
    sections.delete(section)
    return commands
  }
  // Certificates of a public authority cannot be obtained for this name: both proxies use others.
  await machine.run(`echo '127.0.0.1 ${host}' >>/etc/hosts`)
  await checks.step('the archive believes one proxy', async () => {
    await machine.run(commandsOf(''))
    await ready(archiveUrl)
  })
  await checks.step('Caddy serves the archive with TLS', async () => {
    await machine.run(
      commandsOf('Caddy').replace(
        'systemctl restart caddy',
        `sed -i '1i { \\n local_certs\\n}' /etc/caddy/Caddyfile
        systemctl restart caddy`,
      ),
    )
    const authority = '/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt'
    await until('Caddy to have a certificate', () =>
      machine.run(`curl --silent --fail --cacert ${authority} https://${host}/readyz`),
    )
    await checkProxy(machine, authority)
    await machine.run('systemctl stop caddy')
  })
  await checks.step('nginx serves the archive with TLS', async () => {
    const certificates = `/etc/letsencrypt/live/${host}`
    await machine.run(`mkdir --parents ${certificates}
      openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${host} \\
        -addext subjectAltName=DNS:${host} \\
        -keyout ${certificates}/privkey.pem -out ${certificates}/fullchain.pem 2>&1`)
    await machine.run(commandsOf('nginx'))
    await checkProxy(machine, `${certificates}/fullchain.pem`)
  })
  await checks.check('all commands of the page about proxies were run', () =>
    assert.deepEqual([...sections.keys()], []),
  )
}

/** Checks an archive behind a proxy as a client sees it. */
async function checkProxy(machine: CleanRoot, authority: string): Promise<void> {
  const request = (path: string, options = '') =>
    machine.run(
      `curl --silent --show-error --include --cacert ${authority} ${options} https://${host}${path}`,
    )
  const record = await request('/api/v2/video/1')
  assert.match(record, /^HTTP\/[\d.]+ 200/)
  const page = await request('/video/1/ten-years-of-tiny-queues')
  assert.ok(page.includes(`https://${host}/video/1/`), 'links have the public URL')
  const [, etag] = /^etag: (.+?)\r?$/im.exec(record) ?? assert.fail('no ETag')
  assert.ok(etag?.startsWith('"'), `the ETag stays strong: ${etag}`)
  assert.match(await request('/api/v2/video/1', `-H 'If-None-Match: ${etag}'`), /^HTTP\/\S+ 304/)
  assert.match(await request('/metrics'), /^HTTP\/\S+ (401|403|404)/)
  assert.match(await request('/', '--compressed'), /content-encoding: (br|gzip)/i)
  const redirect = await machine.run(`curl --silent --include http://${host}/search?q=queues`)
  assert.match(redirect, /^HTTP\/\S+ 30[18]/)
  assert.match(redirect, new RegExp(`^location: https://${host}/search\\?q=queues`, 'im'))
}

/** Waits until the archive serves requests. */
async function ready(url: string): Promise<void> {
  await until('the archive to be ready', async () => (await fetch(`${url}/readyz`)).ok)
}
