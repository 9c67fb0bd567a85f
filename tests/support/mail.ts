import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { root } from './harness.ts'
import { until } from './until.ts'

// Starts the SMTP server of tests, and reads the mails that it got.

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly user: string | null
  readonly isEncrypted: boolean
  /** Lines of the header, unfolded. */
  readonly header: readonly string[]
  /** The decoded text. */
  readonly text: string
}

/**
 * Starts a mail server that ends with the test file, unless it is stopped before. `environment` has
 * its key and certificate, if it encrypts.
 */
export async function startMailServer(environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['tests/support/mail-server.ts'], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const mails: ReceivedMail[] = []
  const lines = createInterface({ input: child.stdout })
  const [port] = await once(lines, 'line')
  lines.on('line', (line) => {
    const { message, ...envelope } = JSON.parse(line)
    mails.push({ ...envelope, ...parseMessage(message) })
  })
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  after(stop)
  return {
    port: Number(port),
    mails,
    stop,
    /** Waits for the next mail to an address and removes it from the list. */
    mailTo: (address: string) =>
      until(`a mail to ${address}`, () => {
        const index = mails.findIndex(({ to }) => to.includes(address))
        return index === -1 ? undefined : mails.splice(index, 1)[0]
      }),
  }
}

/** Splits a message of one part, in 7bit, quoted-printable or base64. */
function parseMessage(message: string): Pick<ReceivedMail, 'header' | 'text'> {
  const end = message.indexOf('\r\n\r\n')
  const header = message
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const body = message.slice(end + 4)
  const encoding = header.find((line) => /^content-transfer-encoding:/i.test(line)) ?? ''
  if (/base64/i.test(encoding)) return { header, text: Buffer.from(body, 'base64').toString() }
  if (!/quoted-printable/i.test(encoding)) return { header, text: body }
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([\dA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return { header, text: Buffer.from(bytes, 'latin1').toString() }
}
