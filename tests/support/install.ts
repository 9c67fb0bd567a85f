import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

// Installs missing Debian packages, if the system is a Debian and the user is root.

const isInstalled = (program: string) =>
  ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/bin'].some((folder) =>
    existsSync(`${folder}/${program}`),
  )

/** Installs programs that are missing. Returns whether all of them are installed now. */
export function installMissing(needed: readonly { package: string; program: string }[]): boolean {
  const areInstalled = () => needed.every(({ program }) => isInstalled(program))
  const missing = needed
    .filter(({ program }) => !isInstalled(program))
    .map((program) => program.package)
  if (missing.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return areInstalled()
  console.log(`Installing ${missing.join(', ')}`)
  // Prevents that installed services start.
  const policy = '/usr/sbin/policy-rc.d'
  const isNew = !existsSync(policy)
  if (isNew) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const apt = (...args: string[]) =>
    spawnSync('/usr/bin/apt-get', args, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: 'ignore',
      timeout: 300_000,
    }).status === 0
  try {
    const install = ['install', '-y', '--no-install-recommends', ...missing]
    if (!apt(...install)) apt('update') && apt(...install)
  } finally {
    if (isNew) rmSync(policy)
  }
  return areInstalled()
}
