import { cpSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// Reads what the fault tests need of systemd units and their drop-ins: what is run, as whom, with
// which variables. Everything else, such as the sandbox, is left out.

export interface Unit {
  readonly name: string
  readonly user: string
  /** Runs to its end, and not again. */
  readonly isOneshot: boolean
  readonly variables: Record<string, string>
  /** Commands that must succeed before the main one. */
  readonly before: readonly (readonly string[])[]
  readonly command: readonly string[]
  readonly restartMs: number
}

/** Reads a unit of a machine, and copies its credentials as systemd does. */
export function readUnit(root: string, name: string, host: string): Unit {
  const folders = ['etc/systemd/system', 'lib/systemd/system', 'usr/lib/systemd/system']
  const file = folders.map((folder) => join(root, folder, `${name}.service`)).find(existsSync)
  if (file === undefined) throw new Error(`${host} has no unit ${name}`)
  const settings = [file, ...globSync(join(root, `etc/systemd/system/${name}.service.d/*.conf`))]
    .sort((a, b) => Number(a !== file) - Number(b !== file))
    .flatMap(settingsOf)
  const credentials = join('/run/credentials', name)
  const expand = (text: string) =>
    text
      .replaceAll('%p', name)
      .replaceAll('%H', host)
      .replaceAll('%d', credentials)
      .replaceAll('%C', '/var/cache')
      .replaceAll('%%', '%')
  const all = (key: string) => {
    const values = settings.filter(([other]) => other === key).map(([, value]) => value)
    // An empty value resets a list.
    return values.slice(values.lastIndexOf('') + 1).map(expand)
  }
  const last = (key: string) => all(key).at(-1)

  for (const credential of all('LoadCredential')) {
    const [id = '', path = ''] = credential.split(':')
    mkdirSync(join(root, credentials), { recursive: true })
    cpSync(join(root, path), join(root, credentials, id))
  }
  for (const folder of all('CacheDirectory').flatMap((value) => value.split(' ')))
    mkdirSync(join(root, 'var/cache', folder), { recursive: true })
  const variables = Object.fromEntries([
    ...all('Environment').flatMap(words).map(assignment),
    ...all('EnvironmentFile').flatMap((path) => environmentFile(root, path)),
  ])
  const command = (text: string) =>
    words(text).flatMap((word) => {
      const [, variable] = /^\$\{?(\w+)\}?$/.exec(word) ?? []
      return variable === undefined ? word : words(variables[variable] ?? '')
    })
  return {
    name,
    user: last('User') ?? 'root',
    isOneshot: last('Type') === 'oneshot',
    variables,
    // Those with a hyphen may fail, and prepare the hardware.
    before: all('ExecStartPre')
      .filter((text) => !text.startsWith('-'))
      .map(command),
    command: command(last('ExecStart') ?? ''),
    restartMs: 1000 * Number(last('RestartSec') ?? 0.1),
  }
}

function settingsOf(file: string): [key: string, value: string][] {
  return readFileSync(file, 'utf8')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => {
      const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(line.trim()) ?? []
      return key === '' ? [] : [[key, value.trim()] as [string, string]]
    })
}

function environmentFile(root: string, text: string): [string, string][] {
  const path = join(root, text.replace(/^-/, ''))
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
    .map((line) => assignment(line))
}

function assignment(text: string): [string, string] {
  const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(text) ?? []
  return [name, value.replace(/^(["'])(.*)\1$/, '$2')]
}

/** Splits a text into words; quotes keep spaces. */
function words(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )
}
