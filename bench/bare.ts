import { createServer } from 'node:http'

// The least that a server in this language can do: the same bytes for every request, whatever is
// asked. `node bench/bare.ts` gets the answer on standard input as JSON, and says on which port it
// listens.

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
