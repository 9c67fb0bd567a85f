import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

// A real SMTP server in a process of its own. Prints its port, then each mail, one JSON value per
// line. It accepts the user `talks` with the password `s3cret#`, and refuses mail to refused@….

const server = new SMTPServer({
  authOptional: true,
  allowInsecureAuth: true,
  disabledCommands: ['STARTTLS'],
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
        message: Buffer.concat(chunks).toString(),
      })
      done()
    })
  },
})
server.listen(0, '127.0.0.1', () => print((server.server.address() as AddressInfo).port))

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
