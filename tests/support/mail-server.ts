import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

// A real SMTP server in a process of its own. Prints its port, then each mail, one JSON value per
// line. It accepts the user `talks` with the password `s3cret#`, and refuses mail to refused@….
// With MAIL_KEY and MAIL_CERTIFICATE it offers STARTTLS; MAIL_TLS=1 encrypts from the start.

const { MAIL_KEY: key, MAIL_CERTIFICATE: certificate, MAIL_TLS } = process.env
const encryption =
  key && certificate
    ? { key: readFileSync(key), cert: readFileSync(certificate), secure: MAIL_TLS === '1' }
    : { disabledCommands: ['STARTTLS'] }

const server = new SMTPServer({
  authOptional: true,
  allowInsecureAuth: true,
  ...encryption,
  onAuth: ({ username, password }, _session, done) =>
    username === 'talks' && password === 's3cret#'
      ? done(null, { user: username })
      : done(new Error('wrong password')),
  onRcptTo: ({ address }, _session, done) =>
    address.startsWith('refused@') ? done(new Error(`no such user ${address}`)) : done(),
  onData(stream, session, done) {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const { mailFrom, rcptTo } = session.envelope
      print({
        from: mailFrom === false ? '' : mailFrom.address,
        to: rcptTo.map(({ address }) => address),
        user: session.user ?? null,
        isEncrypted: session.secure,
        message: Buffer.concat(chunks).toString(),
      })
      done()
    })
  },
})
// A client that does not trust the certificate closes the connection.
server.on('error', () => {})
server.listen(0, '127.0.0.1', () => print((server.server.address() as AddressInfo).port))

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
