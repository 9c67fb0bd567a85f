import { createServer, connect as open, type Socket } from 'node:net'

// A TCP proxy between the service and PostgreSQL that simulates a bad network: slow, cut or silent.

export interface BadNetwork {
  readonly port: number
  /** Delays all data, in each direction. */
  delay(ms: number): void
  cut(): void
  /**
   * Holds all data back without closing connections. What was sent meanwhile arrives afterwards, as
   * with TCP.
   */
  silence(isSilent: boolean): void
  close(): Promise<void>
}

/** Starts a proxy to a port; a number is one of this machine. */
export async function startBadNetwork(
  target: number | { host: string; port: number },
  address = '127.0.0.1',
): Promise<BadNetwork> {
  const to = typeof target === 'number' ? { host: '127.0.0.1', port: target } : target
  let delayMs = 0
  let isSilent = false
  const sockets = new Set<Socket>()
  const pumps = new Set<() => void>()

  /** Forwards data and the end of the connection, in order and delayed. */
  function forward(from: Socket, to: Socket): void {
    const queue: { due: number; chunk: Buffer | undefined }[] = []
    let timer: NodeJS.Timeout | undefined
    const pump = () => {
      timer = undefined
      while (!isSilent && queue[0] && queue[0].due <= performance.now()) {
        const { chunk } = queue.shift() as (typeof queue)[number]
        if (chunk) to.write(chunk)
        else to.destroy()
      }
      if (!isSilent && queue[0])
        timer ??= setTimeout(pump, Math.max(1, queue[0].due - performance.now()))
    }
    const add = (chunk: Buffer | undefined) => {
      queue.push({ due: performance.now() + delayMs, chunk })
      if (timer === undefined) pump()
    }
    pumps.add(pump)
    from.on('data', add)
    from.on('close', () => add(undefined))
    to.on('close', () => pumps.delete(pump))
  }

  const server = createServer((client) => {
    const database = open(to)
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    forward(client, database)
    forward(database, client)
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))

  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as { port: number }).port,
    delay(ms) {
      delayMs = ms
    },
    cut,
    silence(silent) {
      isSilent = silent
      if (!silent) for (const pump of pumps) pump()
    },
    close() {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
