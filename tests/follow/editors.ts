import { call } from '../support/harness.ts'

// Editors that use the API as people do: new talks, corrections, names, drafts, merges, takedowns.

const editorCount = 4
const category = 'Mirror Days'

export interface Editors {
  /** Stops all editors and returns how many edits were accepted. */
  stop(): Promise<number>
}

/** Starts editors. They go on while the archive does not answer. */
export function startEditors(url: string, token: string): Editors {
  let [edits, isStopped] = [0, false]
  const send = async (method: string, path: string, body: object) => {
    const { status, json } = await call(url, method, `/api/v2/${path}`, { token, body })
    if (status < 300) edits++
    return json
  }
  const ids: number[] = []
  const edit = async () => {
    await send('POST', 'category', { title: category })
    while (!isStopped) await editOnce(send, ids).catch(() => {})
  }
  const editing = Array.from({ length: editorCount }, edit)
  return {
    async stop() {
      isStopped = true
      await Promise.all(editing)
      return edits
    },
  }
}

type Send = (method: string, path: string, body: object) => Promise<Record<string, unknown>>

async function editOnce(send: Send, ids: number[]): Promise<void> {
  const number = Math.floor(Math.random() * 30)
  const talk = {
    title: `Talk ${Math.floor(Math.random() * 200)}`,
    speakers: [`Speaker ${number}`, `Speaker ${(number * 7) % 30}`],
    tags: [`tag ${number % 9}`],
  }
  const id = ids[Math.floor(Math.random() * ids.length)]
  const chance = Math.random()
  if (id === undefined || chance < 0.2) {
    const created = await send('POST', 'video', {
      ...talk,
      category,
      language: 'English',
      state: 1,
    })
    ids.push(Number(created.id))
  } else if (chance < 0.7) await send('PATCH', `video/${id}`, talk)
  else if (chance < 0.8) await send('PATCH', `video/${id}`, { state: 2 })
  else if (chance < 0.9) await send('PATCH', `video/${id}`, { state: 1 })
  else if (chance < 0.93) await send('POST', `video/${id}/takedown`, { reason: 'asked' })
  else if (chance < 0.95) await send('POST', `video/${id}/merge`, { into: ids[0] })
  else if (chance < 0.98) {
    const slug = `speaker-${number}`
    await send('PATCH', `speaker/${slug}`, { name: `Speaker ${number} ${Date.now() % 3}` })
  } else await send('POST', `speaker/speaker-${number}/merge`, { into: `speaker-${number % 5}` })
}
