// Plays all talks of an event, one after the other, in the order of its page. The list is in the
// session storage, so it belongs to one tab and ends with it.

interface Queue {
  readonly event: string
  readonly talks: readonly { readonly path: string; readonly title: string }[]
  /** Path of the next page of the event. */
  readonly more?: string | undefined
}

const queueKey = 'talkshelf:queue'
/** Has the path of the talk that starts by itself. Only a click or the end of a talk sets it. */
const startKey = 'talkshelf:start'

/** Makes the button of an event play its talks. */
export function startPlayAll(): void {
  const button = document.querySelector<HTMLAnchorElement>('[data-play-all]')
  button?.addEventListener('click', () => {
    const talks = talksOf(document)
    write({ event: button.dataset.playAll ?? '', talks, more: nextPageOf(document) })
    sessionStorage.setItem(startKey, button.pathname)
  })
}

/** Tells, once, whether this talk is to start by itself. */
export function startsByItself(): boolean {
  try {
    const isStarting = sessionStorage.getItem(startKey) === location.pathname
    sessionStorage.removeItem(startKey)
    return isStarting
  } catch {
    return false
  }
}

/** Shows which talk is next, if all talks of an event are played. */
export async function showQueue(): Promise<void> {
  const panel = document.querySelector<HTMLElement>('[data-queue]')
  const next = panel && (await nextTalk())
  const queue = read()
  if (!panel || !next || !queue) return
  const event = panel.querySelector('strong')
  if (event) event.textContent = queue.event
  const link = document.createElement('a')
  link.dir = 'auto'
  link.textContent = next.title
  link.href = next.path
  link.addEventListener('click', () => sessionStorage.setItem(startKey, next.path))
  panel.querySelector('[data-next]')?.replaceChildren(link)
  panel.querySelector('button')?.addEventListener('click', () => {
    sessionStorage.removeItem(queueKey)
    panel.hidden = true
  })
  panel.hidden = false
}

/** Opens the next talk of the event, if all are played. */
export async function playNext(): Promise<void> {
  const next = await nextTalk()
  if (!next) return
  sessionStorage.setItem(startKey, next.path)
  location.assign(next.path)
}

/** Returns the talk after this one. Loads the next page of the event after its last talk. */
async function nextTalk(): Promise<Queue['talks'][number] | undefined> {
  const queue = read()
  const index = queue?.talks.findIndex(({ path }) => path === location.pathname) ?? -1
  if (!queue || index < 0) return undefined
  const next = queue.talks[index + 1]
  if (next || !queue.more) return next
  const page = await loadPage(queue.more)
  const [first] = page?.talks ?? []
  if (page)
    write({ event: queue.event, talks: [...queue.talks.slice(-1), ...page.talks], more: page.more })
  return first
}

async function loadPage(path: string): Promise<Omit<Queue, 'event'> | undefined> {
  try {
    const response = await fetch(path, { headers: { accept: 'text/html' } })
    if (!response.ok) return undefined
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    return { talks: talksOf(page), more: nextPageOf(page) }
  } catch {
    return undefined
  }
}

const talksOf = (page: Document): Queue['talks'] =>
  [...page.querySelectorAll<HTMLAnchorElement>('main .card-link')].map((link) => ({
    path: new URL(link.getAttribute('href') ?? '', location.href).pathname,
    title: link.querySelector('.card-title')?.textContent ?? '',
  }))

const nextPageOf = (page: Document): string | undefined =>
  page.querySelector('.pager [rel=next]')?.getAttribute('href') ?? undefined

function read(): Queue | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(queueKey) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

function write(queue: Queue): void {
  try {
    sessionStorage.setItem(queueKey, JSON.stringify(queue))
  } catch {
    // The storage is denied or full: only the first talk is played.
  }
}
