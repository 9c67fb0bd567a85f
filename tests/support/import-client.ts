import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Import, ImportedTalk, ImportInput } from '@talkshelf/contract'
import { exportNdjson } from '../../server/exports/exports.ts'
import { withSnapshot } from '../../server/platform/db/snapshot.ts'
import type { Reply, TestArchive } from './harness.ts'

// Calls the import endpoints of an archive, and waits for its background batches.

export interface ImportClient {
  /** Sends a request to the API; fails unless the status is 2xx. */
  send(method: string, path: string, body?: unknown): Promise<Reply>
  /** Plans an import; returns when every row has a verdict. */
  plan(input: ImportInput): Promise<Import>
  apply(id: number): Promise<Import>
  undo(id: number): Promise<Import>
  /** Polls until the import is in one of these states. Fails if it makes no progress. */
  until(id: number, ...states: Import['state'][]): Promise<Import>
  /** Reads all rows, page by page. */
  rows(id: number, query?: string): Promise<ImportedTalk[]>
}

/** How long an import may make no progress. Generous: the machine may be busy. */
const stuckMs = Number(process.env.IMPORT_STUCK_MS ?? 30_000)

/** Creates a client for the import endpoints of an archive. */
export function importClient({ call }: Pick<TestArchive, 'call'>, token: string): ImportClient {
  async function send(method: string, path: string, body?: unknown): Promise<Reply> {
    const reply = await call(method, `/api/v2/${path}`, {
      token,
      ...(body !== undefined && { body }),
    })
    assert.ok(reply.status < 300, `${method} ${path} is ${reply.status}: ${reply.text}`)
    return reply
  }

  /** Has a loop of its own, because its deadline starts again whenever the import progresses. */
  async function until(id: number, ...states: Import['state'][]): Promise<Import> {
    let [lastText, since] = ['', performance.now()]
    for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
      const { json, text } = await send('GET', `import/${id}`)
      if (states.includes(json.state)) return json
      assert.ok(!['failed', 'undone'].includes(json.state), text)
      if (text !== lastText) [lastText, since] = [text, performance.now()]
      assert.ok(performance.now() - since < stuckMs, `The import is stuck: ${text}`)
      await sleep(pauseMs)
    }
  }

  return {
    send,
    until,
    async plan(input) {
      const { json } = await send('POST', 'import', input)
      return until(json.id, 'planned')
    },
    async apply(id) {
      await send('POST', `import/${id}/apply`)
      return until(id, 'applied')
    },
    async undo(id) {
      await send('POST', `import/${id}/undo`)
      return until(id, 'undone')
    },
    async rows(id, query = '') {
      const all: ImportedTalk[] = []
      for (let after = 0; ; after = all.at(-1)?.position ?? 0) {
        const path = `import/${id}/talk?page_size=100&after=${after}${query}`
        const { json } = await send('GET', path)
        all.push(...json.results)
        if (json.next === null) return all
      }
    },
  }
}

export interface ImportTalk {
  readonly key: string
  readonly [field: string]: unknown
}

/** Formats talks as CSV, with the keys of their source. */
export function csvOf(talks: readonly ImportTalk[]): string {
  const columns = [...new Set(talks.flatMap((talk) => Object.keys(talk)))]
  const cell = (value: unknown) => {
    const text = Array.isArray(value) ? value.join(';') : (value ?? '')
    return `"${String(text).replaceAll('"', '""')}"`
  }
  const table = [columns, ...talks.map((talk) => columns.map((column) => talk[column]))]
  return table.map((row) => row.map(cell).join(',')).join('\r\n')
}

/** Exports everything, like the command: with drafts and tombstones. */
export function exportAll(databaseUrl: string): Promise<string> {
  return withSnapshot(databaseUrl, 'tests', async (db) => {
    let text = ''
    for await (const line of exportNdjson(db, { drafts: true, takenDown: true })) text += line
    return text
  })
}

/** Merges three versions: takes a field that only the source changed, and keeps manual edits. */
export function threeWay<T extends Readonly<Record<string, unknown>>>(
  sourceBefore: T,
  sourceNow: T,
  current: T,
): T {
  const merged: Record<string, unknown> = { ...current }
  for (const field of Object.keys(sourceNow)) {
    const [before, now, here] = [sourceBefore[field], sourceNow[field], current[field]].map(
      (value) => JSON.stringify(value),
    )
    if (before !== now && here === before) merged[field] = sourceNow[field]
  }
  return merged as T
}
