// Run by `npm run docs`. Generates the documents that are derived from the code.
// tests/project/documents.test.ts verifies that they are up to date.

import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { endpoints, openapi, streamEndpoints } from '@talkshelf/contract'
import { ConfigSchema } from '../server/config.ts'
import { migrate } from '../server/platform/db/migrate.ts'
import { version } from '../server/version.ts'
import { startPostgres } from '../tests/support/postgres.ts'

/**
 * Each major version of pg_dump writes a schema in its own way; this one, the oldest that we run
 * on, wrote schema.sql.
 */
export const schemaMajor = 15

export const documentPath = (name: string) =>
  fileURLToPath(new URL(`../docs/${name}`, import.meta.url))

export function openapiJson(): string {
  return `${JSON.stringify(openapi([...Object.values(endpoints), ...Object.values(streamEndpoints)], version), null, 2)}\n`
}

export function configurationMd(): string {
  const settings = Object.entries(ConfigSchema.properties as unknown as Record<string, Setting>)
  const items = settings.map(([name, setting]) =>
    wrapListItem(
      `\`${name}\` (${[preset(setting), ...values(setting)].join('; ')}): ${setting.description}`,
    ),
  )
  return `# Configuration

Talkshelf is configured by environment variables only. An empty variable counts as not set. The
server validates all settings at startup and reports every error at once. \`talkshelf config\`
prints the effective settings without secrets.

${items.join('\n')}

Generated from \`server/config.ts\` by \`npm run docs\`.
`
}

/**
 * The schema of this database, in words that do not change with the minor version or with who runs
 * it.
 */
export async function schemaSql(pgDump: string, url: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    pgDump,
    ['--schema-only', '--no-owner', '--no-privileges', url],
    { maxBuffer: 1 << 26 },
  )
  const statements = stdout
    .replaceAll(/^--\n-- .*\n--\n/gm, '') // What each statement says itself: name, type, schema.
    .replaceAll(/^-- Dumped .*\n/gm, '')
    .replaceAll(/^SET .*;\n/gm, '')
    .replaceAll(/^SELECT pg_catalog\.set_config\(.*\);\n/gm, '')
    .replaceAll(/^\\(un)?restrict .*\n/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
  return `-- The schema that server/migrations make, as pg_dump ${schemaMajor} writes it. Made by npm run docs.\n\n${statements}\n`
}

/** The program that writes schema.sql as it is written here, if this computer has it. */
export async function findPgDump(): Promise<string | undefined> {
  const folders = [
    process.env.PG_BIN,
    `/usr/lib/postgresql/${schemaMajor}/bin`,
    ...(process.env.PATH ?? '').split(':'),
  ]
  for (const folder of folders) {
    const program = join(folder || '.', 'pg_dump')
    if (!folder || !existsSync(program)) continue
    const { stdout } = await promisify(execFile)(program, ['--version'])
    if (stdout.includes(`(PostgreSQL) ${schemaMajor}.`)) return program
  }
  return undefined
}

interface Setting {
  readonly description: string
  readonly default?: string | number
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly { const: string }[]
}

function preset({ default: value }: Setting): string {
  if (value === undefined) return 'required'
  return value === '' ? 'not set by default' : `default \`${value}\``
}

function values({ minimum, maximum, anyOf }: Setting): string[] {
  if (anyOf) return [`one of ${anyOf.map((one) => `\`${one.const}\``).join(', ')}`]
  return minimum === undefined ? [] : [`${minimum} to ${maximum}`]
}

/** Formats a Markdown list item with lines of at most 100 characters. */
function wrapListItem(text: string): string {
  const lines = ['-']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length > 100) lines.push(`  ${word}`)
    else lines[lines.length - 1] = line
  }
  return lines.join('\n')
}

async function writeSchema(): Promise<void> {
  const pgDump = await findPgDump()
  if (!pgDump)
    throw new Error(
      `docs/schema.sql is written by pg_dump ${schemaMajor}: install postgresql-${schemaMajor}, or name its folder in PG_BIN`,
    )
  const postgres = await startPostgres({ version: schemaMajor })
  try {
    await migrate(
      postgres.url('postgres'),
      fileURLToPath(new URL('../server/migrations', import.meta.url)),
    )
    writeFileSync(documentPath('schema.sql'), await schemaSql(pgDump, postgres.url('postgres')))
  } finally {
    await postgres.stop()
  }
}

if (import.meta.main) {
  writeFileSync(documentPath('openapi.json'), openapiJson())
  writeFileSync(documentPath('configuration.md'), configurationMd())
  await writeSchema()
}
