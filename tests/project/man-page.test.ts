import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { documentPath } from '../../scripts/write-docs.ts'
import { ConfigSchema } from '../../server/config.ts'
import { program } from '../../server/program.ts'

// The manual page, as readers see it: documents.test.ts compares it with the code.

const file = documentPath('talkshelf.1')
const isMissing = (command: string, option: string) =>
  spawnSync(command, [option]).error !== undefined && `${command} is not installed`

/** Formats the page with a given command. Fails on warnings. */
function format(command: string, args: readonly string[]): string {
  const env = { ...process.env, MANWIDTH: '200', LC_ALL: 'C.UTF-8' }
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env })
  assert.equal(stderr, '')
  assert.equal(status, 0, stdout)
  return stdout
}

/** Returns the paths of all commands, such as `token create`, with their options. */
function listCommands(command = program, path: readonly string[] = []): [string, string[]][] {
  const options = command.createHelp().visibleOptions(command)
  const flags = options.map((option) => option.flags).filter((text) => !text.includes('--help'))
  return [
    [path.join(' '), flags],
    ...command.commands.flatMap((child) => listCommands(child, [...path, child.name()])),
  ]
}

test('man shows every command, option and setting, without warnings', {
  skip: isMissing('man', '--version'),
}, () => {
  const text = format('man', ['--warnings', '-E', 'UTF-8', '-l', file])
  const sections = text.split(/^ {3}(?=talkshelf)|^(?=[A-Z][A-Z ]*$)/m)
  const commands = listCommands()
  assert.ok(commands.length > 30, `${commands.length} commands`)
  for (const [path, flags] of commands) {
    const title = path === '' ? 'OPTIONS' : `talkshelf ${path}`
    const section = sections.find((part) => part.startsWith(`${title}\n`)) ?? assert.fail(title)
    for (const flag of flags) assert.ok(section.includes(`\n       ${flag}`), `${title}: ${flag}`)
  }
  const environment = sections.find((part) => part.startsWith('ENVIRONMENT')) ?? ''
  for (const name of Object.keys(ConfigSchema.properties))
    assert.match(environment, new RegExp(`^ {7}${name}\\b`, 'm'))
  // A backslash, quote or hyphen that is not escaped would be shown as another character.
  for (const example of [
    "yt-dlp -J URL | talkshelf import - --category 'Example Days 2031'",
    "talkshelf token create --name 'Edith' --role editor",
  ])
    assert.ok(text.includes(example), example)
})

test('mandoc accepts the manual page', { skip: isMissing('mandoc', '-h') }, () => {
  // The page is generated and has no date: it would change without a change of its text.
  const { stdout } = spawnSync('mandoc', ['-T', 'lint', file], { encoding: 'utf8' })
  const messages = stdout.split('\n').filter((line) => line !== '' && !/missing date/.test(line))
  assert.deepEqual(messages, [])
})

test('the manual page is ASCII, which man reads in every locale', () => {
  assert.match(readFileSync(file, 'utf8'), /^[\n\x20-\x7e]+$/)
})
