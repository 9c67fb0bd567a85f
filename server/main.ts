import { BackupError } from './backup/backup.ts'
import { CommandError } from './command.ts'
import { ConfigError } from './config.ts'
import { DemoError } from './demo/demo.ts'
import { Unavailable } from './platform/db/db.ts'
import { MigrationBlocked, MigrationRefused } from './platform/db/migrate.ts'
import { program } from './program.ts'
import { SiteError } from './site/site.ts'

// Runs the `talkshelf` command, and explains errors on standard error.

const checkDatabase = 'Check that PostgreSQL is running and that DATABASE_URL is correct.'
/** Errors of the network, and of PostgreSQL: no such role or database, wrong password, starting. */
const connectionErrors = ['ECONNREFUSED', 'ENOTFOUND', '28000', '28P01', '3D000', '57P03']

// The reader may close the pipe, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`)
  process.exitCode = error instanceof CommandError ? error.exitCode : 1
}

/** Returns a message for the user: what is wrong and what to do. Unknown errors have a stack. */
function errorMessage(error: unknown): string {
  if (error instanceof ConfigError) {
    const list = error.message.replaceAll(/^/gm, '  ')
    return `The settings are invalid:\n${list}\nSee docs/configuration.md.`
  }
  if (
    error instanceof CommandError ||
    error instanceof DemoError ||
    error instanceof SiteError ||
    error instanceof BackupError ||
    error instanceof MigrationBlocked ||
    error instanceof MigrationRefused
  )
    return error.message
  const tlsMessage = tlsErrorMessage(error instanceof Unavailable ? error.cause : error)
  if (tlsMessage !== undefined) return `Cannot connect to the database: ${tlsMessage}`
  if (error instanceof Unavailable) return `${error.message}\n${checkDatabase}`
  const { code, message } = error as { code?: string; message: string }
  if (code !== undefined && connectionErrors.includes(code))
    return `Cannot connect to the database: ${message || code}\n${checkDatabase}`
  if (code === '42P07')
    return (
      `${message}: the database has tables but no record of applied migrations.\n` +
      'A restore may have been interrupted. Use an empty database.'
    )
  if (code === '42P01') return "The database has no tables yet. Run 'talkshelf migrate' first."
  if (error instanceof Error && error.message.includes('checksum failed'))
    return (
      `${message}: this migration differs from the one that was applied to the database.\n` +
      'Use the release that the database belongs to, or an empty database.'
    )
  if (code === '42501')
    return (
      `${message}: the role in DATABASE_URL has no access to the tables.\n` +
      "Use the role that ran 'talkshelf migrate'."
    )
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Explains why a TLS connection to the database failed. Undefined for other errors. */
function tlsErrorMessage(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  // The driver has no code for it.
  if (error.message === 'The server does not support SSL connections')
    return (
      'the server does not support TLS, and DATABASE_URL requires it.\n' +
      'Turn on ssl in postgresql.conf, or set sslmode=disable in a network that you trust.'
    )
  const { code = '' } = error as NodeJS.ErrnoException
  return /SELF_SIGNED|UNABLE_TO_|CERT_/.test(code)
    ? `the certificate of the server is not accepted: ${error.message}\n` +
        'Check it, or set sslrootcert=FILE in DATABASE_URL to the certificate of its authority.'
    : undefined
}
