import type { Socket } from 'node:net'
import { flood, hostileServers, okResponse } from '../../server/platform/net/hostile-servers.ts'

// What hostile hosts do instead of answering. Each function gets the connection after the request.

const ok = (type: string, more = '') => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${more}\r\n`
const moved = (location: string) =>
  `HTTP/1.1 301 Moved\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`
const asJson = ok('application/json', 'Connection: close\r\n')

const bodies: Record<string, string | Buffer> = {
  'deeply nested lists': '['.repeat(60_000),
  'deeply nested lists, closed': `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  'deeply nested objects': '{"a":'.repeat(12_000),
  'a list of lists without end': '[[],'.repeat(20_000),
  'JSON of a number': '404',
  'JSON of null': 'null',
  'an empty text': '',
  'an object with the wrong types':
    '{"title":[],"uuid":{},"guid":1,"files":{},"metadata":[],"items":{},"state":1,"is_dark":"x"}',
  'an object with a prototype':
    '{"__proto__":{"title":"x","uuid":"x"},"constructor":{"prototype":{"is_dark":true}}}',
  'keys that are repeated': `{${'"title":"x",'.repeat(5000)}"title":1}`,
  'numbers that are too large':
    '{"title":"x","uuid":"x","guid":"x","duration":1e999,"files":[1e999]}',
  'NUL bytes': `{"title":"a\0b"}\0`,
  'control characters and overlong texts': JSON.stringify(
    Object.fromEntries(
      ['title', 'name', 'uuid', 'guid', 'author_url'].map((key) => [
        key,
        `\u0000\u001b[31m\u202e${'x'.repeat(10_000)}`,
      ]),
    ),
  ),
  'broken UTF-8': Buffer.concat([
    Buffer.from('{"uuid":"x","guid":"x","title":"'),
    Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80]),
    Buffer.from('"}'),
  ]),
  'UTF-16': Buffer.from('\ufeff{"title":"x"}', 'utf16le'),
}

const sending = Object.fromEntries(
  Object.entries(bodies).map(([name, body]) => [
    name,
    (socket: Socket) => {
      socket.write(asJson)
      socket.end(body)
    },
  ]),
)

export const hostileBehaviours: Readonly<Record<string, (socket: Socket) => unknown>> = {
  ...Object.fromEntries(
    Object.entries(hostileServers).map(([name, [, behaviour]]) => [name, behaviour]),
  ),
  ...sending,
  '10 MB of JSON': (socket) => {
    socket.write(asJson)
    socket.end(`{"title":"${'x'.repeat(10_000_000)}"}`)
  },
  'JSON without end': (socket) => flood(socket, `${asJson}[`, '{"title":"x"},'.repeat(1000)),
  'a page without end': (socket) => flood(socket, ok('text/html'), '<html>'.repeat(1000)),
  'a wrong length': (socket) => socket.end(`${okResponse('Content-Length: 5000\r\n')}{}`),
  'redirects to this machine': (socket) => socket.end(moved('http://127.0.0.1/')),
  'redirects to this machine by name': (socket) => socket.end(moved('https://localhost/')),
  'redirects to the metadata of a cloud': (socket) =>
    socket.end(moved('http://169.254.169.254/latest/meta-data/')),
  'redirects to the metadata of a cloud in IPv6': (socket) =>
    socket.end(moved('http://[fd00:ec2::254]/latest/meta-data/')),
  'redirects to a file': (socket) => socket.end(moved('file:///etc/passwd')),
  'redirects to a script': (socket) => socket.end(moved('javascript:alert(1)')),
  'redirects to a URL with a password': (socket) =>
    socket.end(moved('https://a:b@www.example.org/')),
  'asks to wait for centuries': (socket) =>
    socket.end('HTTP/1.1 429 Wait\r\nRetry-After: 999999999\r\nContent-Length: 0\r\n\r\n'),
  'asks to wait for nonsense': (socket) =>
    socket.end(
      'HTTP/1.1 503 Wait\r\nRetry-After: soon\r\nDate: never\r\nContent-Length: 0\r\n\r\n',
    ),
  'answers with status 999': (socket) =>
    socket.end('HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n'),
}
