import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runCommand } from '../support/harness.ts'

// How all commands are called: their exit status for wrong usage, and their completion in a shell.

const { stdout: bashScript } = await runCommand(['completion', 'bash'], {})
const scratch = mkdtempSync(join(tmpdir(), 'completion-'))
after(() => rmSync(scratch, { recursive: true }))

/** The words of all commands, and of the groups around them. */
const paths = [
  [],
  ...[...bashScript.matchAll(/^ {4}'talkshelf ([^'-]+)'\) flags=/gm)].map(([, path = '']) =>
    path.split(' '),
  ),
].filter((path) => !path.includes('help'))
const isGroup = (path: readonly string[]) =>
  paths.some((other) => other.length > path.length && path.every((word, i) => other[i] === word))

/** Completes the last word of a line as bash does. */
function complete(words: string[]): string[] {
  const { status, stdout, stderr } = spawnSync(
    'bash',
    [
      '--norc',
      '-c',
      `${bashScript}
       COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _talkshelf
       printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      ...words,
    ],
    { encoding: 'utf8' },
  )
  assert.equal(status, 0, stderr)
  assert.equal(stderr, '')
  return stdout.split('\n').filter((word) => word !== '')
}

test('bash completes commands, options and their values', () => {
  assert.ok(paths.length > 30, `${paths.length} commands`)
  for (const path of paths) {
    const name = path.at(-1)
    if (name !== undefined)
      assert.ok(complete(['talkshelf', ...path.slice(0, -1), '']).includes(name), path.join(' '))
    assert.ok(complete(['talkshelf', ...path, '-']).includes('--help'), path.join(' '))
  }
  const cases: [string[], string[]][] = [
    [['tok'], ['token']],
    [
      ['token', 'create', '--role', ''],
      ['editor', 'admin'],
    ],
    [['token', 'create', '--name', 'Ada', '--role', 'e'], ['editor']],
    [['export', '--fo'], ['--format']],
    [['export', '--format', 'c'], ['csv']],
    // The names of files are left to bash.
    [['export', '--out', ''], []],
    [['backup', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['help', 'tok'], []],
  ]
  for (const [words, expected] of cases)
    assert.deepEqual(complete(['talkshelf', ...words]), expected, words.join(' '))
})

for (const shell of ['bash', 'zsh', 'fish']) {
  const isMissing = spawnSync(shell, ['--version']).status !== 0
  test(`${shell} reads its completion`, {
    skip: isMissing && `${shell} is not installed`,
  }, async () => {
    const { stdout: script } = await runCommand(['completion', shell], {})
    const file = join(scratch, `completion.${shell}`)
    writeFileSync(file, script)
    // Checks the syntax without running the script.
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    assert.equal(stderr, '')
  })
}

test('wrong usage of any command ends with exit status 2', async () => {
  const calls = paths.flatMap((path) => [
    [...path, '--no-such-option'],
    isGroup(path) ? [...path, 'no-such-command'] : [...path, '1', '2', '3', '4'],
  ])
  // Without a database: a command that accepts its arguments ends with 1, because of the settings.
  const check = async (args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args, { DATABASE_URL: '' })
    assert.equal(code, 2, `talkshelf ${args.join(' ')}: ${stderr}`)
    assert.equal(stdout, '', args.join(' '))
    assert.notEqual(stderr, '', args.join(' '))
  }
  while (calls.length > 0) await Promise.all(calls.splice(0, 4).map(check))
})
