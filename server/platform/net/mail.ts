import { isIP, Socket } from 'node:net'
import { openConcurrencyLimit } from '../ops/concurrency-limit.ts'

// Sends plain-text mail over SMTP, in the background. The queue is in memory and bounded, and each
// mail is tried once: a person can ask for another one.

const loadLibrary = () => import('./smtp.ts')

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

export interface MailServer {
  /** smtp://user:password@host:port, or smtps:// for TLS from the start. */
  readonly url: string
  readonly from: string
  /** Time for one mail, from the connection to the last response. */
  readonly timeoutMs?: number
}

export interface Mailer {
  /**
   * Queues a mail. `prepare` returns it when its turn comes, or undefined if there is none to send.
   * Returns false if the queue is full.
   */
  enqueue(prepare: () => Promise<Mail | undefined>): boolean
  /** Waits until all queued mails are sent or have failed. */
  drain(): Promise<void>
}

const maxConnections = 2
const maxQueued = 100

/** Opens a queue of mails. `onError` gets the error of each mail that was not sent. */
export function openMailer(server: MailServer, onError: (error: unknown) => void): Mailer {
  const limit = openConcurrencyLimit(maxConnections, maxQueued)
  const pending = new Set<Promise<void>>()
  return {
    enqueue(prepare) {
      if (limit.isFull()) return false
      const work = limit
        .run(async () => {
          const mail = await prepare()
          if (mail) await sendMail(server, mail)
        })
        .catch(onError)
        .finally(() => pending.delete(work))
      pending.add(work)
      return true
    },
    async drain() {
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}

/**
 * Tells whether a text is an address to which mail can be sent. Quoted local parts, comments, lists
 * and control characters are refused, because they could become several addresses or headers.
 */
export function isMailAddress(text: string): boolean {
  return /^[^\s@\p{C}\p{Z}<>()[\]\\,;:"]{1,64}@[^\s@\p{C}\p{Z}<>()[\]\\,;:"]{1,189}$/u.test(text)
}

/** A mail was not sent. The message has no address and no secret. */
class MailError extends Error {
  override name = 'MailError'
}

/** Sends a mail with a connection of its own, which is closed at the deadline in any case. */
async function sendMail(server: MailServer, { to, subject, text }: Mail): Promise<void> {
  if (!isMailAddress(to)) throw new MailError('The address of the person is not a mail address')
  const { MailComposer, SmtpConnection } = await loadLibrary()
  const from = parseSender(server.from)
  const message = await new MailComposer({
    from,
    to: { name: '', address: to },
    subject,
    text,
    // Auto-replies would go to an address that may not be read.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()

  const { timeoutMs = 60_000 } = server
  const { auth, options } = parseServer(server.url)
  const socket = new Socket()
  const connection = new SmtpConnection({
    ...options,
    socket,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    maxResponseSize: 65_536,
  })
  let timer: NodeJS.Timeout | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (error: unknown) => reject(withoutAddress(error, to))
      timer = setTimeout(
        () => reject(new MailError(`The mail server did not answer within ${timeoutMs / 1000} s`)),
        timeoutMs,
      )
      connection.on('error', fail)
      connection.on('end', () => fail(new Error('The mail server closed the connection')))
      const send = () =>
        connection.send({ from: from.address, to: [to] }, message, (error) =>
          error ? fail(error) : resolve(),
        )
      connection.connect((error) => {
        if (error) fail(error)
        else if (auth) connection.login(auth, (error) => (error ? fail(error) : send()))
        else send()
      })
    })
    connection.quit()
  } finally {
    clearTimeout(timer)
    connection.close()
    // Closing alone waits for the server.
    socket.destroySoon()
  }
}

/** Keeps the start of the message of an SMTP error, without the address of the person. */
function withoutAddress(error: unknown, address: string): MailError {
  const { message, code } = error as { message?: unknown; code?: unknown }
  const text = `${code ?? 'error'}: ${message}`.slice(0, 1000)
  return new MailError(text.replaceAll(address, '(address)').slice(0, 300))
}

/** Splits `Name <address>`, or an address alone. */
function parseSender(from: string): { name: string; address: string } {
  const [, name = '', address = from] = /^(.*)<(.+)>$/.exec(from) ?? []
  return { name: name.trim(), address }
}

/** Tells whether a text is `Name <address>`, or an address alone. */
export function isSender(text: string): boolean {
  const { name, address } = parseSender(text)
  return isMailAddress(address) && !/[\p{C}<>"]/u.test(name)
}

/**
 * Returns the connection options of a URL. The connection must be encrypted, unless the server is
 * this machine or the URL ends with `?tls=off`.
 */
function parseServer(url: string) {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const host = hostname.replaceAll(/[[\]]/g, '')
  const isLocal = host === 'localhost' || host === '::1' || (isIP(host) && host.startsWith('127.'))
  const isSecure = protocol === 'smtps:'
  const isPlain = isLocal || searchParams.get('tls') === 'off'
  const defaultPort = isSecure ? 465 : 587
  return {
    options: {
      host,
      port: port === '' ? defaultPort : Number(port),
      secure: isSecure,
      requireTLS: !isSecure && !isPlain,
      ignoreTLS: !isSecure && isPlain,
    },
    auth:
      username === ''
        ? undefined
        : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
  }
}
