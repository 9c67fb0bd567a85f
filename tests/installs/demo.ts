import assert from 'node:assert/strict'
import { until } from '../support/until.ts'
import { startRoot } from './clean-root.ts'
import { type Installation, readPreview, sectionsOf } from './installation.ts'

const log = '/home/reader/demo.log'

/** Follows demo.md on a Debian 12, whose Node is too old, as a user without rights. */
export const demo: Installation = {
  name: 'demo.md',
  needsRoot: true,
  isLong: false,
  async run({ checks, folder, base, registry, atEnd }) {
    registry.publish('0.1.0')
    const machine = await startRoot({
      folder: `${folder}/demo`,
      base,
      environment: { npm_config_registry: registry.url },
    })
    atEnd(() => machine.stop())
    await machine.run(
      'apt-get update && apt-get install -y --no-install-recommends npm procps curl',
    )
    await machine.run('useradd --create-home reader')
    const asReader = (command: string) =>
      `runuser -u reader -- env HOME=/home/reader npm_config_registry="$npm_config_registry" ` +
      `bash -c 'cd; ${command}'`
    const files = () => machine.run('find /tmp /var/tmp /home/reader -not -path "*/.npm*" | sort')
    const before = await files()
    const command = sectionsOf('demo.md').get('')?.trim() ?? ''
    assert.equal([...sectionsOf('demo.md').keys()].length, 1)

    await checks.check('Node 18 of Debian 12 is refused in one sentence', async () => {
      const output = await machine.run(asReader('npx --yes talkshelf demo 2>&1 || true'))
      const message = output.split('\n').filter((line) => line !== '' && !line.startsWith('npm '))
      assert.match(message.join('\n'), /^Talkshelf needs Node.* 24[^\n]*$/)
    })
    await checks.step('the demo starts', async () => {
      // With job control it gets Ctrl-C as in a terminal.
      await machine.run(
        asReader(`set -m; ${command} >${log} 2>&1 & echo $! >/home/reader/demo.pid`),
      )
      await until(
        'the demo to print its address',
        async () => {
          const output = await machine.run(`cat ${log}; kill -0 "$(cat /home/reader/demo.pid)"`)
          return /http:\/\/127\.0\.0\.1:\d+/.test(output)
        },
        { limitMs: 300_000, pauseMs: 500 },
      )
    })
    const output = await until('the demo to print everything', async () => {
      const text = await machine.run(`cat ${log}`)
      return text.includes('Ctrl-C') && text
    })
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
    await checks.check('it serves talks with pictures', async () => {
      const { results } = await (await fetch(`${url}/api/v2/video`)).json()
      assert.ok(results.length >= 10, `${results.length} talks`)
      for (const path of [`/video/${results[0].id}/${results[0].slug}`, '/', '/search?q=talk'])
        assert.equal((await fetch(`${url}${path}`)).status, 200, path)
      await readPreview(`${url}/picture/${results[0].id}/preview`)
    })
    await checks.check('the commands that it prints work', async () => {
      const commands = output.split('\n\n').filter((text) => text.startsWith('  curl '))
      assert.equal(commands.length, 3, output)
      await machine.run(commands.map((text) => text.replace('curl', 'curl --fail')).join('\n'))
    })
    await checks.check('Ctrl-C stops it and leaves nothing behind', async () => {
      await machine.run('kill -INT -- "-$(cat /home/reader/demo.pid)"')
      await until('all its processes to end', async () => {
        const processes = await machine.run('ps -u reader -o args= || true')
        return processes.trim() === '' || assert.fail(processes)
      })
      await machine.run(`rm ${log} /home/reader/demo.pid`)
      assert.equal(await files(), before)
    })
  },
}
