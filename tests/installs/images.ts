import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/harness.ts'
import type { Docker } from './docker.ts'
import { runProgram } from './run-program.ts'

// Stand-ins for the base images of the Dockerfile and of compose.yaml, made from packages of Debian
// and npm, because the tests need no registry of images. Each has what ours relies on, at the same
// paths: the files of a Debian 13, the user `node`, Node and npm; the programs of PostgreSQL 18, and
// an entrypoint that creates a database from the same variables. They do not show that the real
// images exist or are of the expected size.

const nodeArchive = 'node.tar'
const postgresArchive = 'postgres.tar'

const aptSettings = [
  'APT::Keep-Downloaded-Packages "false";',
  'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";',
].join(' ')

/** As in the images of Debian: no documentation, and apt keeps neither packages nor indexes. */
const likeImages = [
  '--quiet',
  '--variant=minbase',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  `--customize-hook=echo '${aptSettings}' >"$1/etc/apt/apt.conf.d/docker-clean"`,
  // Much faster, and lost with the machine only if it fails right now.
  '--dpkgopt=force-unsafe-io',
  // A mirror may lag behind.
  '--aptopt=Acquire::Check-Valid-Until "false"',
]

/** Creates the archive of a stand-in for the image `node`. `registry` is the URL of one of npm. */
export async function createNode(folder: string, registry: string): Promise<void> {
  const npm = join(folder, 'npm.tgz')
  writeFileSync(npm, await fetchNpm(registry))
  const program = join(root, `node_modules/node-linux-${process.arch}/bin/node`)
  const modules = '/usr/local/lib/node_modules'
  await runProgram('mmdebstrap', [
    ...likeImages,
    `--customize-hook=copy-in "${program}" /usr/local/bin`,
    `--customize-hook=mkdir -p "$1${modules}" && tar -xzf "${npm}" -C "$1${modules}"`,
    `--customize-hook=mv "$1${modules}/package" "$1${modules}/npm"`,
    `--customize-hook=ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"`,
    '--customize-hook=chroot "$1" groupadd --gid 1000 node',
    '--customize-hook=chroot "$1" useradd --uid 1000 --gid node --create-home node',
    'trixie',
    join(folder, nodeArchive),
  ])
}

const postgresBin = '/usr/lib/postgresql/18/bin'

/** Does what the entrypoint of the image does with the variables that compose.yaml sets. */
const entrypoint = `#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R postgres:postgres /var/lib/postgresql /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(mktemp)
  printf '%s\\n' "\${POSTGRES_PASSWORD:?}" >"$password"
  initdb --username="$POSTGRES_USER" --pwfile="$password" --auth-local=trust \\
    --auth-host=scram-sha-256
  rm "$password"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl start --wait --options="-c listen_addresses=''"
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl stop --wait
fi
exec "$@"
`

/**
 * Creates the archive of a stand-in for the image `postgres`. Debian 13 has no PostgreSQL 18: its
 * packages come from the next release, and pg_dump needs no newer C library than Debian 13 has.
 */
export async function createPostgres(folder: string): Promise<void> {
  const script = join(folder, 'docker-entrypoint.sh')
  writeFileSync(script, entrypoint)
  chmodSync(script, 0o755)
  await runProgram('mmdebstrap', [
    ...likeImages,
    '--essential-hook=mkdir -p "$1/etc/postgresql-common"',
    '--essential-hook=echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"',
    '--include=postgresql-18',
    `--customize-hook=copy-in "${script}" /usr/local/bin`,
    'forky',
    join(folder, postgresArchive),
  ])
}

/** Fetches the newest npm 11, the version that CONTRIBUTING.md asks for. */
async function fetchNpm(registry: string): Promise<Uint8Array> {
  const { versions } = (await (await fetch(`${registry}/npm`)).json()) as {
    versions: Record<string, { dist: { tarball: string } }>
  }
  const newest = Object.keys(versions).findLast((version) => /^11\.[\d.]+$/.test(version))
  const tarball = versions[newest ?? '']?.dist.tarball
  if (!tarball) throw new Error('The registry has no npm 11')
  return new Uint8Array(await (await fetch(tarball)).arrayBuffer())
}

/** Returns the names of an image in the Dockerfile and in compose.yaml, without duplicates. */
function imageNames(name: string): string[] {
  const text = ['Dockerfile', 'compose.yaml'].map((file) => readFileSync(join(root, file), 'utf8'))
  const named = text.join('').matchAll(/^(?:FROM| *image:) (\S+:\S+)/gm)
  return [...new Set([...named].map(([, image = '']) => image))].filter((image) =>
    image.startsWith(`${name}:`),
  )
}

/** Imports the stand-ins under the names of the Dockerfile and of compose.yaml. */
export async function importImages(docker: Docker, folder: string): Promise<void> {
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const importImage = async (name: string, archive: string, changes: readonly string[]) => {
    const [first = '', ...others] = imageNames(name)
    const options = changes.map((change) => `--change '${change}'`).join(' ')
    await docker.run(`docker import ${options} '${join(folder, archive)}' ${first}`)
    for (const other of others) await docker.run(`docker tag ${first} ${other}`)
    rmSync(join(folder, archive))
  }
  await importImage('node', nodeArchive, [`ENV PATH=${path}`, 'CMD ["node"]'])
  const sockets = '/var/run/postgresql'
  await importImage('postgres', postgresArchive, [
    `ENV PATH=${path}:${postgresBin} LANG=C.UTF-8 PGDATA=/var/lib/postgresql/18/docker`,
    'ENTRYPOINT ["docker-entrypoint.sh"]',
    `CMD ["postgres", "-c", "listen_addresses=*", "-c", "unix_socket_directories=${sockets}"]`,
    'STOPSIGNAL SIGINT',
    'VOLUME /var/lib/postgresql',
  ])
}
