import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// The files of migrations: `0034.do.name.sql`. The word in the middle says how a file is run.

/**
 * - `do` runs in a transaction of its own.
 * - `index` has one `create index concurrently` or `drop index concurrently`, which runs outside of
 *   a transaction.
 * - `fill` has one statement that changes a limited number of rows. It is repeated, each time in a
 *   transaction of its own, until it changes none. If it has the parameter `$1`, that is the last
 *   `id` that it returned before, from 0 on.
 * - `contract` runs like `do`, but not while a server of a release before `needs` is connected.
 */
export type MigrationKind = 'do' | 'index' | 'fill' | 'contract'

export interface Migration {
  readonly version: number
  readonly kind: MigrationKind
  readonly name: string
  readonly sql: string
  readonly checksum: string
  /** The oldest release that works after a contract migration. */
  readonly needs: string | undefined
}

const filePattern = /^(?<version>\d{4})\.(?<kind>do|index|fill|contract)\.(?<name>[a-z0-9-]+)\.sql$/
const needsPattern = /^-- needs: (\d+\.\d+\.\d+)$/m

/** Reads all migrations in a folder, by version. */
export function readMigrations(folder: string): Migration[] {
  const files = readdirSync(join(folder, 'migrations')).filter((file) => file.endsWith('.sql'))
  if (files.length === 0) throw new Error(`There are no migrations in ${folder}`)
  const migrations = files
    .sort()
    .map((file) => parseMigration(file, readFileSync(join(folder, 'migrations', file), 'utf8')))
  const repeated = migrations.find(
    ({ version }, index) => migrations[index - 1]?.version === version,
  )
  if (repeated) throw new Error(`Two migrations have the version ${repeated.version}`)
  return migrations
}

/** Parses the name and the content of a file. */
export function parseMigration(file: string, sql: string): Migration {
  const { version, kind, name } = filePattern.exec(file)?.groups ?? {}
  if (version === undefined || kind === undefined || name === undefined)
    throw new Error(`${file} is not named like a migration, such as 0003.do.entities.sql`)
  const needs = needsPattern.exec(sql)?.[1]
  if (kind === 'contract' && needs === undefined)
    throw new Error(
      `${file} has no line such as '-- needs: 1.2.0', the oldest release it works with`,
    )
  return {
    version: Number(version),
    kind: kind as MigrationKind,
    name,
    sql,
    checksum: createHash('md5').update(sql).digest('hex'),
    needs,
  }
}

const indexPattern =
  /^(?:create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists|drop\s+index\s+concurrently\s+if\s+exists)\s+([a-z_][a-z0-9_]*)\b[^;]*;?$/i

/**
 * Returns the name of the index that a migration of the kind `index` creates or drops. Throws if
 * the file has anything else: several statements would run in one transaction.
 */
export function indexOf({ version, sql }: Migration): string {
  const name = indexPattern.exec(withoutComments(sql).trim())?.[1]
  if (name === undefined)
    throw new Error(
      `Migration ${version} must be one 'create index concurrently if not exists NAME on ...' or ` +
        "one 'drop index concurrently if exists NAME'",
    )
  return name
}

/** Removes comments that fill whole lines. */
export const withoutComments = (sql: string): string => sql.replaceAll(/^\s*--.*$/gm, '')
