// node tests/follow/stream-clients.ts URL COUNT
//
// Follows the stream of changes with many connections, in a process of its own. Prints how many are
// open, and on SIGTERM how many entries each of them has received at least and at most.

import { type ClientRequest, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [url = '', count = '0'] = process.argv.slice(2)
/** A client can have a tenth of all streams. */
const addresses = 20
const received: number[] = []
let opened = 0

function follow(index: number): ClientRequest {
  received[index] = 0
  return request(
    `${url}/api/v2/changes/stream`,
    { localAddress: `127.0.1.${1 + (index % addresses)}`, agent: false },
    (response) => {
      if (response.statusCode !== 200) throw new Error(`Status ${response.statusCode}`)
      opened++
      response.setEncoding('utf8').on('data', (text: string) => {
        received[index] = (received[index] ?? 0) + text.split('\ndata: ').length - 1
      })
    },
  ).end()
}

process.once('SIGTERM', () => {
  console.log(`received ${Math.min(...received)} ${Math.max(...received)}`)
  process.exit()
})

for (let index = 0; index < Number(count); index++) {
  follow(index)
  while (index - opened > 20) await sleep(5)
}
while (opened < Number(count)) await sleep(5)
console.log('open')
