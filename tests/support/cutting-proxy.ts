import { createServer, connect as open, type Server, type Socket } from 'node:net'

// Stands between the service and PostgreSQL, and cuts the connection at a chosen step: before the
// database has seen it, or after it has done it but before the service hears of it. A step is one
// round trip: what the driver sends up to a Sync.

export interface CuttingProxy {
  port: number
  /** The next steps are counted from 1; at this one the connection is cut. */
  cutAt(step: number, when: 'before' | 'after'): void
  /** While held, nothing goes through in either direction, and nobody is told: a black hole. */
  hold(held: boolean): void
  /** Whether it came to the cut; from now on nothing is cut. */
  disarm(): boolean
  /** The ports from which the database is connected to now. */
  ports(): number[]
  close(): Promise<void>
}

export async function startCuttingProxy(host: string, port: number): Promise<CuttingProxy> {
  let plan: { step: number; when: 'before' | 'after' } | undefined
  let steps = 0
  let wasCut = false
  const sockets = new Set<Socket>()
  const databases = new Set<Socket>()
  let isHeld = false

  const server: Server = createServer((client) => {
    const database = open(port, host)
    databases.add(database)
    database.on('close', () => databases.delete(database))
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    const cut = () => {
      wasCut = true
      client.destroy()
      database.destroy()
    }
    let started = false
    let held = Buffer.alloc(0)
    let step: Buffer[] = []
    let cutOnAnswer = false

    for (const socket of [client, database]) if (isHeld) socket.pause()

    client.on('data', (chunk) => {
      held = Buffer.concat([held, chunk])
      for (let end = messageEnd(held, started); end > 0; end = messageEnd(held, started)) {
        const message = held.subarray(0, end)
        held = held.subarray(end)
        const kind = started ? String.fromCharCode(message[0] ?? 0) : 'startup'
        const isSync = kind === 'S'
        started = true
        if (isSync && plan && !wasCut && ++steps === plan.step) {
          if (plan.when === 'before') return cut()
          cutOnAnswer = true
        }
        // A step travels whole: PostgreSQL carries out a COMMIT when it reads it, not when it reads
        // the Sync behind it.
        step.push(message)
        if ('PBDE'.includes(kind)) continue
        database.write(Buffer.concat(step))
        step = []
      }
    })
    database.on('data', (chunk) => (cutOnAnswer ? cut() : client.write(chunk)))
    client.on('close', () => database.destroy())
    database.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    port: (server.address() as { port: number }).port,
    cutAt(step, when) {
      plan = { step, when }
      steps = 0
      wasCut = false
    },
    hold(held) {
      isHeld = held
      for (const socket of sockets) held ? socket.pause() : socket.resume()
    },
    disarm() {
      plan = undefined
      return wasCut
    },
    ports: () => [...databases].flatMap(({ localPort }) => localPort ?? []),
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

// The first message of a connection has no type byte.
function messageEnd(bytes: Buffer, started: boolean): number {
  const at = started ? 1 : 0
  if (bytes.length < at + 4) return 0
  const end = at + bytes.readInt32BE(at)
  return bytes.length >= end ? end : 0
}
