import type { Reply } from './harness.ts'

// Follows all links of an archive, from some pages on.

export interface Crawled {
  readonly path: string
  readonly status: number
  /** Headers and body. */
  readonly text: string
}

/** Opens pages and everything of the same site that they link to, at most `limit` URLs. */
export async function crawl(
  get: (path: string) => Promise<Reply>,
  origin: string,
  starts: readonly string[],
  limit = 700,
): Promise<Crawled[]> {
  const known = new Set(starts)
  const queue = [...starts]
  const crawled: Crawled[] = []
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const reply = await get(path)
    const body = Buffer.from(reply.text, 'latin1').toString()
    crawled.push({ path, status: reply.status, text: `${JSON.stringify(reply.headers)}\n${body}` })
    for (const link of [...linksIn(body), String(reply.headers.location ?? '')]) {
      const found = localPath(link, origin, path)
      if (found === undefined || known.has(found) || known.size >= limit) continue
      known.add(found)
      queue.push(found)
    }
  }
  return crawled
}

function linksIn(text: string): string[] {
  const attributes = [...text.matchAll(/\b(?:href|src|srcset|content)="([^"]+)"/g)]
  const others = [...text.matchAll(/"(https?:\/\/[^"]+|\/[a-z][^"\s]*)"|<loc>([^<]+)<\/loc>/g)]
  return [...attributes, ...others]
    .map(([, first, second]) => (first ?? second ?? '').replaceAll('&amp;', '&'))
    .map((link) => link.split(' ')[0] ?? '')
}

function localPath(link: string, origin: string, from: string): string | undefined {
  if (link === '' || link.startsWith('data:')) return undefined
  try {
    const url = new URL(link, `${origin}${from}`)
    const isOwn = url.origin === origin || url.hostname === 'localhost'
    const isEndless = /^[/](api[/]v2[/]changes[/]stream|desk[/]sign-out)/.test(url.pathname)
    return isOwn && !isEndless ? url.pathname + url.search : undefined
  } catch {
    return undefined
  }
}
