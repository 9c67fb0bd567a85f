import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

// Programs from Debian that a run needs: on a Debian, as root, what is missing is installed.

const isInstalled = (program: string) =>
  ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/bin'].some((folder) =>
    existsSync(`${folder}/${program}`),
  )

/** Tells whether all of them are there now. */
export function installMissing(needed: readonly { package: string; program: string }[]): boolean {
  const areThere = () => needed.every(({ program }) => isInstalled(program))
  const missing = needed.filter(({ program }) => !isInstalled(program)).map((it) => it.package)
  if (missing.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return areThere()
  console.log(`Installing ${missing.join(', ')}`)
  // What is installed must not start by itself.
  const policy = '/usr/sbin/policy-rc.d'
  const isOurs = !existsSync(policy)
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const apt = (...args: string[]) =>
    spawnSync('/usr/bin/apt-get', args, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: 'ignore',
      timeout: 90_000,
    }).status === 0
  try {
    const install = ['install', '-y', '--no-install-recommends', ...missing]
    if (!apt(...install)) apt('update') && apt(...install)
  } finally {
    if (isOurs) rmSync(policy)
  }
  return areThere()
}
