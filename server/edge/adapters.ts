import type { EdgeTarget } from './target.ts'

// Sends purges to an edge cache. The addresses come from the settings, so private ones are allowed.

/** Keys to purge. A soft purge keeps the object for the case that the archive does not respond. */
export interface Purge {
  readonly keys: readonly string[]
  readonly isHard: boolean
}

export interface EdgeAdapter {
  readonly maxKeys: number
  /** Requests that may be sent one after the other. If there are more, everything is purged. */
  readonly maxRequests: number
  readonly minIntervalMs: number
  readonly hasSoft: boolean
  /** Sends one request. Throws if it was not accepted. */
  purge(purge: Purge): Promise<void>
  /** Tells whether one of several servers has missed purges. */
  hasMissed?(): boolean
  /** Purges everything on servers that have missed purges. Throws if one does not answer. */
  recover?(): Promise<void>
}

export interface AdapterOptions {
  readonly token: string
  /** Base URLs of the APIs, for tests. */
  readonly fastlyUrl?: string
  readonly cloudflareUrl?: string
  readonly timeoutMs?: number
}

const unlimited = { maxRequests: Number.POSITIVE_INFINITY, minIntervalMs: 0, hasSoft: true }

/** Creates the adapter of an edge cache. */
export function createAdapter(target: EdgeTarget, options: AdapterOptions): EdgeAdapter {
  // Short, because an answer must not be older than 6 s if one request is lost.
  const { token, timeoutMs = 2000 } = options
  const { fastlyUrl = 'https://api.fastly.com' } = options
  const { cloudflareUrl = 'https://api.cloudflare.com/client/v4' } = options
  const send = (url: string, init: RequestInit) => sendPurge(url, init, timeoutMs)
  const post = (url: string, headers: Record<string, string>, body: object) =>
    send(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  switch (target.kind) {
    case 'varnish':
      return {
        ...unlimited,
        maxKeys: 256,
        ...purgeSeveral(target.urls, (url, { keys, isHard }) => {
          const name = isHard ? 'xkey-purge' : 'xkey-softpurge'
          const headers = { [name]: keys.join(' '), 'x-purge-token': token }
          return send(url, { method: 'PURGE', headers })
        }),
      }
    case 'fastly':
      return {
        ...unlimited,
        maxKeys: 256,
        purge: ({ keys, isHard }) =>
          send(`${fastlyUrl}/service/${target.service}/purge`, {
            method: 'POST',
            headers: {
              'fastly-key': token,
              'surrogate-key': keys.join(' '),
              accept: 'application/json',
              ...(!isHard && { 'fastly-soft-purge': '1' }),
            },
          }),
      }
    case 'cloudflare':
      return {
        maxKeys: 100,
        // Five requests a minute, with which all plans comply.
        maxRequests: 1,
        minIntervalMs: 12_000,
        hasSoft: false,
        purge: ({ keys }) =>
          post(
            `${cloudflareUrl}/zones/${target.zone}/purge_cache`,
            { authorization: `Bearer ${token}` },
            { tags: keys },
          ),
      }
    case 'post':
      return {
        ...unlimited,
        maxKeys: 1000,
        purge: ({ keys, isHard }) =>
          post(target.url, { authorization: `Bearer ${token}` }, { keys, soft: !isHard }),
      }
  }
}

/** How often everything is purged on a server that answers again: for longer than a fetch takes. */
const recoveryPurges = 12

/**
 * Sends purges to several servers. One that does not answer must not keep the others from being
 * purged: it has missed purges until it answers again, and everything is purged on it.
 */
function purgeSeveral(
  urls: readonly string[],
  send: (url: string, purge: Purge) => Promise<void>,
): Required<Pick<EdgeAdapter, 'purge' | 'hasMissed' | 'recover'>> {
  /** By URL, how often everything is still to be purged. */
  const missed = new Map<string, number>()
  return {
    async purge(purge) {
      const results = await Promise.allSettled(urls.map((url) => send(url, purge)))
      const failed = results.flatMap((result, index) =>
        result.status === 'rejected' ? { url: urls[index] as string, error: result.reason } : [],
      )
      const [first] = failed
      if (first && failed.length === urls.length) throw first.error
      for (const { url } of failed) missed.set(url, recoveryPurges)
    },
    hasMissed: () => missed.size > 0,
    async recover() {
      const results = await Promise.allSettled(
        [...missed].map(async ([url, left]) => {
          await send(url, { keys: ['all'], isHard: true })
          if (left > 1) missed.set(url, left - 1)
          else missed.delete(url)
        }),
      )
      for (const result of results) if (result.status === 'rejected') throw result.reason
    },
  }
}

async function sendPurge(url: string, init: RequestInit, timeoutMs: number): Promise<void> {
  const response = await fetch(url, {
    ...init,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  // The body is of no interest; a failed purge has its reason in the status.
  await response.body?.cancel()
  if (!response.ok) throw new Error(`The edge cache answered a purge with ${response.status}`)
}
