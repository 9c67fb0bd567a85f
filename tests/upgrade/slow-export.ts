import { request as httpRequest, type IncomingMessage } from 'node:http'

// A reader that takes an export slowly: its transaction locks all tables against migrations.

/** How long the reader pauses after each piece of data, about 64 KB; the server ends slower ones. */
const pauseMs = 1000

export interface SlowExport {
  /** Reads the rest at full speed. Returns the number of records in it. */
  finish(): Promise<number>
  /** Ends it at once. */
  close(): void
}

/** Opens an export of all records, and waits for its first bytes. */
export async function openExport(url: string): Promise<SlowExport> {
  const outgoing = httpRequest(`${url}/api/v2/export.ndjson`)
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    outgoing.on('response', resolve).on('error', reject).end(),
  )
  if (response.statusCode !== 200) throw new Error(`The export was answered ${response.statusCode}`)
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<number>()
  ended.promise.catch(() => {}) // Until finish() is called.
  let timer: NodeJS.Timeout | undefined
  let isSlow = true
  let text = ''
  let records = 0
  response.setEncoding('latin1')
  response.on('data', (chunk: string) => {
    started.resolve()
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    records += lines.filter((line) => line.includes('"kind":"video"')).length
    if (!isSlow) return
    response.pause()
    timer = setTimeout(() => response.resume(), pauseMs)
  })
  response.on('error', ended.reject)
  response.on('end', () => ended.resolve(records))
  await started.promise
  return {
    finish() {
      isSlow = false
      clearTimeout(timer)
      response.resume()
      return ended.promise
    },
    close() {
      clearTimeout(timer)
      outgoing.destroy()
    },
  }
}
