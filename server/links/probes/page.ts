import type { ProbeAnswer } from '../../platform/net/probe.ts'
import type { Ask, Probe, ProbedSource, ProbeResult } from './probe.ts'
import { askHost, isDoubtfulHead, isHome, plainHost } from './reading.ts'

// Any other page. A page that is there need not show the video, so little is concluded.

/** Returns the source of a page. */
export function pageSource(url: URL): ProbedSource {
  return { kind: 'page', host: url.hostname, id: url.href, url: url.href }
}

const name = 'The page'
const question = { name, mayMove: true }

export const page: Probe = {
  look: (ask, { url }) =>
    askHost(ask, { url, method: 'HEAD', headers }, question, (answer) =>
      isDoubtfulHead(answer) ? askForPage(ask, url) : readPage(answer, url),
    ),

  witness: (ask, { url }) => askForPage(ask, url),
}

const headers = { accept: 'text/html,*/*;q=0.5' }

function askForPage(ask: Ask, url: string): Promise<ProbeResult> {
  return askHost(ask, { url, headers }, question, (answer) => readPage(answer, url))
}

function readPage({ status, finalUrl }: ProbeAnswer, url: string): ProbeResult | undefined {
  const evidence = `${name} answers ${status}`
  const [from, to] = [new URL(url), new URL(finalUrl)]
  if (isHome(to) && !isHome(from)) {
    const isElsewhere = plainHost(from) !== plainHost(to)
    return isElsewhere && status === 200
      ? { verdict: 'moved', evidence: `${name} redirects to another site`, movedTo: finalUrl }
      : { verdict: 'odd', evidence: `${name} redirects to the home page` }
  }
  if (status === 404 || status === 410) return { verdict: 'gone', evidence }
  if (status === 451) return { verdict: 'removed', evidence }
  return status === 200 ? { verdict: 'ok', evidence } : undefined
}
