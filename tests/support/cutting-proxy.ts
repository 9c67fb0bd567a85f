import { createServer, connect as open, type Server, type Socket } from 'node:net'

// A proxy between the service and PostgreSQL that cuts the connection at a chosen step: before the
// database has received it, or after the database has executed it but before the service receives
// the result. A step is one round trip: what the driver sends up to a Sync.

export interface CuttingProxy {
  port: number
  /** Cuts the connection at a step; the next steps are counted from 1. */
  cutAt(step: number, when: 'before' | 'after'): void
  /** While held, no data passes in either direction, and connections stay open. */
  hold(isHeld: boolean): void
  /** Disables the cut. Returns whether it happened. */
  disarm(): boolean
  /** Returns the local ports of the connections to the database. */
  ports(): number[]
  close(): Promise<void>
}

interface ProxyState {
  plan: { step: number; when: 'before' | 'after' } | undefined
  steps: number
  wasCut: boolean
  isHeld: boolean
  readonly sockets: Set<Socket>
  readonly databases: Set<Socket>
}

/** Starts a proxy to PostgreSQL at this host and port. */
export async function startCuttingProxy(host: string, port: number): Promise<CuttingProxy> {
  const state: ProxyState = {
    plan: undefined,
    steps: 0,
    wasCut: false,
    isHeld: false,
    sockets: new Set(),
    databases: new Set(),
  }
  const server: Server = createServer((client) => forward(state, client, open(port, host)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    cutAt(step, when) {
      Object.assign(state, { plan: { step, when }, steps: 0, wasCut: false })
    },
    hold(isHeld) {
      state.isHeld = isHeld
      for (const socket of state.sockets) isHeld ? socket.pause() : socket.resume()
    },
    disarm() {
      state.plan = undefined
      return state.wasCut
    },
    ports: () => [...state.databases].flatMap(({ localPort }) => localPort ?? []),
    close() {
      for (const socket of state.sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Forwards data between two sockets, and cuts both at the planned step. */
function forward(state: ProxyState, client: Socket, database: Socket): void {
  state.databases.add(database)
  database.on('close', () => state.databases.delete(database))
  for (const socket of [client, database]) {
    state.sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => state.sockets.delete(socket))
    if (state.isHeld) socket.pause()
  }
  const cut = () => {
    state.wasCut = true
    client.destroy()
    database.destroy()
  }
  let isStarted = false
  let received = Buffer.alloc(0)
  let step: Buffer[] = []
  let cutsOnAnswer = false

  client.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    for (
      let end = messageEnd(received, isStarted);
      end > 0;
      end = messageEnd(received, isStarted)
    ) {
      const message = received.subarray(0, end)
      received = received.subarray(end)
      const type = isStarted ? String.fromCharCode(message[0] ?? 0) : 'startup'
      isStarted = true
      if (type === 'S' && state.plan && !state.wasCut && ++state.steps === state.plan.step) {
        if (state.plan.when === 'before') return cut()
        cutsOnAnswer = true
      }
      // A step is sent as a whole: PostgreSQL executes a COMMIT when it reads it, not when it reads
      // the Sync after it.
      step.push(message)
      if ('PBDE'.includes(type)) continue
      database.write(Buffer.concat(step))
      step = []
    }
  })
  database.on('data', (chunk) => (cutsOnAnswer ? cut() : client.write(chunk)))
  client.on('close', () => database.destroy())
  database.on('close', () => client.destroy())
}

// The first message of a connection has no type byte.
function messageEnd(bytes: Buffer, isStarted: boolean): number {
  const lengthOffset = isStarted ? 1 : 0
  if (bytes.length < lengthOffset + 4) return 0
  const end = lengthOffset + bytes.readInt32BE(lengthOffset)
  return bytes.length >= end ? end : 0
}
