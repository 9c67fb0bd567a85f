import { hash } from 'node:crypto'
import { markdownParts, plainHtml, renderMarkdownPart } from '@talkshelf/web'
import { LRUCache } from 'lru-cache'
import { runInOwnTask } from '../platform/event-loop.ts'

// Texts of records as HTML. Markdown from strangers can be slow to render, so it is rendered once,
// in parts of bounded length, and one part in each turn of the event loop: other requests are
// answered in between.

export interface Markdown {
  render(text: string): Promise<string>
  /** Renders the first part only. */
  renderStart(text: string): Promise<{ html: string; isWhole: boolean }>
}

const maxCacheBytes = 16 * 2 ** 20
/** Texts that come when so many are waiting are shown without formatting. */
const maxWaiting = 50

interface Job {
  /** What is left to render, the next part first. */
  readonly parts: string[]
  html: string
  readonly result: PromiseWithResolvers<string>
}

export function openMarkdown(cacheBytes = maxCacheBytes): Markdown {
  const cache = new LRUCache<string, string>({
    maxSize: cacheBytes,
    sizeCalculation: (html) => html.length * 2 + 200,
  })
  const underWay = new Map<string, Promise<string>>()
  const jobs = new Set<Job>()

  async function render(text: string): Promise<string> {
    // By content: the next version of a record has other texts, or the same HTML.
    const key = hash('sha256', text, 'base64url')
    const found = cache.get(key) ?? underWay.get(key)
    if (found !== undefined) return found
    if (jobs.size >= maxWaiting) return plainHtml(text)
    const { formatted, rest } = markdownParts(text)
    const job: Job = { parts: formatted, html: '', result: Promise.withResolvers() }
    const whole = job.result.promise.then((html) => html + plainHtml(rest))
    underWay.set(key, whole)
    jobs.add(job)
    if (jobs.size === 1) renderAll()
    try {
      const html = await whole
      cache.set(key, html)
      return html
    } finally {
      underWay.delete(key)
    }
  }

  async function renderAll(): Promise<void> {
    while (jobs.size > 0) await runInOwnTask(renderOnePart)
  }

  /** Short texts go first: they do not wait for long ones. */
  function renderOnePart(): void {
    const job = [...jobs].reduce((best, it) => (it.parts.length < best.parts.length ? it : best))
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
