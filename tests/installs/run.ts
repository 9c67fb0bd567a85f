// npm run installs -- [--quick] [parts of the names of pages...]
//
// Follows each page of docs/install/ on a clean system, from nothing to a served record with a
// picture, a backup and a restore. Needs root on a Debian 12 with access to its packages and to an
// npm registry. The ports that the pages name (80, 443, 5432, 8000) must be free.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { StepFailed, startChecks } from '../support/checks.ts'
import { root } from '../support/harness.ts'
import { installMissing } from '../support/install.ts'
import { createBase } from './clean-root.ts'

import { container } from './container.ts'
import { demo } from './demo.ts'
import type { Installation } from './installation.ts'
import { startRegistry } from './registry.ts'
import { source } from './source.ts'
import { systemd } from './systemd.ts'

const installations: readonly Installation[] = [demo, systemd, source, container]

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const selected = installations.filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
)
if (selected.length === 0) {
  console.error(`No such page. There are: ${installations.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

/** Undone in the opposite order, also after Ctrl-C. */
const cleanups: (() => unknown)[] = []
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await cleanUp()
    process.exit(130)
  })
process.exitCode = await main()

async function main(): Promise<number> {
  const areInstalled =
    process.getuid?.() === 0 &&
    installMissing([
      { package: 'mmdebstrap', program: 'mmdebstrap' },
      { package: 'systemd-container', program: 'systemd-nspawn' },
    ])
  if (!areInstalled) {
    console.error('Run it as root on Debian 12: it needs mmdebstrap and systemd-container.')
    return 2
  }
  for (const port of [80, 443, 5432, 8000])
    if (await isListening(port)) {
      console.error(`Port ${port} is in use. Stop what uses it: the pages need it.`)
      return 2
    }
  const checks = startChecks()
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-installs-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  try {
    console.log('Packing Talkshelf')
    const packed = join(folder, 'packed')
    execFileSync(process.execPath, ['scripts/pack.ts', '--out', packed], { cwd: root })
    const registry = await startRegistry(packed)
    cleanups.push(() => registry.close())
    const base = join(folder, 'debian.tar')
    if (selected.some(({ needsRoot }) => needsRoot)) {
      console.log('Installing a Debian 12')
      await createBase(base)
    }
    for (const { name, isLong, run } of selected) {
      console.log(`\n${name}`)
      if (values.quick && isLong) {
        checks.skip(name, 'left out by --quick')
        continue
      }
      const before = cleanups.length
      try {
        await run({ checks, folder, base, packed, registry, atEnd: (step) => cleanups.push(step) })
      } catch (error) {
        if (error instanceof StepFailed) console.log(`${name}: the other checks need this one`)
        else await checks.check(name, () => Promise.reject(error))
      } finally {
        await cleanUp(before)
      }
    }
  } finally {
    await cleanUp()
  }
  return checks.finish()
}

/** Undoes all steps but the first ones. */
async function cleanUp(kept = 0): Promise<void> {
  for (const step of cleanups.splice(kept).reverse()) await step()
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })
}
