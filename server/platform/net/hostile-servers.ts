import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { OutboundErrorCode } from './outbound-error.ts'

// Misbehaving servers for tests. Each function gets the connection after the request was received.

/** Returns the head of a 200 response, with more header lines. */
export const okResponse = (more = '') => `HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n${more}\r\n`
/** Returns a 302 response. */
export const redirectResponse = (location: string) =>
  `HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\nLocation: ${location}\r\n\r\n`

/** What a server does, and the error that the client reports for it. */
export const hostileServers: Record<string, [OutboundErrorCode, (socket: Socket) => unknown]> = {
  'never answers': ['too-slow', () => {}],
  'hangs up': ['unreachable', (socket) => socket.end()],
  'resets the connection': ['unreachable', (socket) => socket.resetAndDestroy()],
  'speaks another protocol': ['bad-answer', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
  'sends its headers a byte at a time': [
    'too-slow',
    (socket) => drip(socket, okResponse('X-Long: ')),
  ],
  'sends its body a byte at a time': ['too-slow', (socket) => drip(socket, '', okResponse())],
  'stops within the body': [
    'too-slow',
    (socket) => socket.write(`${okResponse('Content-Length: 10\r\n')}12345`),
  ],
  'sends without end': ['too-large', (socket) => flood(socket, okResponse(), Buffer.alloc(65536))],
  'sends chunks without end': [
    'too-large',
    (socket) =>
      flood(
        socket,
        okResponse('Transfer-Encoding: chunked\r\n'),
        `ffff\r\n${'x'.repeat(65535)}\r\n`,
      ),
  ],
  'sends a chunk header without end': [
    'too-slow',
    (socket) =>
      flood(socket, `${okResponse('Transfer-Encoding: chunked\r\n')}1;`, 'x'.repeat(65536)),
  ],
  'announces a length above the limit': [
    'too-large',
    (socket) => socket.write(okResponse('Content-Length: 99999999\r\n')),
  ],
  'sends ten thousand headers': [
    'bad-answer',
    (socket) => socket.end(okResponse('A: b\r\n'.repeat(10_000))),
  ],
  'sends a huge header': [
    'bad-answer',
    (socket) => socket.end(okResponse(`A: ${'b'.repeat(1_000_000)}\r\n`)),
  ],
  'sends headers without end': [
    'bad-answer',
    (socket) => flood(socket, 'HTTP/1.1 200 OK\r\n', 'A: b\r\n'.repeat(10_000)),
  ],
  'sends trailers without end': [
    'bad-answer',
    (socket) =>
      flood(
        socket,
        `${okResponse('Transfer-Encoding: chunked\r\n')}0\r\n`,
        'A: b\r\n'.repeat(10_000),
      ),
  ],
  'sends a status line without end': [
    'too-slow',
    (socket) => flood(socket, 'HTTP/1.1 200 ', 'x'.repeat(65536)),
  ],
  'sends interim responses without end': [
    'too-slow',
    (socket) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100)),
  ],
  'redirects to itself': ['bad-answer', (socket) => socket.end(redirectResponse('/'))],
  'redirects without a location': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'),
  ],
  'redirects to two locations': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n'),
  ],
  'redirects to another port': [
    'address-refused',
    (socket) => socket.end(redirectResponse('http://127.0.0.1:5432/')),
  ],
  'redirects with a body without end': [
    'bad-answer',
    (socket) => flood(socket, 'HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n', Buffer.alloc(65536)),
  ],
  'sends a gzip bomb': [
    'bad-answer',
    (socket) =>
      socket.write(
        Buffer.concat([
          Buffer.from(okResponse('Content-Encoding: gzip\r\n')),
          gzipSync(Buffer.alloc(2 ** 24)),
        ]),
      ),
  ],
  'compresses with brotli': [
    'bad-answer',
    (socket) => socket.end(okResponse('Content-Encoding: identity, br\r\n')),
  ],
  'compresses the transfer encoding': [
    'bad-answer',
    (socket) => socket.end(okResponse('Transfer-Encoding: gzip, chunked\r\n')),
  ],
  'sends less than it announced': [
    'unreachable',
    (socket) => socket.end(`${okResponse('Content-Length: 10\r\n')}12345`),
  ],
  'ends before the last chunk': [
    'unreachable',
    (socket) => socket.end(`${okResponse('Transfer-Encoding: chunked\r\n')}5\r\n12345\r\n`),
  ],
  'sends two lengths': [
    'unreachable',
    (socket) => socket.end(`${okResponse('Content-Length: 5\r\nContent-Length: 6\r\n')}12345`),
  ],
  'sends a negative length': [
    'bad-answer',
    (socket) => socket.end(`${okResponse('Content-Length: -5\r\n')}12345`),
  ],
  'sends a length and chunks': [
    'unreachable',
    (socket) => {
      const head = okResponse('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')
      socket.end(`${head}5\r\n12345\r\n0\r\n\r\n`)
    },
  ],
  'resets the connection within the body': [
    'unreachable',
    (socket) =>
      socket.write(`${okResponse()}12345`, () => setTimeout(() => socket.resetAndDestroy(), 20)),
  ],
  'switches to another protocol': [
    'unreachable',
    (socket) => socket.end('HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  ],
  'answers 404': [
    'not-found',
    (socket) => socket.end('HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n'),
  ],
  'answers 410': [
    'not-found',
    (socket) => flood(socket, 'HTTP/1.1 410 Gone\r\n\r\n', Buffer.alloc(65536)),
  ],
  'answers 401': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n'),
  ],
  'answers 206': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 206 Part\r\nContent-Length: 1\r\n\r\na'),
  ],
  'answers 204': ['bad-answer', (socket) => socket.end('HTTP/1.1 204 None\r\n\r\n')],
  'answers 503': [
    'unreachable',
    (socket) => socket.end('HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'),
  ],
}

/** Writes `first` once and then `repeated` until the connection is closed. */
export function flood(socket: Socket, first: string, repeated: string | Buffer): void {
  socket.write(first)
  const writeMore = () => {
    while (!socket.destroyed && socket.write(repeated));
  }
  socket.on('drain', writeMore)
  writeMore()
}

/** Writes `first` at once and then one character of `text`, or an x, every 20 ms. */
function drip(socket: Socket, text: string, first = ''): void {
  socket.write(first)
  let index = 0
  const timer = setInterval(() => socket.write(text[index++] ?? 'x'), 20)
  socket.on('close', () => clearInterval(timer))
}
