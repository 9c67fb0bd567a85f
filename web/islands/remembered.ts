import { base } from './messages.ts'

// What this browser remembers about talks: where the reader stopped, what they have watched, and
// what they want to watch later. It is in the local storage only and never sent to the server.

/** The talk of a page, as far as a list of talks needs it. */
export interface TalkNote {
  readonly id: number
  readonly title: string
  /** Path including the base path. */
  readonly path: string
  readonly event: string
}

export interface RememberedTalk extends TalkNote {
  /** Where the reader stopped, in seconds. */
  readonly position?: number
  readonly duration?: number
  readonly isWatched?: boolean
  readonly isLater?: boolean
}

const key = `talkshelf${base}:talks`
const maxTalks = 500

/** Returns all talks that are remembered, the latest first. */
export function rememberedTalks(): RememberedTalk[] {
  try {
    const talks: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(talks) ? talks.filter(isTalk) : []
  } catch {
    // The storage is denied, or has something else.
    return []
  }
}

/** Returns what is remembered about a talk. */
export const rememberedTalk = (id: number): RememberedTalk | undefined =>
  rememberedTalks().find((talk) => talk.id === id)

/** Remembers a talk as it is now. The oldest ones are forgotten when there are too many. */
export function remember(talk: RememberedTalk): void {
  const others = rememberedTalks().filter(({ id }) => id !== talk.id)
  const { position, isWatched, isLater } = talk
  store(position || isWatched || isLater ? [talk, ...others] : others)
}

/** Forgets a talk, or all of them. */
export function forget(id?: number): void {
  store(id === undefined ? [] : rememberedTalks().filter((talk) => talk.id !== id))
}

function store(talks: readonly RememberedTalk[]): void {
  try {
    if (talks.length === 0) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(talks.slice(0, maxTalks)))
  } catch {
    // The storage is denied or full: the page works without it.
  }
}

function isTalk(value: RememberedTalk | null): value is RememberedTalk {
  return (
    typeof value === 'object' &&
    Number.isSafeInteger(value?.id) &&
    typeof value?.title === 'string' &&
    typeof value.event === 'string' &&
    typeof value.path === 'string' &&
    value.path.startsWith(`${base}/video/`) &&
    [value.position, value.duration].every((time = 0) => Number.isFinite(time) && time >= 0)
  )
}

/** Returns how much of a talk was watched, from 0 to 1. */
export const progressOf = ({ position = 0, duration = 0, isWatched }: RememberedTalk): number =>
  isWatched ? 1 : Math.min(1, duration > 0 ? position / duration : 0)

/** Marks the talks in the lists of a page that the reader has begun or watched. */
export function markCards(): void {
  const started = new Map(
    rememberedTalks()
      .filter((talk) => progressOf(talk) > 0)
      .map((talk) => [talk.id, talk]),
  )
  if (started.size === 0) return
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.card-link')) {
    const [, id] = /\/video\/(\d+)\//.exec(link.pathname) ?? []
    const talk = started.get(Number(id))
    if (!talk) continue
    const bar = document.createElement('span')
    bar.className = 'card-progress'
    bar.style.setProperty('--progress', `${Math.ceil(progressOf(talk) * 100)}%`)
    link.querySelector('.card-picture')?.append(bar)
  }
}
