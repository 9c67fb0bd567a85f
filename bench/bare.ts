import { createServer } from 'node:http'

// The minimal Node server: sends the same bytes for every request. `node bench/bare.ts` reads the
// response from standard input as JSON, and prints the port that it listens on.

let text = ''
for await (const chunk of process.stdin) text += chunk
const { status, headers, body } = JSON.parse(text) as {
  status: number
  headers: string[]
  body: string
}

const server = createServer((_, response) => {
  response.writeHead(status, headers)
  response.end(body, 'latin1')
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') process.stdout.write(`${address?.port}\n`)
})
