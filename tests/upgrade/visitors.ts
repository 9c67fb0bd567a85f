import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attempt } from '../faults/workload.ts'
import { type CallOptions, call, type Reply } from '../support/harness.ts'

// Readers of a large archive and an editor: records, lists and searches, and new records that a
// search must find afterwards.

export interface VisitorOptions {
  readonly url: string
  readonly token: string
  /** The number of records that were there before. */
  readonly records: number
  readonly readers: number
  /** How long each visitor pauses after a request. */
  readonly pauseMs: number
}

export interface Visitors {
  readonly attempts: readonly Attempt[]
  /** The words that are in the title of one new record each, by its id. */
  readonly written: ReadonlyMap<number, string>
  stop(): Promise<void>
}

/** Starts readers and an editor, which go on until they are stopped. */
export async function startVisitors(options: VisitorOptions): Promise<Visitors> {
  const { url, token, records, readers, pauseMs } = options
  const agent = new Agent({ keepAlive: true })
  const attempts: Attempt[] = []
  const written = new Map<number, string>()
  let isStopping = false

  async function send(method: string, path: string, request: CallOptions = {}) {
    const start = performance.now()
    const reply = await call(url, method, path, request, agent).catch(
      (error: { code?: string }) => error.code ?? 'lost',
    )
    const isReply = typeof reply === 'object'
    attempts.push({
      request: `${method} ${path}`,
      start,
      ms: performance.now() - start,
      status: isReply ? reply.status : -1,
      ...(isReply
        ? reply.status >= 400 && { detail: reply.text.slice(0, 200) }
        : { detail: reply }),
    })
    return isReply ? reply : undefined
  }

  const first = await call(url, 'GET', '/api/v2/video?page_size=100')
  const words = wordsOf(first)
  const pick = (count: number) => Math.floor(Math.random() * count)
  // With a token: some records are drafts.
  const requests = [
    () => `/api/v2/video/${1 + pick(records)}`,
    () => `/api/v2/video?page_size=20&page=${1 + pick(50)}`,
    () => `/api/v2/video?page_size=20&q=${words[pick(words.length)]}`,
  ]

  async function read(): Promise<void> {
    while (!isStopping) {
      await send('GET', (requests[pick(requests.length)] as () => string)(), { token })
      await sleep(pauseMs)
    }
  }

  async function edit(): Promise<void> {
    for (let number = 0; !isStopping; number++) {
      const word = `upgraded${lettersOf(number)}`
      const body = {
        title: `Talk ${word}`,
        category: 'Upgrade Days',
        language: 'English',
        state: 1,
      }
      const created = await send('POST', '/api/v2/video', { token, body })
      await sleep(pauseMs)
      if (created?.status !== 201) continue
      written.set(created.json.id, word)
      await send('PUT', `/api/v2/video/${created.json.id}`, {
        token,
        body: { ...body, summary: `Replaced ${number}` },
      })
      await sleep(pauseMs)
    }
  }

  await call(url, 'POST', '/api/v2/category', { token, body: { title: 'Upgrade Days' } })
  const running = Promise.all([edit(), ...Array.from({ length: readers }, read)])
  return {
    attempts,
    written,
    async stop() {
      isStopping = true
      await running
      agent.destroy()
    },
  }
}

/** Returns different words of titles. */
function wordsOf({ json }: Reply): string[] {
  const titles = (json.results as { title: string }[]).map(({ title }) => title)
  return [...new Set(titles.flatMap((title) => title.match(/[a-z]{3,}/gi) ?? []))]
}

/** Writes a number with letters: words with digits are not corrected by a search. */
const lettersOf = (number: number) =>
  [...String(number).padStart(6, '0')].map((digit) => 'bcdfghjklm'[Number(digit)]).join('')
