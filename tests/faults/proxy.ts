import { createServer, connect as open, type Socket } from 'node:net'

// Stands between the service and PostgreSQL, and is the bad network: slow, cut, or silent.

export interface BadNetwork {
  readonly port: number
  /** Each way. */
  delay(ms: number): void
  cut(): void
  /**
   * Nothing gets through, and nobody is told; what was sent meanwhile arrives afterwards, as TCP
   * does it.
   */
  silence(isSilent: boolean): void
  close(): Promise<void>
}

export async function startBadNetwork(port: number): Promise<BadNetwork> {
  let delayMs = 0
  let isSilent = false
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()

  /** Passes on what comes, in order, when its time has come; the end of the connection as well. */
  function carry(from: Socket, to: Socket): void {
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
    waiting.add(pump)
    from.on('data', add)
    from.on('close', () => add(undefined))
    to.on('close', () => waiting.delete(pump))
  }

  const server = createServer((client) => {
    const database = open(port, '127.0.0.1')
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    carry(client, database)
    carry(database, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

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
      if (!silent) for (const pump of waiting) pump()
    },
    close() {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
