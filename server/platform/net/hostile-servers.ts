import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { OutboundErrorCode } from './outbound-error.ts'

// Servers that break rules, or us, for tests. Each gets the connection when the question is
// complete.

export const okResponse = (more = '') => `HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n${more}\r\n`
export const redirectResponse = (location: string) =>
  `HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\nLocation: ${location}\r\n\r\n`

/** What a server does, and what we say of it. */
export const hostileServers: Record<string, [OutboundErrorCode, (socket: Socket) => unknown]> = {
  'never answers': ['too-slow', () => {}],
  'hangs up': ['unreachable', (socket) => socket.end()],
  'resets the connection': ['unreachable', (socket) => socket.resetAndDestroy()],
  'speaks something else': ['bad-answer', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
  'sends its headers a byte at a time': [
    'too-slow',
    (socket) => drip(socket, okResponse('X-Long: ')),
  ],
  'sends its body a byte at a time': ['too-slow', (socket) => drip(socket, '', okResponse())],
  'stops in the middle': [
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
  'sends one chunk whose head has no end': [
    'too-slow',
    (socket) =>
      flood(socket, `${okResponse('Transfer-Encoding: chunked\r\n')}1;`, 'x'.repeat(65536)),
  ],
  'says itself that it is too much': [
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
  'has a status line without end': [
    'too-slow',
    (socket) => flood(socket, 'HTTP/1.1 200 ', 'x'.repeat(65536)),
  ],
  'announces an answer without end': [
    'too-slow',
    (socket) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100)),
  ],
  'redirects to itself': ['bad-answer', (socket) => socket.end(redirectResponse('/'))],
  'redirects to nowhere': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'),
  ],
  'redirects to two places': [
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
  'sends a bomb': [
    'bad-answer',
    (socket) =>
      socket.write(
        Buffer.concat([
          Buffer.from(okResponse('Content-Encoding: gzip\r\n')),
          gzipSync(Buffer.alloc(2 ** 24)),
        ]),
      ),
  ],
  'packs with brotli': [
    'bad-answer',
    (socket) => socket.end(okResponse('Content-Encoding: identity, br\r\n')),
  ],
  'packs on the way': [
    'bad-answer',
    (socket) => socket.end(okResponse('Transfer-Encoding: gzip, chunked\r\n')),
  ],
  'sends less than it said': [
    'unreachable',
    (socket) => socket.end(`${okResponse('Content-Length: 10\r\n')}12345`),
  ],
  'ends before the last chunk': [
    'unreachable',
    (socket) => socket.end(`${okResponse('Transfer-Encoding: chunked\r\n')}5\r\n12345\r\n`),
  ],
  'has two lengths': [
    'unreachable',
    (socket) => socket.end(`${okResponse('Content-Length: 5\r\nContent-Length: 6\r\n')}12345`),
  ],
  'has a length below nothing': [
    'bad-answer',
    (socket) => socket.end(`${okResponse('Content-Length: -5\r\n')}12345`),
  ],
  'has a length and chunks': [
    'unreachable',
    (socket) =>
      socket.end(
        `${okResponse('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')}5\r\n12345\r\n0\r\n\r\n`,
      ),
  ],
  'is reset in the middle': [
    'unreachable',
    (socket) =>
      socket.write(`${okResponse()}12345`, () => setTimeout(() => socket.resetAndDestroy(), 20)),
  ],
  'wants to speak another protocol': [
    'unreachable',
    (socket) => socket.end('HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  ],
  'has nothing': [
    'not-found',
    (socket) => socket.end('HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n'),
  ],
  'has nothing any more': [
    'not-found',
    (socket) => flood(socket, 'HTTP/1.1 410 Gone\r\n\r\n', Buffer.alloc(65536)),
  ],
  'wants a password': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n'),
  ],
  'sends a part': [
    'bad-answer',
    (socket) => socket.end('HTTP/1.1 206 Part\r\nContent-Length: 1\r\n\r\na'),
  ],
  'has no content': ['bad-answer', (socket) => socket.end('HTTP/1.1 204 None\r\n\r\n')],
  'is overloaded': [
    'unreachable',
    (socket) => socket.end('HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'),
  ],
}

export function flood(socket: Socket, first: string, again: string | Buffer): void {
  socket.write(first)
  const more = () => {
    while (!socket.destroyed && socket.write(again));
  }
  socket.on('drain', more)
  more()
}

function drip(socket: Socket, words: string, first = ''): void {
  socket.write(first)
  let place = 0
  const timer = setInterval(() => socket.write(words[place++] ?? 'x'), 20)
  socket.on('close', () => clearInterval(timer))
}
