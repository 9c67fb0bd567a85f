import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../installs/run-program.ts'
import { root } from '../support/harness.ts'

// Releases of the program: packed from their sources and installed from the packages, as an
// operator does.

export interface Release {
  /** The folder of its sources. */
  readonly source: string
  /** The installed program. */
  readonly program: string
}

/** Tells whether the repository has a commit: a shallow clone has not. */
export function hasCommit(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Packs and installs the working copy. */
export const currentRelease = (folder: string): Promise<Release> => install(root, folder)

/** Packs and installs the sources of a commit, with the dependencies that these had. */
export async function earlierRelease(commit: string, folder: string): Promise<Release> {
  const source = join(folder, 'source')
  const archive = join(folder, 'source.tar')
  mkdirSync(source, { recursive: true })
  await runProgram('git', ['archive', '--output', archive, commit], { cwd: root })
  await runProgram('tar', ['-xf', archive, '-C', source])
  await runProgram('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: source })
  return install(source, folder)
}

async function install(source: string, folder: string): Promise<Release> {
  const packed = join(folder, 'packed')
  const installed = join(folder, 'installed')
  for (const path of [packed, installed]) mkdirSync(path, { recursive: true })
  await runProgram(process.execPath, ['scripts/pack.ts', '--out', packed], { cwd: source })
  const packages = globSync('*.tgz', { cwd: packed }).map((file) => join(packed, file))
  const options = ['--prefix', installed, '--no-audit', '--no-fund']
  await runProgram('npm', ['install', ...options, ...packages], { cwd: installed })
  return { source, program: join(installed, 'node_modules', '.bin', 'talkshelf') }
}
