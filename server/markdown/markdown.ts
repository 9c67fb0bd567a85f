import { hash } from 'node:crypto'
import { markdownParts, plainHtml, renderMarkdownPart } from '@talkshelf/web'
import { LRUCache } from 'lru-cache'
import { runInOwnTask } from '../platform/event-loop.ts'

// Renders the texts of records as HTML. Untrusted Markdown can be slow to render, so it is cached
// and rendered in parts of bounded length, one in each turn of the event loop.

export interface Markdown {
  render(text: string): Promise<string>
  /** Renders the first part only. */
  renderStart(text: string): Promise<{ html: string; isWhole: boolean }>
}

const maxCacheBytes = 16 * 2 ** 20
/** Further texts are shown without formatting. */
const maxJobs = 50

interface Job {
  /** The parts that are not rendered yet. */
  readonly parts: string[]
  html: string
  readonly result: PromiseWithResolvers<string>
}

/** Opens the renderer with a cache of a limited size. */
export function openMarkdown(cacheBytes = maxCacheBytes): Markdown {
  const cache = new LRUCache<string, string>({
    maxSize: cacheBytes,
    sizeCalculation: (html) => html.length * 2 + 200,
  })
  const inFlight = new Map<string, Promise<string>>()
  const jobs = new Set<Job>()

  async function render(text: string): Promise<string> {
    // The content is the key, so that nothing has to be invalidated.
    const key = hash('sha256', text, 'base64url')
    const cached = cache.get(key) ?? inFlight.get(key)
    if (cached !== undefined) return cached
    if (jobs.size >= maxJobs) return plainHtml(text)
    const { formatted, rest } = markdownParts(text)
    const job: Job = { parts: formatted, html: '', result: Promise.withResolvers() }
    const whole = job.result.promise.then((html) => html + plainHtml(rest))
    inFlight.set(key, whole)
    jobs.add(job)
    if (jobs.size === 1) renderAll()
    try {
      const html = await whole
      cache.set(key, html)
      return html
    } finally {
      inFlight.delete(key)
    }
  }

  async function renderAll(): Promise<void> {
    while (jobs.size > 0) await runInOwnTask(renderOnePart)
  }

  /** Renders the next part of the shortest text, so that short texts do not wait for long ones. */
  function renderOnePart(): void {
    const job = [...jobs].reduce((shortest, other) =>
      other.parts.length < shortest.parts.length ? other : shortest,
    )
    try {
      job.html += renderMarkdownPart(job.parts.shift() ?? '')
      if (job.parts.length > 0) return
      job.result.resolve(job.html)
    } catch (error) {
      job.result.reject(error)
    }
    jobs.delete(job)
  }

  return {
    render,
    renderStart: async (text) => {
      const [start = ''] = markdownParts(text).formatted
      return { html: await render(start), isWhole: start.length === text.length }
    },
  }
}
